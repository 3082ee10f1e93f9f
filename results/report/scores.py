"""Scores by mode, with the intervals of their means; and those of several files side by side."""

from collections.abc import Sequence
from typing import Any

from results.findings import figure
from results.model import Results
from results.report.axes import legend, logarithmic, named
from results.report.panel import Panel
from results.report.series import Group, groups, label, scale_of, titled
from results.report.style import COLOURS, Look, looks
from results.units import Scale

_LINE = 0.27
"""Inches a row takes."""
_FRAME = 1.35
_WALL = Look(COLOURS[0], "o")
_CPU = Look(COLOURS[1], "D")
_TIME = {"s/op": "time per operation", "bytes": "size"}


def panels(results: Results) -> list[Panel]:
    """One a mode. Times are of the wall, and of the CPU beside it where there are any."""
    found = []
    for group in groups(results):
        best = min(group.scored, key=lambda one: one.value)
        worst = max(group.scored, key=lambda one: one.value)
        found.append(
            Panel(
                titled(group.mode, "score"),
                lambda axes, group=group: _draw(axes, group),  # type: ignore[misc]
                f"from {label(best.row)}, {_said(best.value, group.scale)}, to"
                f" {label(worst.row)}, {_said(worst.value, group.scale)}",
                _FRAME + _LINE * len(group.scored),
            )
        )
    return found


def side_by_side(files: Sequence[Results], names: Sequence[str]) -> list[Panel]:
    """One a mode, with a mark a file in every row."""
    by_mode: dict[tuple[str, str], dict[int, Group]] = {}
    for number, results in enumerate(files):
        for group in groups(results):
            by_mode.setdefault((group.mode, group.unit), {})[number] = group
    found = []
    for (mode, _), members in by_mode.items():
        rows = {label(row): None for group in members.values() for row in group.rows}
        found.append(
            Panel(
                titled(mode, "score by file"),
                lambda axes, members=members, rows=list(rows): _draw_files(  # type: ignore[misc]
                    axes, members, rows, names
                ),
                f"{len(rows)} benchmarks of {len(members)} files",
                _FRAME + 0.2 * len(files) + _LINE * 1.3 * len(rows),
            )
        )
    return found


def _draw(axes: Any, group: Group) -> None:
    scale = group.scale
    logarithmic(axes.xaxis, _extent(group, scale))
    for place, one in enumerate(group.scored):
        cpu = figure(one.row, "score.cpu")
        if cpu:
            _mark(axes, cpu / scale.factor, 0.0, place + 0.22, _CPU)
        _mark(axes, one.value / scale.factor, one.error / scale.factor, place, _WALL)
    named(axes, [label(row) for row in group.rows])
    axes.set_xlabel(_axis_label(group.unit, scale))
    axes.set_ylabel("benchmark")
    if any(figure(row, "score.cpu") for row in group.rows):
        legend(axes, {"score: wall time": _WALL, "score.cpu: CPU time": _CPU})


def _draw_files(
    axes: Any, members: dict[int, Group], rows: Sequence[str], names: Sequence[str]
) -> None:
    unit = next(iter(members.values())).unit
    scale = scale_of(unit, [one.value for group in members.values() for one in group.scored])
    every = [value for group in members.values() for value in _extent(group, scale, cpu=False)]
    logarithmic(axes.xaxis, every)
    entries = looks(names)
    step = 0.7 / max(len(names), 2)
    for number, group in members.items():
        offset = (number - (len(names) - 1) / 2) * step
        for one in group.scored:
            place = rows.index(label(one.row)) + offset
            value, error = one.value / scale.factor, one.error / scale.factor
            _mark(axes, value, error, place, entries[names[number]])
    named(axes, rows)
    axes.set_xlabel(_axis_label(unit, scale))
    axes.set_ylabel("benchmark")
    legend(axes, {names[number]: entries[names[number]] for number in members})


def _mark(axes: Any, value: float, error: float, place: float, look: Look) -> None:
    # An interval that reaches below zero has no place on a logarithmic axis: it ends at the edge.
    low = min(error, value * 0.999)
    axes.errorbar(
        [value],
        [place],
        xerr=[[low], [error]] if error else None,
        color=look.colour,
        marker=look.shape,
        markersize=5,
        capsize=3,
        linestyle="none",
    )


def _extent(group: Group, scale: Scale, cpu: bool = True) -> list[float]:
    """The numbers that the axis must reach, those of means and not of what is vague about them."""
    times = [figure(row, "score.cpu") for row in group.rows] if cpu else []
    values = [one.value for one in group.scored]
    ends = [one.value + one.error for one in group.scored]
    return [value / scale.factor for value in (*values, *ends, *filter(None, times))]


def _axis_label(unit: str, scale: Scale) -> str:
    return f"{_TIME.get(unit, 'score')}, {scale.symbol} (logarithmic)"


def _said(value: float, scale: Scale) -> str:
    return f"{scale.format(value)} {scale.symbol}"
