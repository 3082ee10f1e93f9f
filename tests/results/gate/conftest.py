"""Files for the gate: rows of six processes that differ by a per cent or so, and recorded series
with runs drawn from their processes."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyperf
import pytest

from results.files import read
from results.gate.judge import Judgement, judge
from results.gate.limits import Limits
from results.gate.noise import Floors
from results.model import Results, Row
from results.schema import SCORE, Figures, Metric

SPREAD = (0.99, 1.0, 1.01, 0.995, 1.005, 1.0)


@pytest.fixture
def row(make_score: Callable[..., pyperf.Benchmark]) -> Callable[..., pyperf.Benchmark]:
    def make(
        name: str = "a[NONE]",
        seconds: float = 1e-6,
        spread: Sequence[float] = SPREAD,
        **metrics: float,
    ) -> pyperf.Benchmark:
        figures = {
            name.replace("_", "."): [[value * by] for by in spread] if value else value
            for name, value in metrics.items()
        }
        by_process = [[seconds * by] for by in spread]
        return make_score(name, by_process=by_process, metrics=figures, loops=1024)

    return make


@pytest.fixture
def files(file_of: Callable[..., Path]) -> Callable[..., tuple[Results, Results]]:
    """What is read of the scores before and after."""

    def make(before: Any, after: Any) -> tuple[Results, Results]:
        both = [scores if isinstance(scores, list) else [scores] for scores in (before, after)]
        paths = [file_of(f"{n}.json", *s) for n, s in zip(("base", "head"), both, strict=True)]
        return read(paths[0]), read(paths[1])

    return make


@pytest.fixture
def judged(files: Callable[..., tuple[Results, Results]]) -> Callable[..., Judgement]:
    def make(
        before: Any, after: Any, limits: Limits | None = None, floors: Floors | None = None
    ) -> Judgement:
        return judge(*files(before, after), limits or Limits({}, {}), floors)

    return make


FOLDER = Path(__file__).parent


def read_series(name: str) -> Results:
    """A file as `record_series.py` writes it, as one of many processes with a value each."""
    path = FOLDER / name
    data = json.loads(path.read_text())
    rows = tuple(_row(entry, data["provenance"]) for entry in data["rows"])
    return Results(path, rows, data["provenance"])


def draw(
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


@pytest.fixture
def recorded() -> Callable[[str], Results]:
    return read_series


@pytest.fixture
def drawn() -> Callable[..., tuple[Results, Results]]:
    return draw
