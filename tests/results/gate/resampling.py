"""Recorded series, and runs drawn from their processes."""

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from results.model import Results, Row
from results.schema import SCORE, Figures, Metric

FOLDER = Path(__file__).parent


def recorded(name: str) -> Results:
    """A file as `record_series.py` writes it, as one of many processes with a value each."""
    path = FOLDER / name
    data = json.loads(path.read_text())
    rows = tuple(_row(entry, data["provenance"]) for entry in data["rows"])
    return Results(path, rows, data["provenance"])


def drawn(
    series: Results, processes: int, rng: random.Random, slower: Mapping[str, float] | None = None
) -> tuple[Results, Results]:
    """Two runs of so many processes each, drawn row by row: no process twice if there are enough,
    else with replacement.

    `slower`: rows by name whose operations take that many times as long in the second run, by the
    clock and by the CPU.
    """
    before, after = [], []
    for row in series.rows:
        count = len(row.loops)
        if 2 * processes <= count:
            picked = rng.sample(range(count), 2 * processes)
        else:
            picked = rng.choices(range(count), k=2 * processes)
        before.append(_picked(row, picked[:processes]))
        factor = (slower or {}).get(row.name, 1.0)
        after.append(_slowed(_picked(row, picked[processes:]), factor))
    return replace(series, rows=tuple(before)), replace(series, rows=tuple(after))


def _row(entry: Mapping[str, Any], provenance: Mapping[str, Any]) -> Row:
    count = len(entry["score"])
    metrics = {
        name: Figures(Metric(name, *kind), tuple((value,) for value in means))
        for name, (*kind, means) in entry["metrics"].items()
    }
    score = Figures(Metric(SCORE, "s/op"), tuple((value,) for value in entry["score"]))
    kept = {key: entry[key] for key in ("name", "operation", "mode", "params", "inner_loops")}
    loops = (entry["loops"],) * count
    return Row(**kept, score=score, metrics=metrics, loops=loops, metadata=provenance)


def _picked(row: Row, indices: list[int]) -> Row:
    def of(figures: Figures) -> Figures:
        return replace(figures, by_process=tuple(figures.by_process[i] for i in indices))

    metrics = {name: of(figures) for name, figures in row.metrics.items()}
    loops = tuple(row.loops[i] for i in indices)
    return replace(row, score=of(row.score), metrics=metrics, loops=loops)


def _slowed(row: Row, factor: float) -> Row:
    def by(figures: Figures) -> Figures:
        slowed = tuple(tuple(v * factor for v in p if v is not None) for p in figures.by_process)
        return replace(figures, by_process=slowed)

    if factor == 1:
        return row
    cpu = {name: by(figures) for name, figures in row.metrics.items() if name == "score.cpu"}
    return replace(row, score=by(row.score), metrics={**row.metrics, **cpu})
