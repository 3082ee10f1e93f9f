"""What the figures say, in plain sentences; nothing where they don't say it.

Rows are judged by their figures and never by their names, but for two that MEASURING fixes: the
`baseline` row and the mode NONE.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from results.bystanders import bystanders
from results.findings import (
    Finding,
    agree,
    apart,
    figure,
    listed,
    short_name,
    times,
    waiting_factor,
    waits,
)
from results.missed import missed
from results.model import BASELINE, Results, Row
from results.replays import DRIVER, drivers
from results.schema import SCORE
from results.statistics import estimate
from results.tails import tails
from results.units import brief

CALM = "NONE"
"""The mode without stress, which the others are held against."""

QUIET_SHARE = 0.01
"""Of the measured time in the collector: below, a row leaves the collector alone. The interpreter's
own objects cost that much now and then."""
THRASHING_SHARE = 0.10
"""From here on the collector is a cost that a program would notice."""
EXCESS_BYTES = 64 * 2**20
"""Above the peak of the row compared with: explicit scopes keep as much warm on purpose."""
EXCESS_FACTOR = 2.0
"""And this times that peak, so that a large heap's own fluctuation does not count."""
SAME_SCORE = 1.1
"""Scores within a tenth look the same; another order of linking moves them as far."""
MODE_FACTOR = 3.0
"""Score over its score in NONE: below, caches shared with the stress explain it."""
VAGUE_ERROR = 0.25
"""Error over score: rows that differ by less can't be told apart."""
HARNESS_SHARE = 0.25
"""Of a score: above, differences between scores understate those between operations."""

MOST_LINES = 8
MOST_THRASHING = 4


def words(results: Results) -> list[str]:
    """A sentence a finding, the most telling first, at most `MOST_LINES`; empty without any."""
    rows = [row for row in results.rows if row.values]
    findings = [
        *_thrashing(rows),
        *_stressed(rows),
        *_waiting(rows),
        *bystanders(rows),
        *tails(rows),
        *missed(rows),
        *_vague(rows),
        *_harness(rows),
        *drivers(rows),
    ]
    findings.sort(key=lambda finding: -finding.weight)
    return [finding.text for finding in findings[:MOST_LINES]]


# What the score hides


@dataclass(frozen=True)
class _Thrash:
    row: Row
    reference: Row | None
    share: float
    excess: float
    """The factor by which its peak exceeds the reference's; 1 where that is no finding."""
    metric: str
    """What the two are compared by: the score, or score.cpu where they wait."""

    @property
    def ratio(self) -> float | None:
        """Its cost over the reference's."""
        cost, usual = figure(self.row, self.metric), self._usual(self.metric)
        return cost / usual if cost and usual else None

    @property
    def is_dearer(self) -> bool:
        """Whether its score tells some of the cost."""
        ratio = self.ratio
        return ratio is not None and ratio > SAME_SCORE and self.is_apart

    @property
    def is_apart(self) -> bool:
        return self.reference is not None and apart(self.row, self.reference, self.metric)

    @property
    def usual_peak(self) -> float:
        return self._usual("rss.peak") or 0.0

    def _usual(self, metric: str) -> float | None:
        return figure(self.reference, metric) if self.reference else None

    @property
    def weight(self) -> float:
        # Time in the collector is half told by a score that is worse for it; a peak is never told.
        return math.log2(self.excess) + self.share * (5 if self.is_dearer else 10)


def _thrashing(rows: Sequence[Row]) -> Iterator[Finding]:
    """Rows that buy their score with memory or with time in the collector, an operation a line."""
    found: dict[str, list[_Thrash]] = {}
    for row in rows:
        thrash = _thrash(row, rows)
        if thrash:
            found.setdefault(row.operation, []).append(thrash)
    worst = []
    for cases in found.values():
        first_mode = [case for case in cases if case.row.mode == cases[0].row.mode]
        case = max(first_mode, key=lambda case: case.weight)
        others = dict.fromkeys(c.row.mode for c in cases if c.row.mode != case.row.mode)
        worst.append((case, list(others)))
    worst.sort(key=lambda item: -item[0].weight)
    for case, modes in worst[:MOST_THRASHING]:
        yield Finding(case.weight, _thrash_text(case, modes))
    rest = [case for case, _ in worst[MOST_THRASHING:]]
    if rest:
        names = listed([case.row.name for case in rest])
        verb = "lives" if len(rest) == 1 else "live"
        yield Finding(rest[0].weight, f"{names} {verb} on memory or on the collector, too.")


def _thrash(row: Row, rows: Sequence[Row]) -> _Thrash | None:
    if row.operation == BASELINE:
        return None
    reference = next((other for other in rows if _is_reference(other, row)), None)
    metric = _cost_metric(row, reference) if reference else SCORE
    share = figure(row, "gc.share") or 0.0
    peak, usual = figure(row, "rss.peak"), reference and figure(reference, "rss.peak")
    excess = 1.0
    if peak and usual and peak - usual >= EXCESS_BYTES and peak >= EXCESS_FACTOR * usual:
        excess = peak / usual
    if share < THRASHING_SHARE and excess == 1:
        return None
    return _Thrash(row, reference, share, excess, metric)


def _is_reference(other: Row, row: Row) -> bool:
    """Whether it does the same under the same stress, and leaves the collector alone.

    Benchmarks without a mode are other people's, and do different things.
    """
    alike = row.mode and other.mode == row.mode and agree(other, row)
    if not alike or other.operation in (BASELINE, row.operation):
        return False
    share = figure(other, "gc.share")
    return share is not None and share < QUIET_SHARE


