"""The threads of THREADS stress: Python ones contend for the GIL, native ones for cores alone.

Spinners are parked outside the measured windows, on a condition variable: a parked one costs
nothing. Parking is level-triggered (a count of parked threads under a lock, no tokens), so that a
KeyboardInterrupt in the middle of a hand-over leaves nothing that a later one would stumble over.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stress._probe import exclude_thread
from stress.affinity import move_away
from stress.base import Stress, StressError

if TYPE_CHECKING:
    from stress._native import FFI, Lib, Spinners

#: Turns of the loop between two looks at the flag: some microseconds. CPython keeps the numbers
#: below 257 ready, so a turn allocates nothing.
TURNS = range(256)

#: Seconds between forced GIL hand-overs while spinners wake up. By the default of 5 ms the first
#: one awake would keep the others, and the benchmark, from the GIL for 5 ms each.
WAKING_SWITCH_INTERVAL = 1e-5


class PythonSpinners(Stress):
    """`count` threads, parked, that run bytecode when unparked.

    StressError when a thread can't be started. `close()` ends and joins them.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._running = False
        self._closing = False
        self._parked = 0
        lock = threading.Lock()
        self._wake = threading.Condition(lock)  # spinners wait
        self._settled = threading.Condition(lock)  # park and unpark wait
        self._work = [0] * count  # one writer an element
        self._threads: list[threading.Thread] = []
        try:
            self._start(count)
        except BaseException:
            self.close()
            raise
        self.thread_ids = tuple(thread.native_id or 0 for thread in self._threads)
        self.cpus = move_away(self.thread_ids)

    def _start(self, count: int) -> None:
        for index in range(count):
            thread = threading.Thread(
                target=self._main, args=(index,), name=f"spinner-{index}", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:
                raise StressError(
                    f"{count} spinner threads were asked for and {index} could be started: {error}"
                ) from error
            self._threads.append(thread)
        self.park()

    def _main(self, index: int) -> None:
        exclude_thread()
        while self._wait_parked():
            self._spin(index)

    def _wait_parked(self) -> bool:
        """Sleep until unparked (True) or closed (False)."""
        with self._wake:
            self._parked += 1
            self._notify_when_settled()
            while not (self._running or self._closing):
                self._wake.wait()
            self._parked -= 1
            self._notify_when_settled()
            return not self._closing

    def _notify_when_settled(self) -> None:
        if self._parked in (0, self._count):
            self._settled.notify_all()

    def _spin(self, index: int) -> None:
        work = self._work
        while self._running:
            for _ in TURNS:
                pass
            work[index] += len(TURNS)

    def park(self) -> None:
        self._running = False
        with self._settled:
            self._settled.wait_for(lambda: self._parked == len(self._threads))

    def unpark(self) -> None:
        with _switch_interval(WAKING_SWITCH_INTERVAL), self._wake:
            self._running = True
            self._wake.notify_all()
            self._settled.wait_for(lambda: self._parked == 0)

    def spins(self) -> int:
        return sum(self._work)

    def close(self) -> None:
        """End the threads and wait until they are gone; park and unpark do nothing afterwards."""
        self._running = False
        with self._wake:
            self._closing = True
            self._wake.notify_all()
        for thread in self._threads:
            thread.join()
        self._threads.clear()


class NativeSpinners(Stress):
    """`count` threads, parked, that spin in C without the GIL when unparked (csrc/spinners.c).

    StressError when a thread can't be started, or when stress._native is not built. `close()` ends
    and joins them.
    """

    def __init__(self, count: int) -> None:
        ffi, self._lib = native_library()
        self._final_spins = 0
        self._spinners: Spinners | None = None
        spinners = self._lib.spinners_start(count)
        if spinners == ffi.NULL:
            raise StressError(
                f"{count} native spinner threads can't be started: {os.strerror(ffi.errno)}"
            )
        self._spinners = spinners
        try:
            self.thread_ids = tuple(
                self._lib.spinners_thread_id(spinners, index) for index in range(count)
            )
            self.cpus = move_away(self.thread_ids)
        except BaseException:
            self.close()
            raise

    def park(self) -> None:
        if self._spinners is not None:
            self._lib.spinners_park(self._spinners)

    def unpark(self) -> None:
        if self._spinners is not None:
            self._lib.spinners_unpark(self._spinners)

    def spins(self) -> int:
        if self._spinners is None:
            return self._final_spins
        return self._lib.spinners_work(self._spinners)

    def close(self) -> None:
        """End the threads and wait until they are gone; park and unpark do nothing afterwards."""
        if self._spinners is None:
            return
        self.park()
        self._final_spins = self.spins()
        spinners, self._spinners = self._spinners, None
        self._lib.spinners_stop(spinners)


def native_library(who_needs: str = "native spinners need") -> tuple[FFI, Lib]:
    """What stress._native holds; StressError that says how to build it where it is missing."""
    try:
        from stress._native import ffi, lib
    except ImportError as error:
        raise StressError(
            f"{who_needs} the extension stress._native, which is not built ({error});"
            " install cffi and run: python setup.py build_ext --inplace"
        ) from error
    return ffi, lib


#: Kind of spinner -> what starts `threads` of them, parked.
SPINNERS: dict[str, type[PythonSpinners] | type[NativeSpinners]] = {
    "python": PythonSpinners,
    "native": NativeSpinners,
}


@contextmanager
def _switch_interval(seconds: float) -> Iterator[None]:
    """Hand the GIL over as often as this while the block runs."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
