"""What the mean hides where single calls were timed: that few of them take much of the time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from results.findings import Finding, figure, listed, short_name, waits
from results.model import BASELINE, Row
from results.schema import SCORE
from results.units import brief

TAIL_FACTOR = 10.0
"""Times the median: calls from here on are the tail of a row that was timed call by call."""
TAIL_SHARE = 0.10
"""Of the time of all calls: from here on the mean is of the tail and not of the usual call."""


@dataclass(frozen=True)
class _Tail:
    """The slowest calls of a row: one in so many, and their share of the time of all."""

    row: Row
    one_in: float
    share: float

    @property
    def in_collector(self) -> float:
        """The share of the time that the collector took."""
        return figure(self.row, "gc.share") or 0.0

    @property
    def is_collector(self) -> bool:
        """Whether the collector by itself would make it a tail."""
        return self.in_collector >= TAIL_SHARE

    @property
    def cause(self) -> str:
        """What the figures beside it explain it by, as a sentence; "" for nothing."""
        waiting = "wait for a core or the GIL" if waits(self.row) else ""
        if not self.is_collector:
            return f" Those {waiting}." if waiting else ""
        pause = brief("s", figure(self.row, "gc.pause.max") or 0.0)
        if waiting and self.in_collector < self.share / 2:
            return f" The collector runs in some, for {pause} at most; the others {waiting}."
        return f" The collector runs in those, for {pause} at most."


def tails(rows: Sequence[Row]) -> Iterator[Finding]:
    """Rows with few calls that take much of the time, a line a mode and cause."""
    found: dict[tuple[str, bool], list[_Tail]] = {}
    for row in rows:
        tail = _tail(row)
        if tail:
            found.setdefault((row.mode, tail.is_collector), []).append(tail)
    for cases in found.values():
        cases.sort(key=lambda case: -case.share)
        others = [short_name(case.row) for case in cases[1:]]
        likewise = f" Likewise {listed(others)}." if others else ""
        yield Finding(5 * cases[0].share, f"{_text(cases[0])}{likewise}")


def _tail(row: Row) -> _Tail | None:
    usual = figure(row, "p0.50")
    if row.samples is None or not usual or row.operation == BASELINE:
        return None
    calls, share = row.samples.histogram.slowest(TAIL_FACTOR * usual)
    if share < TAIL_SHARE:
        return None
    return _Tail(row, row.samples.histogram.count / calls, share)


def _text(tail: _Tail) -> str:
    usual, mean, most = (figure(tail.row, name) or 0.0 for name in ("p0.50", SCORE, "p1.00"))
    return (
        f"{tail.row.name}: one call in {tail.one_in:,.0f} takes {100 * tail.share:.0f} % of the"
        f" time, which the mean of {brief('s', mean)} hides; half of all calls take"
        f" {brief('s', usual)} at most, the slowest {brief('s', most)}.{tail.cause}"
    )
