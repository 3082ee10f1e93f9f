"""A comparison for programs: CSV and JSON, exact, in the units of the files."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

from results.compare.comparison import (
    Change,
    Comparison,
    Selection,
    Side,
    geometric_mean,
    metrics_of,
)
from results.compare.inference import ALPHA, CONFIDENCE

_CSV_CELL = ("before_file", "after_file", "benchmark", "mode")
_CSV_FIGURE = (
    *("metric", "unit", "better", "before", "after", "change", "low", "high", "p", "p_corrected"),
    *("verdict", "processes_before", "processes_after", "note"),
)


def csv_text(comparisons: Sequence[Comparison], selection: Selection) -> str:
    """A line a change under one header. Changes are relative: 0.05 is 5 %."""
    lines = [(c, change) for c in comparisons for change in c.changes if selection.shows(change)]
    params = sorted({name for _, change in lines for name in change.row.params})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*_CSV_CELL, *params, *_CSV_FIGURE))
    for comparison, change in lines:
        row = change.row
        files = (comparison.before.path, comparison.after.path)
        values = [row.params.get(name, "") for name in params]
        writer.writerow((*files, row.operation, row.mode, *values, *_csv_figure(change)))
    return out.getvalue()


def _csv_figure(change: Change) -> Iterable[object]:
    metric = change.metric
    low, high = change.interval or ("", "")
    yield from (metric.name, change.unit, metric.better, *map(_csv_side, change.sides))
    for number in (change.change, low, high, change.p, change.p_corrected):
        yield "" if number is None else number
    counts = [side.sample.count if side.sample else 0 for side in change.sides]
    yield from (change.verdict.value, *counts, change.note)


def _csv_side(side: Side) -> object:
    return side.sample.mean if side.sample else side.missing


def json_text(
    comparisons: Sequence[Comparison], selection: Selection, allowed: Iterable[str]
) -> str:
    """All of it; `change` is null where something came from nothing."""
    names = set(allowed)
    whole = {
        "alpha": ALPHA,
        "confidence": CONFIDENCE,
        "comparisons": [_comparison(c, selection, names) for c in comparisons],
    }
    return json.dumps(whole, indent=2, allow_nan=False) + "\n"


def _comparison(comparison: Comparison, selection: Selection, allowed: set[str]) -> dict[str, Any]:
    return {
        "before": str(comparison.before.path),
        "after": str(comparison.after.path),
        "differences": [
            {
                "name": found.name,
                "before": found.before,
                "after": found.after,
                "rows": list(found.rows),
                "allowed": found.name in allowed,
            }
            for found in comparison.differences
        ],
        "only_before": list(comparison.only_before),
        "only_after": list(comparison.only_after),
        "tests": comparison.tests,
        "geometric_means": _geometric_means(comparison),
        "changes": [_change(c) for c in comparison.changes if selection.shows(c)],
    }


def _geometric_means(comparison: Comparison) -> dict[str, Any]:
    found = {}
    for name in metrics_of(comparison.changes):
        mean = geometric_mean(c for c in comparison.changes if c.metric.name == name)
        found[name] = {"ratio": mean[0], "rows": mean[1]} if mean else None
    return found


def _change(change: Change) -> dict[str, Any]:
    metric = change.metric
    return {
        "name": change.row.name,
        "operation": change.row.operation,
        "mode": change.row.mode,
        "params": dict(change.row.params),
        "metric": metric.name,
        "unit": change.unit,
        "better": metric.better,
        "before": _side(change.before),
        "after": _side(change.after),
        "change": change.change,
        "interval": list(change.interval) if change.interval else None,
        "p": change.p,
        "p_corrected": change.p_corrected,
        "resolution": change.resolution,
        "verdict": change.verdict.value,
        "note": change.note,
    }


def _side(side: Side) -> dict[str, Any]:
    if side.series is None or side.sample is None:
        return {"mean": None, "reason": side.missing}
    return {"mean": side.sample.mean, "processes": list(side.series.means)}
