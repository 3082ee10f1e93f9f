"""How far a figure moves between two runs of the same thing."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from results.compare.comparability import FACTS, Parts, differ, shown
from results.compare.comparison import Change
from results.compare.inference import centre
from results.compare.series import Series, series
from results.errors import ResultsError
from results.model import Results, Row
from results.schema import SCORE
from results.statistics import mean

LEAST_RUNS = 3
LEAST_PROCESSES = 6
"""Fewer can't be split into halves that say anything."""
_OF_A_ROW = ("probes", "collect-every")
"""Facts that differ from row to row of a file and are not of its machine."""


@dataclass(frozen=True)
class Floor:
    """The largest difference that was seen between equals; `relative` is None about a mean of 0."""

    absolute: float
    relative: float | None

    def about(self, mean: float) -> float:
        """The difference that noise makes about this mean, in its unit."""
        return self.absolute if self.relative is None else self.relative * abs(mean)


@dataclass(frozen=True)
class Floors:
    """Calibrated floors by row and metric, of so many runs of so many processes each."""

    runs: int
    processes: int
    command: tuple[str, ...]
    date: str
    facts: Mapping[str, Parts]
    floors: Mapping[str, Mapping[str, Floor]]

    def floor(self, change: Change) -> float | None:
        """The floor of a figure, in its unit; None where it was not calibrated.

        Fewer processes than in calibration move more: by the square root of their ratio.
        """
        found = self.floors.get(change.row.name, {}).get(change.metric.name)
        before, after = change.before.sample, change.after.sample
        if found is None or before is None or after is None:
            return None
        few = math.sqrt(max(1.0, self.processes / min(before.count, after.count)))
        return few * found.about(before.mean)

    def differences(self, row: Row) -> list[tuple[str, str]]:
        """The facts of a row that are others than those of calibration, by name, in words."""
        lines = []
        for name, parts in self.facts.items():
            found = FACTS[name](row)
            if differ(parts, found):
                then = f"{shown(parts)} when noise was calibrated"
                lines.append((name, f"{name}: {then}, {shown(found)} here"))
        return lines


def split_floor(found: Series) -> float | None:
    """The noise of a difference between two files like this one, from the halves of this one.

    Halves lie together in time (the first half against the second, and so on around), since two
    files do, too: a drift within the run is one between runs. A half has half the processes, so its
    mean moves by the square root of 2 more. None under `LEAST_PROCESSES`.
    """
    means = found.means
    count = len(means)
    if count < LEAST_PROCESSES:
        return None
    if min(means) == max(means):
        return 0.0
    half, twice = count // 2, (*means, *means)
    most = 0.0
    for start in range(count if count % 2 else half):
        inside = centre(twice[start : start + half])
        outside = centre(twice[start + half : start + count])
        most = max(most, abs(inside - outside))
    return most / math.sqrt(2)


def calibrated(runs: Sequence[Results], command: Sequence[str], date: str) -> Floors:
    """The floors from files of the same command. ResultsError if they are not of one thing."""
    first = runs[0]
    if len(runs) < LEAST_RUNS:
        raise ResultsError(f"expected {LEAST_RUNS} runs or more, found {len(runs)}")
    rows = [{row.name: row for row in run.rows} for run in runs]
    for run, named in zip(runs, rows, strict=True):
        if set(named) != set(rows[0]):
            raise ResultsError(f"{run.path}: expected the benchmarks of {first.path}, found others")
    floors = {name: _floors([named[name] for named in rows]) for name in rows[0]}
    processes = min(len(row.values) for named in rows for row in named.values())
    facts = {name: tell(first.rows[0]) for name, tell in FACTS.items() if name not in _OF_A_ROW}
    known = {name: parts for name, parts in facts.items() if any(parts)}
    return Floors(len(runs), processes, tuple(command), date, known, floors)


def _floors(rows: Sequence[Row]) -> dict[str, Floor]:
    found = {}
    for name in (SCORE, *rows[0].metrics):
        means = [centre(s.means) for row in rows if (s := series(row, name)) is not None]
        if len(means) == len(rows):
            spread, middle = max(means) - min(means), mean(means)
            found[name] = Floor(spread, spread / abs(middle) if middle else None)
    return found
