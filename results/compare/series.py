"""A figure of a row as it is compared: one number a process, per operation where it adds up."""

from collections.abc import Sequence
from dataclasses import dataclass

from results.model import Row
from results.schema import THREADS_KEY, Metric
from results.statistics import mean

_PER_OPERATION = "/op"


@dataclass(frozen=True)
class Series:
    """Process means of a metric, in `unit`; differences up to `resolution` were not measured."""

    metric: Metric
    unit: str
    means: tuple[float, ...]
    resolution: float

    @property
    def name(self) -> str:
        return self.metric.name


def series(row: Row, name: str) -> Series | None:
    """The process means of a metric, or of the score; None where nothing was measured.

    Totals are divided by the operations of their value, since calibration doubles loops from one
    run to the next. Of peaks and pauses it is the mean of the values, too: a maximum over all of
    them would grow with the length of the run.
    """
    figures = row.figures(name)
    if figures is None or figures.unsupported is not None:
        return None
    metric = figures.metric
    threads = row.metadata.get(THREADS_KEY, 1)
    operations = [loops * row.inner_loops * threads for loops in row.loops]
    divided = metric.extensive
    means = [
        mean(values) / (count if divided else 1)
        for values, count in zip(figures.measured, operations, strict=True)
        if values
    ]
    if not means:
        return None
    unit = metric.unit + (_PER_OPERATION if divided else "")
    return Series(metric, unit, tuple(means), _resolution(metric, unit, operations))


def _resolution(metric: Metric, unit: str, operations: Sequence[int]) -> float:
    """The floor, which is of a whole value, in the unit of the series: at worst, so with fewest."""
    return metric.floor / min(operations) if unit.endswith(_PER_OPERATION) else metric.floor
