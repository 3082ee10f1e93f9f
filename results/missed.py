"""What a difference over live threads misses of what was allocated."""

from collections.abc import Iterator, Sequence

from results.findings import Finding, agree, figure, listed
from results.model import BASELINE, Row
from results.units import brief

MISSED_SHARE = 0.5
"""Of what was allocated: a figure that does not see that much is wrong and not just rough."""

RIGHT, WRONG = "alloc.rate.norm", "alloc.live.norm"


def missed(rows: Sequence[Row]) -> Iterator[Finding]:
    """Rows whose threads ended with what they had allocated, an operation a line."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if _share(row) >= MISSED_SHARE:
            found.setdefault(row.operation, []).append(row)
    for row, *others in found.values():
        right, wrong = (brief("bytes", figure(row, name) or 0.0) for name in (RIGHT, WRONG))
        modes = dict.fromkeys(other.mode for other in others if other.mode != row.mode)
        likewise = f" Likewise in {listed(modes)}." if modes else ""
        yield Finding(
            10 * _share(row),
            f"{row.name}: a difference over live threads sees {wrong} of {right} an operation and"
            f" misses {100 * _share(row):.1f} %, for the threads that allocated have ended."
            f"{_against_others(row, rows)}{likewise}",
        )


def _share(row: Row) -> float:
    """What it misses; 0 for a row without the two figures."""
    right, wrong = figure(row, RIGHT), figure(row, WRONG)
    return 0.0 if not right or wrong is None else 1 - wrong / right


def _against_others(row: Row, rows: Sequence[Row]) -> str:
    """By how much more or less it allocates than a row whose threads live on."""
    for other in rows:
        usual = figure(other, RIGHT)
        alike = other.mode == row.mode and agree(other, row) and other.operation != BASELINE
        if alike and usual and _share(other) < MISSED_SHARE:
            percent = 100 * ((figure(row, RIGHT) or 0.0) / usual - 1)
            more = "more" if percent >= 0 else "less"
            return f" In truth it allocates {abs(percent):.1f} % {more} than {other.operation}."
    return ""
