"""CPU time: of the measured threads, which is the score without the waiting, and of the process.

Process figures leave the stress threads out, and hold threads that have ended: they are totals of
the kernel, and no sums over the threads that there are.
"""

import os
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from stress.base import Stress
from stress.probes.metric import Metric
from stress.probes.probe import Figures, Probe
from stress.probes.thread_clocks import (
    thread_user_time_by_id_ns,
    thread_user_time_by_psutil_ns,
    thread_user_time_by_rusage_ns,
    thread_user_time_ns,
)

__all__ = [
    "CPUProbe",
    "CPUTimes",
    "Snapshot",
    "clock_id",
    "process_figures",
    "score_figures",
    "thread_user_time_by_id_ns",
    "thread_user_time_by_psutil_ns",
    "thread_user_time_by_rusage_ns",
    "thread_user_time_ns",
]

# What a clock counts, in the lowest bits of its id (posix-timers in the kernel): user and kernel
# time by ticks, user time by ticks, both by the scheduler's clock.
TICKED, USER, EXACT = 0, 1, 2
_OF_THREAD = 4


def clock_id(counts: int, thread_id: int = 0) -> int:
    """The id of a clock of this process, or of one of its threads, for time.clock_gettime_ns()."""
    return (~thread_id << 3) | (_OF_THREAD if thread_id else 0) | counts


class CPUTimes(NamedTuple):
    """Nanoseconds so far of a process or a thread."""

    user: int
    ticked: int
    """User and kernel time, counted in the same ticks as `user`."""
    exact: int
    """User and kernel time by the scheduler's clock."""


class Snapshot(NamedTuple):
    """CPU times at one moment: of the whole process, ended threads included, and of the threads
    that are to be left out of it, by id. A thread that has ended is missing."""

    process: CPUTimes
    left_out: Mapping[int, CPUTimes]


def score_figures(before_ns: int, after_ns: int, operations: int) -> Figures:
    """CPU seconds an operation, from two readings of a thread's CPU clock in nanoseconds."""
    return {"score.cpu": (after_ns - before_ns) / 1e9 / operations if operations else None}


def process_figures(before: Snapshot | None, after: Snapshot | None, operations: int) -> Figures:
    """CPU seconds between two snapshots, and those of an operation.

    Not measurable without a snapshot, or when a thread that was to be left out has ended between
    them: what it used last is in the total of the process, and no clock tells how much.
    """
    if before is None or after is None or before.left_out.keys() != after.left_out.keys():
        return {"cpu.user": None, "cpu.system": None, "cpu.norm": None}
    spent = _difference(before.process, after.process)
    for thread, then in before.left_out.items():
        spent = _difference(_difference(then, after.left_out[thread]), spent)
    return {
        "cpu.user": spent.user / 1e9,
        # A tick between the two readings of a snapshot can make it less than nothing.
        "cpu.system": max(spent.ticked - spent.user, 0) / 1e9,
        "cpu.norm": spent.exact / 1e9 / operations if operations else None,
    }


def _difference(then: CPUTimes, now: CPUTimes) -> CPUTimes:
    return CPUTimes(*(b - a for a, b in zip(then, now, strict=True)))


def read_times(thread_id: int = 0) -> CPUTimes:
    """Of this process, or of one of its threads. OSError where the kernel has no such clock, or no
    such thread any more."""
    return CPUTimes(
        *(time.clock_gettime_ns(clock_id(kind, thread_id)) for kind in (USER, TICKED, EXACT))
    )


def _tick_s() -> float:
    """Seconds in which the kernel counts user time."""
    try:
        return time.clock_getres(clock_id(USER))
    except OSError:
        return 1 / os.sysconf("SC_CLK_TCK")


TICK_S = _tick_s()
_NOTE = f"counted in ticks of {1e3 * TICK_S:g} ms" if TICK_S > 1e-6 else ""


class CPUProbe(Probe):
    """CPU time of the thread that calls before() and after(), and of the process without some
    threads.

    score.cpu is by CLOCK_THREAD_CPUTIME_ID, user and kernel time together; other threads do not
    count, nor does the time this one waits for the GIL or for a core. cpu.norm is the same of the
    process, by the scheduler's clock; cpu.user and cpu.system are by the kernel's ticks, which find
    a thread in one of the two.
    """

    name = "cpu"
    summary = "CPU time of the measured thread, and of the process without the stress threads"
    cost_ns = 10_000
    metrics = (
        Metric(
            "score.cpu", "s/op", "mean", "lower", time.clock_getres(time.CLOCK_THREAD_CPUTIME_ID)
        ),
        Metric("cpu.user", "s", "sum", "lower", TICK_S, _NOTE),
        Metric("cpu.system", "s", "sum", "lower", TICK_S, _NOTE),
        Metric("cpu.norm", "s/op", "mean", "lower", 1e-9),
    )

    def __init__(self) -> None:
        self._left_out: tuple[int, ...] = ()
        self._before_ns = self._after_ns = 0
        self._clocks: tuple[int, ...] = ()
        self._beside_ns: Callable[[], int] = lambda: 0
        self._before: Snapshot | None = None
        self._after: Snapshot | None = None

    def attach(self, stress: Stress, threads: tuple[int, ...]) -> None:
        self._left_out = stress.thread_ids
        self._clocks = tuple(map(time.pthread_getcpuclockid, threads))

    def leave_out(self, spent_ns: Callable[[], int]) -> None:
        """Tell what the calling thread spends in windows beside the measured work: CPU time in ns
        so far. It does not count for score.cpu."""
        self._beside_ns = spent_ns

    def before(self) -> None:
        self._before = self._snapshot()
        self._before_ns = self._measured_ns()

    def after(self) -> None:
        self._after_ns = self._measured_ns()
        self._after = self._snapshot()

    def _measured_ns(self) -> int:
        others_ns = sum(map(time.clock_gettime_ns, self._clocks)) if self._clocks else 0
        return time.thread_time_ns() - self._beside_ns() + others_ns

    def _snapshot(self) -> Snapshot | None:
        left_out = {}
        for thread in self._left_out:
            try:
                left_out[thread] = read_times(thread)
            except OSError:
                continue  # it has ended
        try:
            return Snapshot(read_times(), left_out)
        except OSError:
            return None  # a kernel without these clocks

    def figures(self, duration_s: float, operations: int) -> Figures:
        return {
            **score_figures(self._before_ns, self._after_ns, operations),
            **process_figures(self._before, self._after, operations),
        }
