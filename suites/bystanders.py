"""What a row takes from bystanders: the stress threads' rate beside the baseline row over theirs
beside this row. Two rows of one run make it, so it is worked out when all of them are measured."""

import json
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import pyperf

from results.model import BASELINE
from results.schema import METRICS_KEY
from suites.cells import Cell
from suites.parameters import that_matter

RATE, SLOWDOWN = "bystander.rate", "bystander.slowdown"
WITHOUT_BASELINE = f"needs the row {BASELINE} in the same mode and run"


def slowdowns(usual_rate: float, rates: Sequence[float | None]) -> list[float | None]:
    """A slowdown for each rate; not measurable where the stress threads did nothing at all."""
    return [usual_rate / rate if rate and usual_rate else None for rate in rates]


def with_slowdowns(
    cells: Sequence[Cell], benchmarks: Sequence[pyperf.Benchmark]
) -> list[pyperf.Benchmark]:
    """The benchmarks of these cells, with the slowdown wherever there is a rate."""
    measured = list(zip(cells, benchmarks, strict=True))
    baselines = [
        (cell, fmean(rates))
        for cell, benchmark in measured
        if cell.row.name == BASELINE and (rates := _rates(benchmark))
    ]
    return [_extended(benchmark, _usual_rate(cell, baselines)) for cell, benchmark in measured]


def _usual_rate(cell: Cell, baselines: Sequence[tuple[Cell, float]]) -> float | None:
    """The rate beside the baseline that was measured under the same stress."""
    for baseline, rate in baselines:
        parameters = that_matter(baseline.row, baseline.mode)
        if cell.mode is baseline.mode and all(p.of(cell) == p.of(baseline) for p in parameters):
            return rate
    return None


def _rates(benchmark: pyperf.Benchmark) -> list[float]:
    found = (_metrics(run).get(RATE, {}) for run in benchmark.get_runs())
    return [rate for entry in found for rate in entry.get("values", ()) if rate is not None]


def _metrics(run: pyperf.Run) -> dict[str, Any]:
    return dict(json.loads(run.get_metadata().get(METRICS_KEY, "{}")))


def _extended(benchmark: pyperf.Benchmark, usual_rate: float | None) -> pyperf.Benchmark:
    if not any(RATE in _metrics(run) for run in benchmark.get_runs()):
        return benchmark
    return pyperf.Benchmark([_extended_run(run, usual_rate) for run in benchmark.get_runs()])


def _extended_run(run: pyperf.Run, usual_rate: float | None) -> pyperf.Run:
    metrics = _metrics(run)
    if RATE not in metrics:
        return run
    if usual_rate is None:
        metrics[SLOWDOWN] = {"unsupported": WITHOUT_BASELINE}
    else:
        values = slowdowns(usual_rate, metrics[RATE]["values"])
        metrics[SLOWDOWN] = {"unit": "ratio", "agg": "mean", "better": "lower", "floor": 0}
        metrics[SLOWDOWN]["values"] = values
    metadata = run.get_metadata() | {METRICS_KEY: json.dumps(metrics, allow_nan=False)}
    return pyperf.Run(run.values, warmups=run.warmups, metadata=metadata, collect_metadata=False)
