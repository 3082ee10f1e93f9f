"""What every finding is made of: figures of rows, and the phrases that name them."""

from collections.abc import Iterable
from dataclasses import dataclass

from results.model import Row
from results.schema import SCORE
from results.statistics import estimate, mean

WAITING_FACTOR = 1.5
"""Wall time over CPU time: below, the scheduler alone explains it."""
MOST_NAMES = 3


@dataclass(frozen=True)
class Finding:
    """A sentence and its weight: a doubling of cost or memory weighs 1, a tenth of the time 1."""

    weight: float
    text: str


def figure(row: Row, metric: str) -> float | None:
    """The aggregate of a metric over all values; None if it is unsupported or not measurable."""
    figures = row.figures(metric)
    return None if figures is None else estimate(figures).value


def waits(row: Row) -> bool:
    return waiting_factor(row) >= WAITING_FACTOR


def waiting_factor(row: Row) -> float:
    wall, cpu = figure(row, SCORE), figure(row, "score.cpu")
    return wall / cpu if wall and cpu else 1.0


def agree(one: Row, other: Row) -> bool:
    """Whether the parameters that both have are the same."""
    return all(other.params.get(name, value) == value for name, value in one.params.items())


def apart(row: Row, other: Row, metric: str) -> bool:
    """Whether the slowest process of one is faster than the fastest of the other: otherwise a ratio
    of their means says nothing."""
    ours, theirs = _process_means(row, metric), _process_means(other, metric)
    return max(ours) < min(theirs) or max(theirs) < min(ours)


def _process_means(row: Row, metric: str) -> list[float]:
    figures = row.figures(metric)
    return [mean(values) for values in figures.measured if values] if figures else []


def short_name(row: Row) -> str:
    """The name where the mode has been said."""
    _, bracket, cell = row.name.partition("[")
    rest = cell.removesuffix("]").removeprefix(row.mode).lstrip(",")
    return f"{row.operation}[{rest}]" if bracket and rest else row.operation


def times(ratio: float) -> str:
    return f"{ratio:.1f} x" if ratio < 10 else f"{ratio:.0f} x"


def listed(names: Iterable[str]) -> str:
    """A, B and C; the first `MOST_NAMES` and the number of the others if there are more."""
    names = list(names)
    if len(names) > MOST_NAMES:
        names = [*names[:MOST_NAMES], f"{len(names) - MOST_NAMES} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
