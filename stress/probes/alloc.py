"""What Python's allocators hand out, in all threads, ended ones included.

with counting():
    before = total_allocated_bytes()
    ...
    print(total_allocated_bytes() - before)

Counted are the bytes asked for, in every allocation that succeeds: by the domains raw, mem and
object of Python, the outermost where one calls another, and by NumPy's default handler for array
data (NEP 49). A reallocation counts with its whole new size, whether or not the block moved, as
tracemalloc and memray count it. A free counts nothing, so the figures never fall.

Not seen: objects that come from a free list of the interpreter (floats, small tuples, frames), what
a C library takes from malloc or the kernel itself (the memory of scopes has `native.peak`), arrays
under a handler that a program gave to NumPy, threads that called exclude_thread().
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

from stress._probe import (
    AllocRecorder,
    thread_allocated_bytes,
    thread_allocations,
    total_allocated_bytes,
    total_allocations,
)
from stress.probes.metric import Metric
from stress.probes.probe import Figures, Probe

__all__ = [
    "AllocProbe",
    "Allocated",
    "alloc_figures",
    "counting",
    "thread_allocated_bytes",
    "thread_allocations",
    "total_allocated_bytes",
    "total_allocations",
]


class Allocated(NamedTuple):
    """What was handed out in one window."""

    nbytes: int
    allocations: int


def alloc_figures(seen: Allocated, duration_s: float, operations: int) -> Figures:
    """Bytes by time and by operation, and allocations by operation.

    Not measurable without a duration, or without an operation.
    """
    return {
        "alloc.rate": seen.nbytes / duration_s if duration_s > 0 else None,
        "alloc.rate.norm": seen.nbytes / operations if operations else None,
        "alloc.count.norm": seen.allocations / operations if operations else None,
    }


class AllocProbe(Probe):
    """Allocations of all threads in the window, those of threads that came and went included.

    Source: counters around the allocators, put there when the first probe of this kind is made and
    then kept for the life of the process; they count in windows only. The figures of a window are
    not measurable when another wrapper dropped the counters meanwhile (tracemalloc.stop() does, if
    it was started first); the next window puts them back.
    """

    name = "alloc"
    summary = (
        "bytes and number of allocations by Python and NumPy, all threads; slows what allocates"
    )
    cost_ns = 500
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("alloc.rate", "bytes/s", "mean", "higher", 1),
        Metric("alloc.rate.norm", "bytes/op", "mean", "lower", 1),
        Metric("alloc.count.norm", "allocations/op", "mean", "lower", 0),
    )

    def __init__(self) -> None:
        self._complete = False
        try:
            self._recorder = AllocRecorder()
        except RuntimeError as error:
            self.unsupported = str(error)

    def before(self) -> None:
        self._complete = self._recorder.start()

    def after(self) -> None:
        self._complete &= self._recorder.stop()

    def figures(self, duration_s: float, operations: int) -> Figures:
        if not self._complete:
            return {metric.name: None for metric in self.metrics}
        return self.measured(duration_s, operations)

    def measured(self, duration_s: float, operations: int) -> Figures:
        """The figures of a window in which nothing was missed."""
        return alloc_figures(Allocated(*self._recorder.reading()), duration_s, operations)


@contextmanager
def counting() -> Iterator[None]:
    """Count allocations while the block runs. RuntimeError with the reason where that can't be."""
    recorder = AllocRecorder()
    recorder.start()
    try:
        yield
    finally:
        recorder.stop()
