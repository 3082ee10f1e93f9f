"""The measured window: all probes of a benchmark around its clock reads.

window = Window(create(DEFAULT_PROBES))
gc.collect()                                # the caller's work: not in the window
window.open()
start = time.perf_counter()
for _ in loops: ...
duration = time.perf_counter() - start
window.close()
window.record(duration, operations=loops)
"""

import math
from collections.abc import Callable, Iterable

from stress.base import Stress
from stress.probes.metric import Metric
from stress.probes.probe import Probe

#: One metric as files hold it: unit, agg, better, floor and values (null: not measurable in that
#: window), or the reason why it is unsupported.
MetricRecord = dict[str, object]


class Window:
    """Opens and closes probes together and keeps the figures of every window.

    The dearest probe is begun first and ended last, so none measures the cost of a dearer one; the
    caller's clock is inside them all. Not for two threads at a time.
    """

    def __init__(self, probes: Iterable[Probe]) -> None:
        self.probes = tuple(probes)
        self._outermost_first = sorted(
            (probe for probe in self.probes if probe.unsupported is None),
            key=lambda probe: -probe.cost_ns,
        )
        # Bound methods, made here: a window that makes objects could start a collection in itself.
        self._befores = tuple(self._step(probe, probe.before) for probe in self._outermost_first)
        self._afters = tuple(
            self._step(probe, probe.after) for probe in reversed(self._outermost_first)
        )
        self._values: dict[str, list[float | None]] = {
            metric.name: [] for probe in self._outermost_first for metric in probe.metrics
        }
        self._recorded = 0
        self._is_open = self._is_unrecorded = False

    def attach(self, stress: Stress, threads: Iterable[int] = ()) -> None:
        """What the probes are told before the first window: the stress of the process, and threads
        that are measured beside the one that opens the windows, by their idents."""
        idents = tuple(threads)
        for probe in self.probes:
            probe.attach(stress, idents)

    def _step(self, probe: Probe, step: Callable[[], None]) -> Callable[[], None]:
        """What a window does for a probe at one of its ends."""
        return step

    def open(self) -> None:
        """Begin a window; RuntimeError when one is open."""
        if self._is_open:
            raise RuntimeError("the window is open already: close() it before the next open()")
        begun = 0
        try:
            for before in self._befores:
                before()
                begun += 1
        except BaseException:
            self._end(len(self._afters) - begun)
            raise
        self._is_open = True

    def close(self) -> None:
        """End the window; RuntimeError when none is open."""
        if not self._is_open:
            raise RuntimeError("the window is not open: open() it first")
        self._is_open = False
        self._is_unrecorded = True
        self._end(0)

    def _end(self, index: int) -> None:
        """End the probes from that place on; each is ended even when one before it raises."""
        if index < len(self._afters):
            try:
                self._afters[index]()
            finally:
                self._end(index + 1)

    def record(self, duration_s: float, operations: int) -> None:
        """Keep the figures of the window that was closed last, in which all measured threads
        together did so many operations.

        ValueError for a duration that is no time or fewer than 1 operation; RuntimeError when that
        window was kept already.
        """
        if not (math.isfinite(duration_s) and duration_s >= 0):
            raise ValueError(f"a duration is finite seconds from 0 on; found {duration_s!r}")
        if operations < 1:
            raise ValueError(f"a window has at least 1 operation; found {operations!r}")
        if not self._is_unrecorded:
            raise RuntimeError("no closed window is left to record: open() and close() one first")
        self._is_unrecorded = False
        self._recorded += 1
        for probe in self._outermost_first:
            for name, figure in probe.figures(duration_s, operations).items():
                self._values[name].append(figure)

    def metrics(self, last: int) -> dict[str, MetricRecord]:
        """The figures of the `last` windows, by metric name, ready for json.dumps.

        `last` leaves out calibration and warm-ups, which come first. ValueError when fewer windows
        were recorded.
        """
        if not 0 <= last <= self._recorded:
            raise ValueError(
                f"figures of the last {last} windows were asked for; {self._recorded} were recorded"
            )
        return {
            metric.name: self._metric_record(probe, metric, last)
            for probe in self.probes
            for metric in probe.metrics
        }

    def _metric_record(self, probe: Probe, metric: Metric, last: int) -> MetricRecord:
        if probe.unsupported is not None:
            return {"unsupported": probe.unsupported}
        return {
            "unit": metric.unit,
            "agg": metric.agg,
            "better": metric.better,
            "floor": metric.floor,
            **({"note": metric.note} if metric.note else {}),
            "values": self._values[metric.name][self._recorded - last :],
        }


class ForgivingWindow(Window):
    """In somebody else's program: a probe that fails is unsupported from then on, and the reason is
    what it raised. The other probes and the program go on."""

    def _step(self, probe: Probe, step: Callable[[], None]) -> Callable[[], None]:
        def forgiving() -> None:
            if probe.unsupported is not None:
                return
            try:
                step()
            except Exception as error:
                probe.unsupported = f"{type(error).__name__}: {error}"

        return forgiving
