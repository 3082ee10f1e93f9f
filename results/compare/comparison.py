"""Two files -> what changed: the score and every metric of each row that both have."""

import fnmatch
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from results.compare.comparability import Difference, differences
from results.compare.inference import (
    ALPHA,
    Sample,
    holm,
    p_value,
    ratio_interval,
    relative_change,
)
from results.compare.series import Series, series
from results.errors import ResultsError
from results.model import Results, Row
from results.schema import SCORE, Metric
from results.statistics import LEAST_PROCESSES, mean

_COLLECT_EVERY = "collect-every"

NOT_RECORDED = "not recorded"
NOT_MEASURABLE = "not measurable"
ABSENCES = (NOT_RECORDED, NOT_MEASURABLE)
"""Why there is no figure; any other reason is of a metric that is unsupported."""


class Verdict(Enum):
    """What can be said of a change."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "within noise"
    UNKNOWN = "n/a"


@dataclass(frozen=True)
class Side:
    """A figure in one of the files: its series, or in `missing` why there is none."""

    series: Series | None
    sample: Sample | None
    missing: str = ""

    @property
    def mean(self) -> float | None:
        return self.sample.mean if self.sample else None


@dataclass(frozen=True)
class Change:
    """A figure of a row, before and after, in `unit`.

    `change` is after over before less 1, None where something came from nothing; `interval` bounds
    it. `p` is the chance of such a difference between equals, `p_corrected` with Holm's correction
    for all changes of the comparison; both are None where nothing could be tested.
    """

    row: Row
    metric: Metric
    unit: str
    before: Side
    after: Side
    change: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    p_corrected: float | None = None
    note: str = ""

    @property
    def difference(self) -> float:
        """After less before, in the unit of the series; 0 where a side is missing."""
        if self.before.sample is None or self.after.sample is None:
            return 0.0
        return self.after.sample.mean - self.before.sample.mean

    @property
    def resolution(self) -> float:
        """The coarser one of both sides."""
        return max((s.series.resolution for s in self.sides if s.series), default=0.0)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.before, self.after

    @property
    def is_worse(self) -> bool:
        """Which way it went, told apart from noise or not."""
        return (self.difference > 0) == (self.metric.better == "lower") and self.difference != 0

    @property
    def is_told(self) -> bool:
        """Whether the difference is more than noise and more than the metric can resolve."""
        told = self.p_corrected is not None and self.p_corrected < ALPHA
        return told and abs(self.difference) > self.resolution

    @property
    def verdict(self) -> Verdict:
        if self.p_corrected is None:
            return Verdict.UNKNOWN
        if not self.is_told:
            return Verdict.SAME
        return Verdict.WORSE if self.is_worse else Verdict.BETTER

    @property
    def is_nothing(self) -> bool:
        """Zero before and after."""
        return self.before.mean == 0 == self.after.mean

    @property
    def is_another_metric(self) -> bool:
        """Whether the sides differ in unit or direction under one name: they can't be compared."""
        return bool(_other_metric(self.before, self.after))

    @property
    def is_unmeasured(self) -> bool:
        """No figure before and none after."""
        return self.before.sample is None and self.after.sample is None


@dataclass(frozen=True)
class Selection:
    """What is compared, and of that what is shown.

    `only` is searched in the operation and in the whole name of a row; `metrics` are names or
    patterns as in a shell (gc.*), all where there are none. `min_change` (0.05 is 5 %) hides what
    changed less, after the tests: it doesn't make them fewer. `across` are parameters in which the
    rows of the two files may differ.
    """

    only: re.Pattern[str] | None = None
    metrics: tuple[str, ...] = ()
    min_change: float = 0.0
    across: tuple[str, ...] = ()

    def wants_row(self, row: Row) -> bool:
        if self.only is None:
            return True
        return bool(self.only.search(row.operation) or self.only.search(row.name))

    def wants_metric(self, name: str) -> bool:
        if not self.metrics:
            return True
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.metrics)

    def shows(self, change: Change) -> bool:
        if self.min_change == 0:
            return True
        return change.change is None or abs(change.change) >= self.min_change


