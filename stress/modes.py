"""The stress modes: what is done to a process while a benchmark is measured in it.

options = StressOptions(threads=2)
options.check(StressMode.THREADS)
with stressed(StressMode.THREADS, options) as stress:
    stress.unpark()
    ...  # the measured window
    stress.park()
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

import psutil

from stress.base import Stress, StressError
from stress.heap import MAKERS, check_fits, live_heap
from stress.spinners import SPINNERS, native_library

__all__ = ["Stress", "StressError", "StressMode", "StressOptions", "stressed"]


class StressMode(StrEnum):
    """NONE: nothing. MEMORY: a large live heap. THREADS: busy threads beside the measured one."""

    NONE = "NONE"
    MEMORY = "MEMORY"
    THREADS = "THREADS"

    @classmethod
    def parse(cls, text: str) -> "StressMode":
        """The mode of that name in any case; ValueError names the modes and what was found."""
        try:
            return cls(text.strip().upper())
        except ValueError:
            raise ValueError(f"a stress mode is one of {', '.join(cls)}; found {text!r}") from None


@dataclass(frozen=True)
class StressOptions:
    """How hard to stress; ValueError when a number is below 1 or a kind is unknown.

    heap_objects: objects in the heap of MEMORY. heap_kind: "containers" (lists, which CPython's
    collector walks) or "bytes" (two-byte objects, which it does not know of). threads: spinners of
    THREADS. spin: "python" (bytecode: contends for the GIL) or "native" (contends for cores alone).
    """

    heap_objects: int = 2_000_000
    heap_kind: str = "containers"
    threads: int = 4
    spin: str = "python"

    def __post_init__(self) -> None:
        for name in ("heap_objects", "threads"):
            number = getattr(self, name)
            if not isinstance(number, int) or number < 1:
                raise ValueError(f"{name} must be a whole number from 1 on; found {number!r}")
        for name, kinds in (("heap_kind", MAKERS), ("spin", SPINNERS)):
            kind = getattr(self, name)
            if kind not in kinds:
                raise ValueError(f"{name} must be one of {', '.join(kinds)}; found {kind!r}")

    def check(self, mode: StressMode) -> None:
        """StressError when the mode can't be had: the heap does not fit, an extension is missing.

        Available memory is what psutil.virtual_memory() says can be had without swapping.
        """
        if mode is StressMode.MEMORY:
            check_fits(self.heap_objects, self.heap_kind, psutil.virtual_memory().available)
        elif mode is StressMode.THREADS and self.spin == "native":
            native_library()

    def note(self, mode: StressMode) -> str | None:
        """The line a user should read before the figures of this mode, if there is one."""
        if mode is StressMode.MEMORY and self.heap_kind == "bytes":
            return (
                "MEMORY with bytes objects exercises memory and not CPython's collector,"
                " which does not track them; use the heap kind containers for that"
            )
        return None


@contextmanager
def stressed(mode: StressMode, options: StressOptions | None = None) -> Iterator[Stress]:
    """Put the process under a stress until the block ends, by an exception or not.

    Threads start parked, and sleep on other CPUs than the calling thread's where its affinity
    leaves some. Errors: as StressOptions.check(), and StressError when a thread can't be started.
    """
    options = options or StressOptions()
    options.check(mode)
    if mode is StressMode.MEMORY:
        with live_heap(options.heap_objects, options.heap_kind):
            yield Stress()
    elif mode is StressMode.THREADS:
        spinners = SPINNERS[options.spin](options.threads)
        try:
            yield spinners
        finally:
            spinners.close()
    else:
        yield Stress()
