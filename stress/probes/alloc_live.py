"""The wrong figure, to be seen beside the right one: allocation as the live threads tell it.

A profiler that asks each thread before and after, and adds up the differences, misses what threads
allocated that ended meanwhile; JMH's gc profiler did so until the JVM could tell the total.
"""

import threading
from collections.abc import Mapping

from stress._probe import listed_threads
from stress.probes.alloc import AllocProbe
from stress.probes.metric import Metric
from stress.probes.probe import Figures

#: Number of a thread, never used again -> bytes it was handed so far.
Snapshot = Mapping[int, int]


def live_difference(before: Snapshot, after: Snapshot) -> int:
    """Bytes that the threads of `after` were handed since `before`, in which some are missing.

    Threads that have ended are in `before` alone, or in neither, and count nothing.
    """
    return sum(nbytes - before.get(number, 0) for number, nbytes in after.items())


def live_snapshot() -> Snapshot:
    """The threads that Python knows to be alive now.

    A joined thread may still be on its way out of the operating system: it is left out.
    """
    alive = {thread.ident for thread in threading.enumerate()}
    return {number: nbytes for number, ident, nbytes in listed_threads() if ident in alive}


class LiveAllocProbe(AllocProbe):
    """Bytes an operation as a difference over live threads: compare it with alloc.rate.norm.

    Source: the counters of the alloc probe. Its own few hundred bytes a window are in the figure.
    """

    name = "alloc-live"
    summary = "the wrong figure: alloc.rate.norm without threads that ended in the window"
    cost_ns = 10_000
    metrics = (Metric("alloc.live.norm", "bytes/op", "mean", "lower", 1),)

    def __init__(self) -> None:
        super().__init__()
        self._seen = 0
        self._start: Snapshot = {}

    def before(self) -> None:
        super().before()
        self._start = live_snapshot()

    def after(self) -> None:
        self._seen = live_difference(self._start, live_snapshot())
        super().after()

    def measured(self, duration_s: float, operations: int) -> Figures:
        return {"alloc.live.norm": self._seen / operations if operations else None}
