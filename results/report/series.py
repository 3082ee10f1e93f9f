"""What charts are drawn from: numbers of a file by row, in units that can be read."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from results.findings import figure
from results.model import Results, Row
from results.statistics import estimate
from results.units import Scale, own_scale, scale_for

MIB = 2.0**20


@dataclass(frozen=True)
class Scored:
    """A row that has a score: in the unit of the file, with half its interval; 0 if unknown."""

    row: Row
    value: float
    error: float


@dataclass(frozen=True)
class Group:
    """Rows under one stress whose scores have one unit: what may stand on one axis."""

    mode: str
    unit: str
    scored: tuple[Scored, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(one.row for one in self.scored)

    @property
    def scale(self) -> Scale:
        """The unit of an axis for all scores of this group."""
        return scale_of(self.unit, [one.value for one in self.scored])


def groups(results: Results) -> list[Group]:
    """The rows of a file that have a score, mode by mode."""
    found: dict[tuple[str, str], list[Scored]] = {}
    for row in results.rows:
        known = estimate(row.score)
        if known.value is not None and known.value > 0:
            key = (row.mode, row.score.metric.unit)
            found.setdefault(key, []).append(Scored(row, known.value, known.error or 0.0))
    return [Group(mode, unit, tuple(scored)) for (mode, unit), scored in found.items()]


def scale_of(unit: str, values: Sequence[float]) -> Scale:
    """One unit for these values, the middle one's own where they lie too far apart for one."""
    above = [value for value in values if value > 0]
    if not above:
        return own_scale(unit, 0.0)
    middle = math.exp(math.fsum(map(math.log, above)) / len(above))
    return scale_for(unit, above) or own_scale(unit, middle)


def label(row: Row) -> str:
    """A row within its mode: the operation, and the parameters that are not its usual ones."""
    _, bracket, cell = row.name.partition("[")
    params = [
        part.removeprefix("size=")
        for part in cell.removesuffix("]").split(",")
        if part and part != row.mode
    ]
    return " ".join([row.operation, *params]) if bracket and row.mode else row.name


def by_mode(results: Results) -> list[Row]:
    """The rows of a file, those of a mode together."""
    modes = list(dict.fromkeys(row.mode for row in results.rows))
    return sorted(results.rows, key=lambda row: modes.index(row.mode))


def titled(mode: str, text: str) -> str:
    """The title of a panel; files of other benchmarks than ours have no modes."""
    return f"{mode}: {text}" if mode else text[:1].upper() + text[1:]


def chunks(rows: Sequence[Row], most: int) -> Iterator[Sequence[Row]]:
    """As many rows at a time as a panel can tell apart."""
    for first in range(0, len(rows), most):
        yield rows[first : first + most]


def share_in_collector(row: Row) -> float | None:
    return figure(row, "gc.share")


def peak_mib(row: Row) -> float | None:
    peak = figure(row, "rss.peak")
    return peak / MIB if peak else None
