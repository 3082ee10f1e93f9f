"""One pair of axes with its titles, and what becomes of it: SVG for the page, or a picture."""

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from results.report.style import INK, styled

Draw = Callable[[Any], None]

WIDTH = 4.7
"""Inches: what a phone shows with its letters still legible."""
_MARGINS = (0.68, 0.5, 0.12, 0.28)
"""Inches beside the axes of a plain panel: left, bottom, right, top."""
_COLUMNS = 2
_DOTS_PER_INCH = 144

# Parts of an SVG that would change the page around it, or say nothing.
_UNUSED = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"<style.*?</style>\s*",
        r"<!--.*?-->\s*",
        r"<metadata>.*?</metadata>\s*",
        r"<defs>\s*</defs>\s*",
    )
)
# A date would make the same results another file; the rest says nothing about them.
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


@dataclass(frozen=True)
class Panel:
    """`draw` puts it on axes of Matplotlib, which have the title already; `height` in inches.

    `summary` tells those who can't see it what is to be seen. `plain`: there is nothing outside of
    the axes but ticks and labels, so no place has to be sought for it, which takes half of the
    time.
    """

    title: str
    draw: Draw
    summary: str
    height: float = 3.0
    plain: bool = False


def svg(panel: Panel, name: str) -> str:
    """An SVG element for a page, in the page's ink. `name` is its own within the page."""
    from matplotlib.figure import Figure

    content = io.StringIO()
    with styled(name, text_as_text=True):
        layout: Any = None if panel.plain else "constrained"
        figure = Figure(figsize=(WIDTH, panel.height), layout=layout)
        if panel.plain:
            figure.subplots_adjust(*_fractions(panel.height))
        _put(panel, figure.subplots())
        figure.savefig(content, format="svg", transparent=True, metadata=_NO_METADATA)
    return _for_a_page(content.getvalue(), panel)


def picture(panels: Sequence[Panel], format: str, source: str = "") -> bytes:
    """The content of a PNG or SVG file, on white; `source` is kept in its metadata."""
    from matplotlib.figure import Figure

    columns = min(_COLUMNS, len(panels))
    lines = [panels[i : i + columns] for i in range(0, len(panels), columns)]
    heights = [max(panel.height for panel in line) for line in lines]
    content = io.BytesIO()
    with styled("picture", text_as_text=False):
        figure = Figure(figsize=(WIDTH * columns, sum(heights)), layout="constrained")
        axes = figure.subplots(len(lines), columns, squeeze=False, height_ratios=heights)
        for panel, place in zip(panels, axes.flat, strict=False):
            _put(panel, place)
        for place in axes.flat[len(panels) :]:
            place.set_axis_off()
        key = "Source" if format == "svg" else "Comment"
        metadata = {**(_NO_METADATA if format == "svg" else {}), key: source}
        figure.savefig(content, format=format, dpi=_DOTS_PER_INCH, metadata=metadata)
    return content.getvalue()


def _fractions(height: float) -> tuple[float, float, float, float]:
    """Where the axes of a plain panel begin and end: left, bottom, right, top."""
    left, bottom, right, top = _MARGINS
    return left / WIDTH, bottom / height, 1 - right / WIDTH, 1 - top / height


def _put(panel: Panel, axes: Any) -> None:
    axes.set_title(panel.title)
    panel.draw(axes)


def _for_a_page(text: str, panel: Panel) -> str:
    """The svg element alone. Ids that nothing refers to are in every SVG the same, and go."""
    element = text[text.index("<svg") :]
    for unused in _UNUSED:
        element = unused.sub("", element)
    used = set(re.findall(r"#([\w.-]+)", element))
    element = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", element)
    box = re.search(r'viewBox="[^"]*"', element)
    width = f"max-width: {WIDTH:g}in"
    label = escape(f"{panel.title}: {panel.summary}", quote=True)
    opening = f'<svg {box[0] if box else ""} role="img" aria-label="{label}" style="{width}">'
    return opening + element[element.index(">") + 1 :].replace(INK, "currentColor").strip()
