"""Axes: scales, ticks that read as plain numbers, names in place of numbers, legends."""

import math
from collections.abc import Sequence
from typing import Any

from results.report.style import Look

_ROOM = 0.08
"""Of a power: a mark in the middle of the edge would be cut through."""
_BELOW = -0.46
"""Inches from the axes to their legend: ticks and label are between."""


def plain(value: float, _: object = None) -> str:
    """A tick as one writes it: 0.01, 250, 10,000."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def logarithmic(axis: Any, values: Sequence[float], base: int = 10) -> None:
    """A logarithmic axis from the power of the base below the values to the one above."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    low, high = (math.log(edge, base) for edge in (min(values), max(values)))
    first = math.floor(low - _ROOM)
    last = max(math.ceil(high + _ROOM), first + 1)
    if axis.axis_name == "x":
        axis.axes.set_xscale("log", base=base)
        axis.axes.set_xlim(base**first, base**last)
    else:
        axis.axes.set_yscale("log", base=base)
        axis.axes.set_ylim(base**first, base**last)
    axis.set_major_formatter(FuncFormatter(plain))
    axis.set_minor_locator(NullLocator())


def named(axes: Any, names: Sequence[str]) -> None:
    """Names down the left side, the first one on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)


def legend(axes: Any, entries: dict[str, Look], line: bool = False) -> None:
    """Below the axes: what stands for what; nothing without entries."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    handles = [
        Line2D([], [], color=look.colour, marker=look.shape, linestyle="-" if line else "none")
        for look in entries.values()
    ]
    if not entries:
        return
    below = ScaledTranslation(0, _BELOW, axes.figure.dpi_scale_trans)
    # Matplotlib leaves out what begins with an underscore.
    labels = [f" {name}" if name.startswith("_") else name for name in entries]
    axes.legend(
        handles,
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=axes.transAxes + below,
        borderaxespad=0.0,
        ncols=2,
        handletextpad=0.3,
        columnspacing=1.0,
    )
