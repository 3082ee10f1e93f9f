"""Score against what it hides: the peak of resident memory, and time in the collector."""

from collections.abc import Callable, Sequence
from typing import Any

from results.model import Results, Row
from results.report.axes import legend, logarithmic
from results.report.panel import Panel
from results.report.series import (
    MIB,
    Group,
    groups,
    label,
    peak_mib,
    share_in_collector,
    titled,
)
from results.report.style import GREY, INK, Look, looks
from results.words import EXCESS_BYTES, EXCESS_FACTOR, THRASHING_SHARE

_HEIGHT = 3.7
_MOST_LABELS = 8
_MOST_LOOKS = 24
"""Operations that can be told apart; of more, those that stand out are, and the rest is grey."""
_OTHER = Look(GREY, "o")
_LABEL_HEIGHT = 0.065
"""Of the height of the axes."""


def panels(results: Results) -> list[Panel]:
    """Two a mode, where the figures are there: peak RSS, and the collector's share of the time."""
    found = []
    for group in groups(results):
        if any(peak_mib(row) is not None for row in group.rows):
            found.append(_panel("score against peak RSS", group, bloated(group.rows), _draw_peaks))
        if any(share_in_collector(row) is not None for row in group.rows):
            found.append(_panel("score against gc.time", group, stopped(group.rows), _draw_shares))
    return found


def bloated(rows: Sequence[Row]) -> list[Row]:
    """Rows that peak far above the lowest of them, by the bounds that `words` has."""
    peaks = [peak for row in rows if (peak := peak_mib(row)) is not None]
    usual = min(peaks, default=0.0)
    bound = max(usual * EXCESS_FACTOR, usual + EXCESS_BYTES / MIB)
    return [row for row in rows if (peak_mib(row) or 0.0) >= bound]


def stopped(rows: Sequence[Row]) -> list[Row]:
    """Rows whose time in the collector a program would notice, likewise."""
    return [row for row in rows if (share_in_collector(row) or 0.0) >= THRASHING_SHARE]


def _panel(
    title: str,
    group: Group,
    marked: Sequence[Row],
    draw: Callable[[Any, Group, Sequence[Row]], None],
) -> Panel:
    names = ", ".join(label(row) for row in marked)
    entries = _entries(group, marked)
    return Panel(
        titled(group.mode, title),
        lambda axes: draw(axes, group, marked),
        f"far above the others: {names}" if names else "no benchmark stands out",
        _HEIGHT + 0.09 * len(entries),
    )


def _entries(group: Group, marked: Sequence[Row]) -> dict[str, Look]:
    """The legend: what an operation looks like."""
    operations = list(dict.fromkeys(row.operation for row in group.rows))
    if len(operations) > _MOST_LOOKS:
        operations = list(dict.fromkeys(row.operation for row in marked))[:_MOST_LOOKS]
    return looks(operations)


def _draw_peaks(axes: Any, group: Group, marked: Sequence[Row]) -> None:
    points = _scatter(axes, group, peak_mib, marked)
    logarithmic(axes.yaxis, [y for _, _, y in points], base=2)
    axes.set_ylabel("peak RSS, MiB (logarithmic)")
    _label(axes, points, marked)


def _draw_shares(axes: Any, group: Group, marked: Sequence[Row]) -> None:
    points = _scatter(axes, group, lambda row: _percent(share_in_collector(row)), marked)
    axes.set_ylim(-4, 104)
    axes.set_ylabel("gc.time, % of the measured time")
    _label(axes, points, marked)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _scatter(
    axes: Any, group: Group, reads: Callable[[Row], float | None], marked: Sequence[Row]
) -> list[tuple[Row, float, float]]:
    scale = group.scale
    entries = _entries(group, marked)
    points = [
        (one.row, one.value / scale.factor, y)
        for one in group.scored
        if (y := reads(one.row)) is not None
    ]
    logarithmic(axes.xaxis, [x for _, x, _ in points])
    for row, x, y in points:
        look = entries.get(row.operation, _OTHER)
        axes.plot([x], [y], color=look.colour, marker=look.shape, markersize=8, alpha=0.85)
    axes.set_xlabel(f"score, {scale.symbol} (logarithmic)")
    legend(axes, entries)
    return points


def _label(axes: Any, points: Sequence[tuple[Row, float, float]], marked: Sequence[Row]) -> None:
    """Names beside the marked ones, from the top down, none over another."""
    worst = sorted((p for p in points if p[0] in marked), key=lambda p: -p[2])[:_MOST_LABELS]
    to_axes = axes.transData + axes.transAxes.inverted()
    above = 2.0
    for row, x, y in worst:
        across, up = to_axes.transform((x, y))
        above = min(up, above - _LABEL_HEIGHT)
        left = across > 0.5
        axes.annotate(
            label(row),
            (x, y),
            xytext=(across + (-0.03 if left else 0.03), above),
            textcoords="axes fraction",
            ha="right" if left else "left",
            va="center",
            color=INK,
            fontsize=8,
        )
