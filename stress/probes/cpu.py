"""CPU time of the measured thread: the score without the waiting."""

import time

from stress.probes.metric import Metric
from stress.probes.probe import Figures, Probe


def cpu_figures(before_ns: int, after_ns: int, operations: int) -> Figures:
    """CPU seconds an operation, from two readings of a thread's CPU clock in nanoseconds."""
    return {"score.cpu": (after_ns - before_ns) / 1e9 / operations if operations else None}


class CPUProbe(Probe):
    """CPU time that the thread which calls before() and after() spent between the two.

    Source: CLOCK_THREAD_CPUTIME_ID, user and kernel time together. Other threads do not count, nor
    does the time this one waits for the GIL or for a core.
    """

    name = "cpu"
    summary = "CPU time of the measured thread, an operation"
    cost_ns = 800
    metrics = (
        Metric(
            "score.cpu", "s/op", "mean", "lower", time.clock_getres(time.CLOCK_THREAD_CPUTIME_ID)
        ),
    )

    def __init__(self) -> None:
        self._before_ns = self._after_ns = 0

    def before(self) -> None:
        self._before_ns = time.thread_time_ns()

    def after(self) -> None:
        self._after_ns = time.thread_time_ns()

    def figures(self, duration_s: float, operations: int) -> Figures:
        return cpu_figures(self._before_ns, self._after_ns, operations)
