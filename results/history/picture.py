"""A figure over commits as a picture: a panel a row, the changes of level marked."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from results.compare.inference import Sample, margin
from results.errors import ResultsError
from results.history.changes import HOW_TO_INSTALL, Shift
from results.history.points import Key, Point
from results.history.text import Shifts, scale_of
from results.units import Scale

FORMATS = (".png", ".svg")
_COLUMNS = 2
_PANEL = (6.4, 2.6)
"""Inches."""
_AXIS = "commit, in the order of measuring; bars: 95 % interval of the mean over processes"
_MOST_PANELS = 60
_MOST_LABELS = 8
# Of the palette of Okabe and Ito, which the colour-blind can tell apart.
_LINE, _MARK = "#0072B2", "#D55E00"


def check_picture(path: Path) -> None:
    """ResultsError for a picture that can't be made, before a thousand files are read for it."""
    if path.suffix not in FORMATS:
        raise ResultsError(f"{path}: expected a name that ends in {' or '.join(FORMATS)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ResultsError(f"a picture needs matplotlib: {HOW_TO_INSTALL}") from None


def picture(points: Sequence[Point], keys: Sequence[Key], shifts: Shifts, suffix: str) -> bytes:
    """The content of the file, by its suffix. ResultsError for more panels than can be read."""
    from matplotlib.figure import Figure

    if len(keys) > _MOST_PANELS:
        raise ResultsError(
            f"expected at most {_MOST_PANELS} figures in a picture, found {len(keys)}; choose with"
            " --only and --metric"
        )
    columns = min(_COLUMNS, len(keys))
    lines = -(-len(keys) // columns)
    figure = Figure(figsize=(_PANEL[0] * columns, _PANEL[1] * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).flat
    for panel, key in zip(panels, keys, strict=False):
        _draw(panel, points, key, shifts.get(key, ()))
    for panel in list(panels)[len(keys) :]:
        panel.set_axis_off()
    figure.supxlabel(_AXIS, fontsize=9)
    content = io.BytesIO()
    # Without a date in it, the same history makes the same file.
    metadata = {"Date": None} if suffix == ".svg" else {}
    figure.savefig(content, format=suffix.removeprefix("."), dpi=120, metadata=metadata)
    return content.getvalue()


def _draw(panel: Any, points: Sequence[Point], key: Key, shifts: Sequence[Shift]) -> None:
    scale = scale_of(points, key)
    places = [place for place, point in enumerate(points) if key in point.figures]
    values, errors = _values([points[place] for place in places], key, scale)
    panel.errorbar(places, values, yerr=errors, color=_LINE, marker="o", markersize=3, capsize=2)
    ends = [shift.index for shift in shifts] + [len(places)]
    for shift, end in zip(shifts, ends[1:], strict=True):
        panel.axvline(places[shift.index] - 0.5, color=_MARK, linestyle="--")
        level = shift.after / scale.factor
        panel.hlines(level, places[shift.index] - 0.5, places[end - 1] + 0.5, color=_MARK)
    row, metric = key
    panel.set_title(row if metric == "score" else f"{row}:{metric}", fontsize=9)
    panel.set_ylabel(f"{metric}, {scale.symbol}", fontsize=8)
    step = -(-len(points) // _MOST_LABELS)
    shown = range(0, len(points), step)
    panel.set_xticks(shown, [points[place].label for place in shown], rotation=30, ha="right")
    panel.tick_params(labelsize=7)
    panel.set_xlim(-0.5, len(points) - 0.5)
    panel.set_ylim(bottom=0)
    panel.grid(axis="y", alpha=0.3)


def _values(points: Sequence[Point], key: Key, scale: Scale) -> tuple[list[float], list[float]]:
    """The means and the half-widths of their intervals, in the unit of the axis."""
    values, errors = [], []
    for point in points:
        sample = Sample.of(point.figures[key].means)
        values.append(sample.mean / scale.factor)
        errors.append((margin(sample, 0.95) or 0.0) / scale.factor)
    return values, errors