def _thrash_text(case: _Thrash, modes: Sequence[str]) -> str:
    facts = []
    if case.excess > 1 and case.reference:
        peak = brief("bytes", figure(case.row, "rss.peak") or 0.0)
        facts.append(
            f"peaked at {peak} ({case.reference.operation}: {brief('bytes', case.usual_peak)})"
        )
    if case.share >= THRASHING_SHARE:
        share = f"{100 * case.share:.0f} %"
        facts.append(f"spent {share} of the measured time in the collector{_collections(case.row)}")
    likewise = f" Likewise in {listed(modes)}." if modes else ""
    return f"{_compared(case)} its process {' and '.join(facts)}.{likewise}"


def _compared(case: _Thrash) -> str:
    """How the row looks beside the reference, up to what its process did for that."""
    name, ratio = case.row.name, case.ratio
    if case.reference is None or ratio is None:
        return f"{name}:"
    by = " by CPU time" if case.metric != SCORE else ""
    other = f"{case.reference.operation}{by}"
    if not case.is_dearer:
        faster = case.is_apart and ratio * SAME_SCORE < 1
        looks = f"{times(1 / ratio)} as fast" if faster else "as fast"
        return f"{name} looks {looks} as {other}, but"
    untold = "; what the score does not show:" if case.excess > 1 else ":"
    return f"{name} takes {times(ratio)} as long as {other}{untold}"


def _collections(row: Row) -> str:
    count, pause = figure(row, "gc.count"), figure(row, "gc.pause.max")
    facts = []
    if count:
        facts.append(f"{count:.0f} collection{'s' if count > 1 else ''}")
    if pause:
        facts.append(f"worst pause {brief('s', pause)}")
    return f" ({', '.join(facts)})" if facts else ""


# What the stress does


def _stressed(rows: Sequence[Row]) -> Iterator[Finding]:
    """Rows that take a multiple of their score in NONE, a mode a line."""
    slower: dict[str, list[tuple[float, Row, Row, str]]] = {}
    for row in rows:
        calm = next((other for other in rows if _is_calm(other, row)), None)
        if calm is None or row.mode == CALM or row.operation == BASELINE:
            continue
        metric = _cost_metric(row, calm)
        cost, usual = figure(row, metric), figure(calm, metric)
        if not cost or not usual or not apart(row, calm, metric):
            continue
        if cost / usual >= MODE_FACTOR:
            slower.setdefault(row.mode, []).append((cost / usual, row, calm, metric))
    for mode, cases in slower.items():
        cases.sort(key=lambda case: -case[0])
        ratio, row, calm, metric = cases[0]
        cost, usual = figure(row, metric) or 0.0, figure(calm, metric) or 0.0
        against = f"{brief('s', cost)} against {brief('s', usual)} an operation"
        others = [f"{short_name(other)} {times(by)}" for by, other, *_ in cases[1:]]
        more = f"; {listed(others)}" if others else ""
        multiple = f"{times(ratio)} its {CALM} {metric} ({against})"
        yield Finding(math.log2(ratio), f"{mode}: {short_name(row)} takes {multiple}{more}.")


def _is_calm(other: Row, row: Row) -> bool:
    return other.mode == CALM and other.operation == row.operation and agree(other, row)


def _waiting(rows: Sequence[Row]) -> Iterator[Finding]:
    """Modes in which the clock on the wall says little about the operation."""
    waiting: dict[str, list[tuple[float, Row]]] = {}
    for row in rows:
        if waits(row):
            waiting.setdefault(row.mode, []).append((waiting_factor(row), row))
    for mode, cases in waiting.items():
        most, row = max(cases, key=lambda case: case[0])
        least = min(factor for factor, _ in cases)
        where = f"{mode}: " if mode else ""
        text = f"wall time of {short_name(row)} is {times(most)} its CPU time"
        if len(cases) > 1:
            by = " to ".join(dict.fromkeys((times(least), times(most))))
            text = f"wall time is {by} CPU time in {len(cases)} rows, most in {short_name(row)}"
        yield Finding(1.0, f"{where}{text}; the rest is waiting, so read score.cpu there.")


def _cost_metric(row: Row, other: Row) -> str:
    """What tells the cost of both: CPU time where the wall time of one is mostly waiting."""
    has_cpu = all(figure(each, "score.cpu") for each in (row, other))
    return "score.cpu" if has_cpu and (waits(row) or waits(other)) else SCORE


# How far the scores carry


def _vague(rows: Sequence[Row]) -> Iterator[Finding]:
    """Scores with wide errors, all in a line."""
    vague = []
    for row in rows:
        found = estimate(row.score)
        if found.value and found.error and found.error / found.value >= VAGUE_ERROR:
            vague.append((found.error / found.value, row))
    if vague:
        error, row = max(vague, key=lambda case: case[0])
        others = len(vague) - 1
        more = f", and {others} more to no better than ±{100 * VAGUE_ERROR:.0f} %" if others else ""
        text = f"The score of {row.name} is known to ±{100 * error:.0f} % only{more}"
        yield Finding(0.5, f"{text}: more processes (-p) narrow it.")


def _harness(rows: Sequence[Row]) -> Iterator[Finding]:
    """Scores that are the harness for a good part; the worst one."""
    shares = []
    for row in rows:
        base = next((r for r in rows if r.operation == BASELINE and r.mode == row.mode), None)
        cost, empty = figure(row, SCORE), base and figure(base, SCORE)
        if row.operation == BASELINE or figure(row, DRIVER) is not None:
            continue
        if cost and empty and empty / cost >= HARNESS_SHARE:
            shares.append((empty / cost, row))
    if shares:
        share, row = max(shares, key=lambda case: case[0])
        text = f"{BASELINE} makes up {100 * share:.0f} % of the score of {row.name}"
        yield Finding(0.25, f"{text}: that part is the harness.")
