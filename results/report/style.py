"""How charts look: colours that can be told apart by everybody, on light and on dark paper.

The colours are those of Okabe and Ito ("Color Universal Design", 2008) but for yellow, which light
paper swallows, and black; a shape goes with each, so that colour alone never tells.
"""

import importlib.util
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from results.errors import ResultsError

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*")

INK = "#010203"
"""Stands for the colour of text and axes; in the page it becomes the page's own."""
GREY = "#808080"

_SETTINGS: dict[str, Any] = {
    # Names of benchmarks may hold a dollar sign, and are no formulas.
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "grid.color": GREY,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "path.simplify": True,
}


@dataclass(frozen=True)
class Look:
    """A colour and the shape that goes with it."""

    colour: str
    shape: str


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A look for each name, in order; of 24 names no two have the same."""
    return {
        name: Look(COLOURS[index % len(COLOURS)], SHAPES[index % len(SHAPES)])
        for index, name in enumerate(dict.fromkeys(names))
    }


def require_matplotlib() -> None:
    """ResultsError with what to do where Matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ResultsError("charts need matplotlib: pip install 'scopestress[report]'")


@contextmanager
def styled(salt: str, text_as_text: bool) -> Iterator[None]:
    """Inside, charts have this look; `salt` makes the ids in an SVG the chart's own, and its text
    stays text, or becomes outlines that look the same wherever there are other fonts."""
    from matplotlib import rc_context

    fonttype = "none" if text_as_text else "path"
    settings: Any = {**_SETTINGS, "svg.hashsalt": salt, "svg.fonttype": fonttype}
    with rc_context(settings), warnings.catch_warnings():
        # A sign that this font lacks: in an SVG the reader's font draws it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield
