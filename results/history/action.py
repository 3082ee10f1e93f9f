"""For github-action-benchmark: what its tool `customSmallerIsBetter` reads, of the newest file.

The action keeps the history itself and gets one run at a time: a list of objects with `name`,
`unit` and `value`, and, to be shown, `range` and `extra`.
"""

import json
from collections.abc import Sequence

from results.compare.inference import Sample, margin
from results.errors import ResultsError
from results.history.points import Point
from results.names import format_metric_name
from results.schema import SCORE
from results.statistics import CONFIDENCE


def entries(points: Sequence[Point]) -> str:
    """The text of the file. Metrics that are better when higher are left out: the action takes one
    direction a file. ResultsError if nothing is left."""
    newest = points[-1]
    found = []
    for (row, metric), series in newest.figures.items():
        if series.metric.better != "lower":
            continue
        sample = Sample.of(series.means)
        error = margin(sample, CONFIDENCE)
        entry = {
            "name": row if metric == SCORE else format_metric_name(row, metric),
            "unit": series.unit,
            "value": sample.mean,
            "extra": f"{len(series.means)} processes, {newest.label}",
        }
        if error is not None:
            entry["range"] = f"± {error:.3g}"
        found.append(entry)
    if not found:
        raise ResultsError(f"{newest.path}: there is no figure that is better when lower")
    return json.dumps(found, indent=2, allow_nan=False) + "\n"
