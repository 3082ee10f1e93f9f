"""Resident memory over time, a panel a row: the values of all processes one over the other."""

from collections.abc import Sequence
from typing import Any

from results.model import Results, Row
from results.report.panel import Panel
from results.report.series import MIB, by_mode, label, scale_of, titled
from results.report.style import COLOURS
from results.timeline import Recording, cost

_HEIGHT = 2.3


def panels(results: Results) -> list[Panel]:
    """One a row that was recorded; those of a mode share the range of memory."""
    rows = [row for row in by_mode(results) if row.timelines]
    found = []
    for row in rows:
        alike = [other for other in rows if other.mode == row.mode]
        top = max(_peak(other) for other in alike)
        found.append(
            Panel(
                titled(row.mode, label(row)),
                lambda axes, row=row, top=top: _draw(axes, row, top),  # type: ignore[misc]
                f"resident memory over time, {_peak(row):.0f} MiB at most;"
                f" recording took {100 * (cost(row.timelines) or 0):.1f} % of a core",
                _HEIGHT,
                plain=True,
            )
        )
    return found


def _recordings(row: Row) -> Sequence[Recording]:
    return [one for timeline in row.timelines for one in timeline.recordings]


def _peak(row: Row) -> float:
    return max(rss for one in _recordings(row) for _, rss in one.points) / MIB


def _draw(axes: Any, row: Row, top: float) -> None:
    recordings = _recordings(row)
    scale = scale_of("s", [max(one.duration for one in recordings)])
    for number, one in enumerate(recordings):
        axes.plot(
            [time / scale.factor for time, _ in one.points],
            [rss / MIB for _, rss in one.points],
            color=COLOURS[0],
            linewidth=1.2 if number == 0 else 0.7,
            alpha=1.0 if number == 0 else 0.4,
        )
    share = 100 * (cost(row.timelines) or 0)
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.05 * top)
    axes.set_xlabel(f"time in the value, {scale.symbol} (sampler: {share:.1f} % of a core)")
    axes.set_ylabel("RSS, MiB")
