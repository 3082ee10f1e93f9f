"""A comparison -> a state for each figure, and one for all.

A figure is a regression if it got worse by more than its limit, by more than its noise floor, by
more than its absolute minimum, and if chance alone would hardly do that (the test of `compare`,
with its correction for all figures that are judged). One that is over its limit and its minimum,
but fails of the rest, is noise or a regression: that can't be told.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

from results import exit_status
from results.compare.comparison import Change, Comparison, Selection, compare
from results.errors import ResultsError
from results.gate.limits import NOISE, Limits
from results.gate.modality import TwoValues, two_values
from results.gate.noise import LEAST_PROCESSES, Floors, split_floor
from results.model import Results
from results.schema import SCORE


class State(Enum):
    """What the gate says of a figure."""

    OK = "ok"
    REGRESSION = "regression"
    NOISY = "too noisy to tell"
    SKIPPED = "not judged"


@dataclass(frozen=True)
class Judged:
    """A figure with its state; `limit` is relative, `minimum` in its unit."""

    change: Change
    state: State
    limit: float
    minimum: float
    floors: Floors | None = None
    reason: str = ""

    @cached_property
    def floor(self) -> float | None:
        """The noise in the unit of the figure: calibrated, else what the processes of both files
        show; None where it is not known."""
        found = self.floors.floor(self.change) if self.floors else None
        if found is not None:
            return found
        split = [split_floor(side.series) for side in self.change.sides if side.series]
        known = [floor for floor in split if floor is not None]
        return max(known) if known else None

    @cached_property
    def bimodal(self) -> tuple[TwoValues | None, TwoValues | None]:
        """The two values about which the processes of either file lie, if they do."""
        before, after = (
            two_values(side.series.means, side.series.resolution) if side.series else None
            for side in self.change.sides
        )
        return before, after

    @property
    def worsening(self) -> float | None:
        """How far it got worse, relative to before; below 0 if better, None from 0."""
        change = self.change.change
        if change is None:
            return None
        return change if self.change.metric.better == "lower" else -change


@dataclass(frozen=True)
class Judgement:
    """The verdict: `status` is the exit status; `refusals` say why files can't be compared, and
    `allowed` what would be such a reason and was allowed."""

    comparison: Comparison
    figures: tuple[Judged, ...]
    refusals: tuple[str, ...]
    allowed: tuple[str, ...]
    identical: bool
    noise_allowed: bool

    @property
    def status(self) -> int:
        if self.refusals:
            return exit_status.NOT_COMPARABLE
        if self.of(State.REGRESSION):
            return exit_status.REGRESSION
        is_noisy = self.of(State.NOISY) and not self.noise_allowed
        return exit_status.TOO_NOISY if is_noisy else exit_status.OK

    def of(self, state: State) -> list[Judged]:
        return [figure for figure in self.figures if figure.state is state]


def judge(base: Results, head: Results, limits: Limits, floors: Floors | None = None) -> Judgement:
    """Hold a file against another; ResultsError where they have nothing in common."""
    comparison = compare(base, head, Selection(limits.only, _metrics(base, head, limits)))
    lines = list(_differences(comparison, limits, floors))
    refusals = [text for name, text in lines if name not in limits.allow]
    allowed = [text for name, text in lines if name in limits.allow]
    identical = _are_identical(comparison)
    figures = [_judged(change, limits, floors, identical) for change in comparison.changes]
    return Judgement(
        comparison,
        tuple(figures),
        tuple(refusals),
        tuple(allowed),
        identical,
        NOISE in limits.allow,
    )


def _differences(
    comparison: Comparison, limits: Limits, floors: Floors | None
) -> Iterator[tuple[str, str]]:
    """What differs between the files, by the name that allows it."""
    total = len(comparison.pairs)
    for found in comparison.differences:
        yield found.name, found.text(total)
    if comparison.only_before:
        yield "rows", f"rows: gone are {', '.join(comparison.only_before)}"
    for change in comparison.changes:
        figure = f"metrics: {change.metric.name} of {change.row.name}"
        if change.before.sample and not change.after.sample:
            yield "metrics", f"{figure} is gone: {change.after.missing}"
        elif change.is_another_metric:
            yield "metrics", f"{figure}: {change.note}"
    if floors is not None:
        yield from floors.differences(comparison.pairs[0][0])


def _are_identical(comparison: Comparison) -> bool:
    """Whether both files hold the same figures: then there is no noise to be afraid of."""
    return all(
        (before.score, before.metrics) == (after.score, after.metrics)
        for before, after in comparison.pairs
    )


def _metrics(base: Results, head: Results, limits: Limits) -> tuple[str, ...]:
    """The metrics that have a limit; only these are tested and corrected for."""
    rows = (*base.rows, *head.rows)
    names = dict.fromkeys(name for row in rows for name in (SCORE, *row.metrics))
    judged = tuple(name for name in names if limits.limit(name) is not None)
    if not judged:
        raise ResultsError(f"expected a limit for one of {', '.join(names)}, found all off")
    return judged


def _judged(change: Change, limits: Limits, floors: Floors | None, identical: bool) -> Judged:
    limit = limits.limit(change.metric.name) or 0.0
    minimum = max(limits.minimum(change.metric.name, change.unit), change.resolution)
    before, after = change.before.series, change.after.series
    judged = Judged(change, State.OK, limit, minimum, floors)
    if before is None or after is None:
        return replace(judged, state=State.SKIPPED, reason=change.note)
    if identical:
        return judged
    if min(len(before.means), len(after.means)) < LEAST_PROCESSES:
        return replace(judged, state=State.NOISY, reason=_few(len(before.means), len(after.means)))
    if change.note:
        return replace(judged, state=State.SKIPPED, reason=change.note)
    return replace(judged, state=_state(judged))


def _state(judged: Judged) -> State:
    change, worsening = judged.change, judged.worsening
    difference = abs(change.difference)
    is_over = worsening is None or worsening > judged.limit
    if not (change.is_worse and is_over and difference > judged.minimum):
        return State.OK
    is_told = change.is_told and judged.floor is not None and difference > judged.floor
    return State.REGRESSION if is_told else State.NOISY


def _few(before: int, after: int) -> str:
    found = f"{before} and {after} processes"
    return f"{found}; {LEAST_PROCESSES} or more each are needed, with -p"
