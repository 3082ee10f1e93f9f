"""Files -> points in time, each with its commit and the process means of its figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from results.compare.comparability import FACTS, differ, shown
from results.compare.comparison import Selection
from results.compare.series import Series, series
from results.errors import ResultsError
from results.files import read
from results.gate.noise_file import is_noise_file
from results.model import Results, Row
from results.schema import SCORE

_DIRTY = "-dirty"
_SHORT = 10
_OF_A_ROW = ("probes", "collect-every")

Key = tuple[str, str]
"""Row and metric."""


@dataclass(frozen=True)
class Point:
    """A file: `commit` is "" where it has none, `dirty` if the tree held more than the commit.

    `rows` are without their values, which would fill the memory; `figures` has what was asked for.
    """

    path: Path
    date: datetime | None
    commit: str
    dirty: bool
    metadata: Mapping[str, Any]
    rows: Mapping[str, Row]
    figures: Mapping[Key, Series]

    @property
    def label(self) -> str:
        """The commit, short and with a plus for what came on top of it; the file without one."""
        if not self.commit:
            return self.path.name
        return self.commit[:_SHORT] + ("+" if self.dirty else "")


def find(paths: Sequence[Path]) -> list[Path]:
    """The files, and for a directory those in it that end in .json or .json.gz, noise floors left
    out. ResultsError where there is none."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = (p for p in path.rglob("*") if p.name.endswith((".json", ".json.gz")))
            found += sorted(p for p in inside if p.is_file() and not is_noise_file(p))
        else:
            found.append(path)
    if not found:
        raise ResultsError(f"{', '.join(map(str, paths))}: there is no result file")
    return found


def load(paths: Sequence[Path], selection: Selection) -> tuple[list[Point], list[ResultsError]]:
    """The points by date, those without one first; and what is wrong with the other files."""
    points, errors = [], []
    for path in paths:
        try:
            points.append(_point(read(path), selection))
        except ResultsError as error:
            errors.append(error)
    earliest = datetime.min
    points.sort(key=lambda p: (p.date or earliest, p.path))
    return points, errors


def keys(points: Sequence[Point]) -> list[Key]:
    """Every row and metric that some point has: by metric, the score first, then as they come."""
    found = dict.fromkeys(key for point in points for key in point.figures)
    metrics = list(dict.fromkeys(metric for _, metric in found))
    metrics.sort(key=lambda name: (name != SCORE, not name.startswith(f"{SCORE}.")))
    return sorted(found, key=lambda key: metrics.index(key[1]))


def breaks(points: Sequence[Point]) -> Iterator[str]:
    """Where a point was measured under other circumstances than the one before, a line a fact."""
    for before, after in pairwise(points):
        one, other = (next(iter(point.rows.values())) for point in (before, after))
        for name, tell in FACTS.items():
            if name in _OF_A_ROW or not differ(tell(one), tell(other)):
                continue
            yield f"{name}: {shown(tell(one))} up to {before.label}, then {shown(tell(other))}"


def _point(results: Results, selection: Selection) -> Point:
    rows = {row.name: row for row in results.rows if selection.wants_row(row)}
    figures = {
        (row.name, metric): found
        for row in rows.values()
        for metric in (SCORE, *row.metrics)
        if selection.wants_metric(metric) and (found := series(row, metric)) is not None
    }
    dates = sorted(row.date for row in results.rows if row.date)
    commit = str(results.metadata.get("scopestress_commit", ""))
    return Point(
        path=results.path,
        date=_date(dates[0]) if dates else None,
        commit=commit.removesuffix(_DIRTY),
        dirty=commit.endswith(_DIRTY),
        metadata=results.metadata,
        rows={name: replace(row, metrics={}) for name, row in rows.items()},
        figures=figures,
    )


def _date(text: str) -> datetime | None:
    """pyperf writes local time without a zone."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None
