"""How long single calls took, from the usual one to the slowest of all, where they were timed."""

from collections.abc import Sequence
from typing import Any

from results.findings import figure
from results.histogram import PERCENTILES
from results.model import Results, Row
from results.report.axes import legend, logarithmic
from results.report.panel import Panel
from results.report.series import chunks, label, scale_of, titled
from results.report.style import looks

_HEIGHT = 3.6
_MOST_LINES = 8
_TICKS = {"0.00": "fastest", "1.00": "slowest"}


def panels(results: Results) -> list[Panel]:
    """As many a mode as its rows need, at most eight lines each."""
    found = []
    for mode in dict.fromkeys(row.mode for row in results.rows):
        rows = [row for row in results.rows if row.mode == mode and _points(row)]
        for part in chunks(rows, _MOST_LINES):
            worst = max(part, key=lambda row: _points(row)[-1][1])
            found.append(
                Panel(
                    titled(mode, "percentiles of single calls"),
                    lambda axes, part=part: _draw(axes, part),  # type: ignore[misc]
                    f"{len(part)} benchmarks; the slowest call of all is one of {label(worst)}",
                    _HEIGHT + 0.11 * len(part),
                )
            )
    return found


def _points(row: Row) -> list[tuple[int, float]]:
    """The place of a percentile on the axis and its seconds; none for what calls can't carry."""
    known = ((place, figure(row, f"p{share}")) for place, share in enumerate(PERCENTILES))
    return [(place, seconds) for place, seconds in known if seconds]


def _draw(axes: Any, rows: Sequence[Row]) -> None:
    every = [seconds for row in rows for _, seconds in _points(row)]
    scale = scale_of("s", every)
    entries = looks(label(row) for row in rows)
    for row in rows:
        look = entries[label(row)]
        places, seconds = zip(*_points(row), strict=True)
        values = [value / scale.factor for value in seconds]
        axes.plot(places, values, color=look.colour, marker=look.shape, markersize=5, linewidth=1)
    logarithmic(axes.yaxis, [value / scale.factor for value in every])
    names = [_TICKS.get(share, f"{100 * float(share):g} %") for share in PERCENTILES]
    axes.set_xticks(range(len(names)), names, fontsize=7)
    axes.set_xlabel("share of calls that took at most so long")
    axes.set_ylabel(f"time of a call, {scale.symbol} (logarithmic)")
    legend(axes, entries, line=True)
