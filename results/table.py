"""Rows -> lines of a table in the layout of JMH: a score, and its metrics under it.

Lines are in the order of the file, mode by mode: what stands together was measured under the same
stress and may be compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from results.model import Results, Row
from results.schema import SCORE, Figures
from results.statistics import Estimate, estimate
from results.units import Scale, is_share, own_scale, scale_for


class State(Enum):
    """Zero is a measured value like any other; these are told apart everywhere."""

    MEASURED = "measured"
    NOT_MEASURABLE = "n/a"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class Line:
    """A figure of a row: exact, in the unit of the file."""

    row: Row
    figures: Figures
    estimate: Estimate

    @property
    def metric(self) -> str:
        return self.figures.metric.name

    @property
    def is_score(self) -> bool:
        return self.metric == SCORE

    @property
    def label(self) -> str:
        """As in the first column: the operation, and the metric unless it is the score."""
        return self.row.operation if self.is_score else f"{self.row.operation}:{self.metric}"

    @property
    def state(self) -> State:
        if self.figures.unsupported is not None:
            return State.UNSUPPORTED
        return State.NOT_MEASURABLE if self.estimate.value is None else State.MEASURED

    @property
    def has_error(self) -> bool:
        """Whether an error belongs to this kind of figure: to means, not to totals and maxima."""
        return self.state is State.MEASURED and self.figures.metric.agg == "mean"

    @property
    def below_floor(self) -> bool:
        """Whether it is above zero and too small for the resolution of its metric.

        The floor is of a whole value: it says nothing about a time per operation.
        """
        metric, value = self.figures.metric, self.estimate.value
        return value is not None and 0 < value < metric.floor and not metric.unit.endswith("/op")


@dataclass(frozen=True)
class Table:
    """Lines in the order of printing, the parameters that make a column, and scales by family."""

    results: Results
    lines: tuple[Line, ...]
    params: tuple[str, ...]
    scales: Mapping[str, Scale | None]

    @property
    def has_modes(self) -> bool:
        """False for files of other benchmarks than ours."""
        return any(line.row.mode for line in self.lines)

    def scale(self, line: Line) -> Scale:
        """The unit and decimals of a line: those of its family, unless that spans too much."""
        unit, value = line.figures.metric.unit, line.estimate.value or 0.0
        return self.scales[_family(line)] or own_scale(unit, value)


def build(results: Results) -> Table:
    """The table of a file."""
    modes = dict.fromkeys(row.mode for row in results.rows)
    rows = [row for mode in modes for row in results.rows if row.mode == mode]
    lines = tuple(line for row in rows for line in _lines(row))
    families: dict[str, list[Line]] = {}
    for line in lines:
        families.setdefault(_family(line), []).append(line)
    scales = {family: _family_scale(members) for family, members in families.items()}
    return Table(results, lines, _varying(rows), scales)


def _lines(row: Row) -> Iterator[Line]:
    # The score's own relatives (score.cpu) stand beside it, whichever probe came first.
    metrics = sorted(row.metrics.values(), key=lambda figures: not _is_score(figures.metric.name))
    for figures in (row.score, *metrics):
        yield Line(row, figures, estimate(figures))


def _is_score(metric: str) -> bool:
    return metric.startswith(f"{SCORE}.")


def _family(line: Line) -> str:
    """What shares a unit: all times per operation, so that score and score.cpu can be compared by
    eye; otherwise the lines of one metric."""
    metric = line.figures.metric
    return metric.unit if metric.unit.endswith("/op") else f"{metric.name} {metric.unit}"


def _family_scale(lines: Sequence[Line]) -> Scale | None:
    metric = lines[0].figures.metric
    values = [line.estimate.value for line in lines if line.estimate.value is not None]
    share = is_share(metric.name, metric.unit)
    return scale_for(metric.unit, values, share, calls=lines[0].figures.merged is not None)


def _varying(rows: Sequence[Row]) -> tuple[str, ...]:
    """The parameters that differ between the rows that have them."""
    return tuple(name for name, values in _values(rows).items() if len(values) > 1)


def common_params(rows: Sequence[Row]) -> dict[str, str]:
    """The others: each with the one value that all rows have for which it means something."""
    return {name: min(values) for name, values in _values(rows).items() if len(values) == 1}


def _values(rows: Sequence[Row]) -> dict[str, set[str]]:
    names = sorted({name for row in rows for name in row.params})
    return {name: {row.params[name] for row in rows if name in row.params} for name in names}
