"""How long the collector stopped the program, and how often: a panel a row."""

import math
from collections import Counter
from typing import Any

from results.histogram import Histogram
from results.model import Results, Row
from results.report.axes import logarithmic
from results.report.panel import Panel
from results.report.series import by_mode, label, titled
from results.report.style import COLOURS
from results.units import brief

_HEIGHT = 2.3
_BINS = 8
"""A decade."""


def panels(results: Results) -> list[Panel]:
    """One a row with collections; all share the range of lengths, so that they can be compared."""
    found = [(row, row.pauses) for row in by_mode(results) if row.pauses and row.pauses.count]
    ends = [edge for _, pauses in found for edge in _ends(pauses)]
    return [
        Panel(
            titled(row.mode, label(row)),
            lambda axes, row=row, pauses=pauses: _draw(axes, pauses, ends),  # type: ignore[misc]
            _summary(row, pauses),
            _HEIGHT,
            plain=True,
        )
        for row, pauses in found
    ]


def _summary(row: Row, pauses: Histogram) -> str:
    usual, longest = pauses.middles()[0], pauses.percentile("1.00") or 0.0
    return (
        f"{pauses.count} collections, the shortest about {brief('s', usual[0])},"
        f" the longest {brief('s', longest)}"
    )


def _ends(pauses: Histogram) -> tuple[float, float]:
    """The shortest and the longest in milliseconds."""
    middles = pauses.middles()
    return _milliseconds(middles[0][0]), _milliseconds(middles[-1][0])


def _milliseconds(seconds: float) -> float:
    return max(1e3 * seconds, 1e-6)


def _draw(axes: Any, pauses: Histogram, ends: list[float]) -> None:
    counts: Counter[int] = Counter()
    for seconds, number in pauses.middles():
        counts[math.floor(_BINS * math.log10(_milliseconds(seconds)))] += number
    edges = [10 ** (place / _BINS) for place in counts]
    widths = [edge * (10 ** (1 / _BINS) - 1) for edge in edges]
    axes.bar(edges, list(counts.values()), widths, align="edge", color=COLOURS[0], linewidth=0)
    logarithmic(axes.xaxis, ends)
    logarithmic(axes.yaxis, [0.6, max(counts.values())])
    axes.set_ylim(bottom=0.6)
    longest = brief("s", pauses.percentile("1.00") or 0.0)
    axes.set_xlabel(f"pause, ms (logarithmic); {pauses.count:,}, longest {longest}")
    axes.set_ylabel("collections")
