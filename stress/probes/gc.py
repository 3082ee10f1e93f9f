"""Time in the cyclic collector, by the interpreter's own gc.callbacks."""

from typing import NamedTuple

from stress._probe import GCRecorder
from stress.probes.metric import Metric
from stress.probes.probe import Figures, Probe

#: Seconds; below it a clock read around a collection is mostly what else the core was doing.
TIME_FLOOR = 100e-6


class Collections(NamedTuple):
    """What a GCRecorder read in one window; it starts every window at zero."""

    runs: int
    total_ns: int
    longest_ns: int


def gc_figures(seen: Collections, duration_s: float) -> Figures:
    """Figures of all generations; the share of a window without duration is not measurable."""
    time_s = seen.total_ns / 1e9
    return {
        "gc.time": time_s,
        "gc.count": seen.runs,
        "gc.pause.max": seen.longest_ns / 1e9,
        "gc.share": time_s / duration_s if duration_s > 0 else None,
    }


class GCProbe(Probe):
    """Collections that began and ended in the window, forced ones and all generations included.

    Source: a C callable in gc.callbacks that reads CLOCK_MONOTONIC, so a pause is what the program
    feels: the collection, finalizers it ran, and callbacks that were installed earlier.
    """

    name = "gc"
    summary = "time, number and longest pause of the cyclic collector's runs"
    cost_ns = 600
    metrics = (
        Metric("gc.time", "s", "sum", "lower", TIME_FLOOR),
        Metric("gc.count", "collections", "sum", "lower", 1),
        Metric("gc.pause.max", "s", "max", "lower", TIME_FLOOR),
        Metric("gc.share", "ratio", "mean", "lower", 0),
    )

    def __init__(self) -> None:
        self._recorder = GCRecorder()
        self._seen = Collections(0, 0, 0)
        self._pauses: list[list[tuple[float, int]]] = []

    def before(self) -> None:
        self._recorder.install()

    def after(self) -> None:
        self._recorder.remove()
        self._seen = Collections(*self._recorder.reading())

    def figures(self, duration_s: float, operations: int) -> Figures:
        self._pauses.append(self._recorder.take())
        return gc_figures(self._seen, duration_s)

    def pauses(self, last: int) -> list[tuple[float, int]]:
        """The lengths of all collections in the last so many windows, as pairs of seconds and how
        many took that long."""
        windows = self._pauses[len(self._pauses) - last :]
        return [pair for window in windows for pair in window]
