"""Five ways to read how long the calling thread has kept a core busy, and how fine each is.

Four read user time, which the kernel mostly counts in ticks: it charges a whole tick to the mode
that the thread is in as the timer strikes. The fifth reads user and kernel time together, which the
scheduler takes from a clock of nanoseconds at every switch.
"""

import math
import resource
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from time import perf_counter, thread_time_ns

import psutil

from stress._probe import thread_user_time_by_id_ns, thread_user_time_ns

__all__ = [
    "THREAD_CLOCKS",
    "Fineness",
    "ThreadClock",
    "fineness",
    "steps",
    "thread_time_ns",
    "thread_user_time_by_id_ns",
    "thread_user_time_by_psutil_ns",
    "thread_user_time_by_rusage_ns",
    "thread_user_time_ns",
]

STEPS = 8
LEAST_S = 1e-3
"""A fine clock makes hundreds of steps in that time; what they have in common is its resolution."""
PATIENCE_S = 1.0
"""After so long a clock counts as one that does not move: the coarsest is seen to every 10 ms."""
WORK = range(200)
"""Turns before another look at a clock that has not moved: some microseconds of user time, for most
of a reading is the kernel's."""


def thread_user_time_by_rusage_ns() -> int:
    """User time of the calling thread, in nanoseconds, as getrusage(RUSAGE_THREAD) gives it.

    In microseconds: the share of ticks that found the thread in user mode, of its exact time up to
    the last tick.
    """
    return round(resource.getrusage(resource.RUSAGE_THREAD).ru_utime * 1e9)


def thread_user_time_by_psutil_ns() -> int:
    """User time of the calling thread, in nanoseconds, out of psutil's list of all threads.

    It comes from a file of /proc a thread, in hundredths of a second.
    """
    own = threading.get_native_id()
    return next(
        round(float(thread.user_time) * 1e9) for thread in _process().threads() if thread.id == own
    )


@cache
def _process() -> psutil.Process:
    return psutil.Process()


@dataclass(frozen=True)
class ThreadClock:
    """A way to read the calling thread's time: what it is called, in a line, and the function."""

    name: str
    summary: str
    read: Callable[[], int]


#: Name -> clock.
THREAD_CLOCKS = {
    clock.name: clock
    for clock in (
        ThreadClock(
            "thread_user_time",
            "user time, the kernel's shortest way: its clock of the calling thread",
            thread_user_time_ns,
        ),
        ThreadClock(
            "thread_user_time_by_id",
            "user time, by the clock that every thread has under its id",
            thread_user_time_by_id_ns,
        ),
        ThreadClock(
            "thread_user_time_by_rusage",
            "user time, by getrusage(RUSAGE_THREAD)",
            thread_user_time_by_rusage_ns,
        ),
        ThreadClock(
            "thread_user_time_by_psutil",
            "user time, out of psutil's list of all threads",
            thread_user_time_by_psutil_ns,
        ),
        ThreadClock(
            "thread_time",
            "user and kernel time together, by time.thread_time_ns()",
            thread_time_ns,
        ),
    )
}


@dataclass(frozen=True)
class Fineness:
    """How fine a clock is, in nanoseconds; measured, and not what it claims.

    resolution: what all its steps are multiples of. granularity: the smallest step between two
    readings one after the other; a fine clock's is the time that a reading takes.
    """

    resolution_ns: int
    granularity_ns: int


def fineness(steps_ns: list[int]) -> Fineness:
    """How fine a clock is that moved by these steps; ValueError for none, or one backwards."""
    if not steps_ns or min(steps_ns) < 1:
        raise ValueError(f"expected steps forward, at least one; found {steps_ns}")
    return Fineness(math.gcd(*steps_ns), min(steps_ns))


def steps(
    read: Callable[[], int],
    least: int = STEPS,
    patience_s: float = PATIENCE_S,
    now: Callable[[], float] = perf_counter,
) -> list[int]:
    """How far a clock moved each time that it did, while its thread works; nanoseconds.

    At least so many steps, and those of a millisecond; fewer if it moves too seldom for that.
    """
    found: list[int] = []
    last = read()
    started = now()
    while (passed := now() - started) < patience_s and (len(found) < least or passed < LEAST_S):
        reading = read()
        if reading != last:
            found.append(reading - last)
            last = reading
            continue
        for _ in WORK:
            pass
    return found
