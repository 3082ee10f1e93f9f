"""In the worker: the stress is on, and each value is taken between the probes' clockings."""

import gc
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from stress.modes import Stress, StressMode, stressed
from stress.probes import MetricRecord, Window, create
from stress.probes.bystander import BystanderProbe
from stress.probes.cpu import CPUProbe
from stress.probes.gc import GCProbe
from stress.probes.rss import RSSProbe
from stress.timeline import Recording, Timeline
from suites.cells import Cell
from suites.team import Team
from suites.watchers import WATCHERS

if TYPE_CHECKING:
    from suites.replays.replayer import Replayer

CALIBRATION_COLLECT_SHARE = 0.1
"""While the number of loops is sought, a value is followed by a collection only if it lasted this
share of the time aimed at: twenty collections of a heap of millions would take longer than the
values, and the garbage of a short one is little."""


def _fitting(probes: Sequence[str], cell: Cell) -> list[str]:
    """Without the one that is of stress threads, where there are none."""
    threads = cell.mode is StressMode.THREADS
    return [name for name in probes if threads or name != BystanderProbe.name]


def _driver(cell: Cell, measured: bool) -> "Team | Replayer":
    """What runs the cell."""
    if cell.row.replays is None:
        return Team(cell.row, cell.work, cell.period if cell.sampled else None)
    from suites.replays.replayer import Replayer

    return Replayer(cell, measured)


class Measurement(AbstractContextManager["Measurement"]):
    """One cell in this process: `value` times it, `metrics` are the figures beside the times.

    `collect_above_s` is None where values count: then each begins without garbage of the one
    before. While loops are calibrated it is the duration (s) above which the garbage matters.
    `timeline`: the resident memory of values that count is recorded over time.
    """

    def __init__(
        self,
        cell: Cell,
        probes: Sequence[str],
        collect_above_s: float | None = None,
        timeline: bool = False,
    ) -> None:
        self._cell = cell
        self._stack = ExitStack()
        self._stack.enter_context(WATCHERS[cell.under].watching())
        try:
            self._driver = _driver(cell, measured=collect_above_s is None)
        except BaseException:
            self._stack.close()
            raise
        chosen = _fitting(probes, cell)
        own = (make() for make in (*cell.row.probes, *self._driver.probes))
        self._window = Window([*create(chosen), *(one for one in own if one.name not in chosen)])
        for probe in self._window.probes:
            if isinstance(probe, CPUProbe):
                probe.leave_out(self._driver.beside_ns)
        self._samples: list[list[tuple[float, int]]] = []
        self._with_timeline = timeline and collect_above_s is None
        self._recordings: list[Recording] = []
        self.timeline: Timeline | None = None
        self._collect_above_s = collect_above_s
        self._last_s = 0.0
        self.stress: Stress

    def __enter__(self) -> "Measurement":
        self.stress = self._stack.enter_context(stressed(self._cell.mode, self._cell.stress))
        self._stack.callback(self._driver.close)
        if self._with_timeline:
            self.timeline = Timeline()
            self._stack.callback(self.timeline.close)
            # No more the benchmark's own than a spinner is: its CPU time is left out.
            self.stress.thread_ids = (*self.stress.thread_ids, self.timeline.thread_id)
        self._window.attach(self.stress, self._driver.start())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def value(self, loops: int) -> float:
        """The wall time of so many loops, in seconds."""
        if self._collect_above_s is None:
            return self._windowed(loops)
        if self._last_s >= self._collect_above_s:
            gc.collect()
        self._prepare(loops)
        self.stress.unpark()
        self._last_s = self._driver.run()
        self.stress.park()
        self._taken()
        return self._last_s

    def _windowed(self, loops: int) -> float:
        gc.collect()
        self._prepare(loops)
        if self.timeline:
            self.timeline.record()
        # Unparked inside the window: the probes' own system calls let go of the GIL, and beside
        # busy threads each could take tens of ms to get it back. What the hand-over adds to the
        # figures is about 0.3 ms of CPU time a value; the clock is inside of it.
        self._window.open()
        self.stress.unpark()
        duration = self._driver.run()
        self.stress.park()
        self._window.close()
        if self.timeline:
            self._recordings.append(self.timeline.pause())
        self._samples.append(self._taken())
        operations = loops * self._cell.operations_per_loop
        self._window.record(duration, operations * self._cell.work.threads_measured)
        return duration

    def _prepare(self, loops: int) -> None:
        self._driver.prepare(loops * self._cell.turns_per_loop)

    def _taken(self) -> list[tuple[float, int]]:
        """The single calls of the last value in all threads, where they were timed."""
        return self._driver.take() if self._cell.sampled else []

    def sample_overhead_s(self) -> float:
        """Seconds that timing it adds to a single call."""
        return self._driver.sample_overhead_s()

    def samples(self, last: int) -> list[tuple[float, int]] | None:
        """The single calls of the last so many values, as pairs of seconds and how many took that
        long; None where none were timed."""
        if not self._cell.sampled:
            return None
        return [pair for value in self._samples[len(self._samples) - last :] for pair in value]

    def metrics(self, last: int) -> dict[str, MetricRecord]:
        """The figures of the last so many values; warm-ups come before them."""
        return self._window.metrics(last)

    def pauses(self, last: int) -> list[tuple[float, int]] | None:
        """The collector's pauses in the last so many values, as pairs of seconds and how many took
        that long; None where no probe looks at the collector."""
        for probe in self._window.probes:
            if isinstance(probe, GCProbe):
                return probe.pauses(last)
        return None

    def recordings(self, last: int) -> list[Recording]:
        """Resident memory over time in the last so many values; none without --timeline."""
        return self._recordings[len(self._recordings) - last :] if self.timeline else []

    def process_peak_rss(self) -> int | None:
        """The high-water mark of the whole process in bytes, if a probe has touched the kernel's.

        The rss probe resets the kernel's mark for each window and folds the marks before.
        """
        for probe in self._window.probes:
            if isinstance(probe, RSSProbe):
                return probe.process_peak_rss()
        return None