@dataclass(frozen=True)
class Comparison:
    """All changes in the order of the file after; rows that only one file has; what differs."""

    before: Results
    after: Results
    changes: tuple[Change, ...]
    pairs: tuple[tuple[Row, Row], ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    differences: tuple[Difference, ...]

    @property
    def tests(self) -> int:
        """How many changes were tested, and corrected for."""
        return sum(change.p is not None for change in self.changes)


def check_metrics(patterns: Iterable[str], *files: Results) -> None:
    """ResultsError for a name or pattern of metrics that fits none of the files."""
    names = dict.fromkeys(
        name for file in files for row in file.rows for name in (SCORE, *row.metrics)
    )
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise ResultsError(f"expected a metric {pattern}, found {', '.join(names)}")


def compare(before: Results, after: Results, selection: Selection | None = None) -> Comparison:
    """Compare what both files have; ResultsError where that is nothing."""
    selection = selection or Selection()
    ours = [row for row in before.rows if selection.wants_row(row)]
    theirs = [row for row in after.rows if selection.wants_row(row)]
    if selection.only and not (ours or theirs):
        raise ResultsError(f"no benchmark matches {selection.only.pattern!r}")
    pairs = _across(ours, theirs, selection.across) if selection.across else _matched(ours, theirs)
    if not pairs:
        raise ResultsError(f"{before.path} and {after.path} have no benchmark in common")
    changes = _changes(pairs, selection)
    if not changes:
        wanted = ", ".join(selection.metrics)
        raise ResultsError(f"{before.path} and {after.path} have no {wanted} in common rows")
    matched = [{pair[side].name for pair in pairs} for side in (0, 1)]
    return Comparison(
        before,
        after,
        tuple(changes),
        tuple(pairs),
        tuple(row.name for row in ours if row.name not in matched[0]),
        tuple(row.name for row in theirs if row.name not in matched[1]),
        tuple(differences(pairs)),
    )


def metrics_of(changes: Iterable[Change]) -> list[str]:
    """The names of their metrics: the score, its relatives (score.cpu), then as they come."""
    names = dict.fromkeys(change.metric.name for change in changes)
    return sorted(names, key=lambda name: (name != SCORE, not name.startswith(f"{SCORE}.")))


def geometric_mean(changes: Iterable[Change]) -> tuple[float, int] | None:
    """The mean ratio of after to before, and of how many changes; None of no ratio.

    Figures that are 0 on either side have no part in it.
    """
    logarithms = [
        math.log(change.change + 1)
        for change in changes
        if change.change is not None and change.change > -1 and not change.is_nothing
    ]
    return (math.exp(mean(logarithms)), len(logarithms)) if logarithms else None


def _matched(before: Sequence[Row], after: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Rows of the same name, in the order of the later file; those left are matched without their
    collection period, so that another period is found and said instead of a missing row."""
    by_name = {row.name: row for row in before}
    common = {row.name for row in after if row.name in by_name}
    by_cell = {_without_period(row): row for row in before if row.name not in common}
    pairs = []
    for row in after:
        other = by_name[row.name] if row.name in common else by_cell.get(_without_period(row))
        if other is not None:
            pairs.append((other, row))
    return pairs


def _across(
    before: Sequence[Row], after: Sequence[Row], names: Sequence[str]
) -> list[tuple[Row, Row]]:
    """Rows that are alike but for these parameters, in the order of the later file."""
    one, other = _by_cell(before, names), _by_cell(after, names)
    return [(one[cell], row) for cell, row in other.items() if cell in one]


def _by_cell(rows: Sequence[Row], names: Sequence[str]) -> dict[tuple[object, ...], Row]:
    found: dict[tuple[object, ...], Row] = {}
    for row in rows:
        twin = found.setdefault(_without(row, names), row)
        if twin is not row:
            raise ResultsError(
                f"expected rows that differ by more than {', '.join(names)} in a file, "
                f"found {twin.name} and {row.name}: choose one with --only"
            )
    return found


def _without_period(row: Row) -> tuple[object, ...]:
    return _without(row, (_COLLECT_EVERY,))


def _without(row: Row, names: Sequence[str]) -> tuple[object, ...]:
    params = sorted((key, value) for key, value in row.params.items() if key not in names)
    return (row.operation, row.mode, *params)


def _metrics(before: Row, after: Row) -> dict[str, None]:
    return dict.fromkeys((SCORE, *after.metrics, *before.metrics))


def _changes(pairs: Sequence[tuple[Row, Row]], selection: Selection) -> list[Change]:
    """The changes of all pairs; their tests are corrected for each other."""
    measured = [
        (after, name, _side(before, name), _side(after, name))
        for before, after in pairs
        for name in _metrics(before, after)
        if selection.wants_metric(name)
    ]
    p_values = [_p_value(before, after) for _, _, before, after in measured]
    corrected = iter(holm([p for p in p_values if p is not None]))
    return [
        _change(row, name, before, after, p, None if p is None else next(corrected))
        for (row, name, before, after), p in zip(measured, p_values, strict=True)
    ]


def _p_value(before: Side, after: Side) -> float | None:
    if before.sample is None or after.sample is None or _other_metric(before, after):
        return None
    return p_value(before.sample, after.sample)


def _side(row: Row, name: str) -> Side:
    found = series(row, name)
    if found is not None:
        return Side(found, Sample.of(found.means))
    figures = row.figures(name)
    if figures is None:
        return Side(None, None, NOT_RECORDED)
    return Side(None, None, figures.unsupported or NOT_MEASURABLE)


def _change(
    row: Row, name: str, before: Side, after: Side, p: float | None, p_corrected: float | None
) -> Change:
    known = after.series or before.series
    metric, unit = (known.metric, known.unit) if known else (Metric(name, ""), "")
    one, other = before.sample, after.sample
    note = _other_metric(before, after)
    if one is None or other is None or note:
        reasons = note or "; ".join(_reasons(before, after))
        return Change(row, metric, unit, before, after, note=reasons)
    interval = ratio_interval(one, other)
    few = f"{one.count} and {other.count} processes; {LEAST_PROCESSES} or more each are needed"
    return Change(
        row,
        metric,
        unit,
        before,
        after,
        change=relative_change(one.mean, other.mean),
        interval=(interval[0] - 1, interval[1] - 1) if interval else None,
        p=p,
        p_corrected=p_corrected,
        note=few if p is None else "",
    )


def _other_metric(before: Side, after: Side) -> str:
    """How a metric of one name differs between the files, if it does; else an empty text."""
    kinds = [(s.series.unit, s.series.metric.better) for s in (before, after) if s.series]
    if len(set(kinds)) < 2:
        return ""
    found = " against ".join(f"{unit} ({better} is better)" for unit, better in kinds)
    return f"not the same metric: {found}"


def _reasons(before: Side, after: Side) -> Iterator[str]:
    for when, side in (("before", before), ("after", after)):
        if side.missing:
            yield f"{when}: {side.missing}"
