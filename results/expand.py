"""A score with its figures -> one more benchmark a metric, so that pyperf can compare them.

pyperf takes every larger value for slower, refuses values that are not above 0, and knows the
units second, byte and integer. So metrics that are better when higher stay out, as do those with a
figure that was not measurable; a figure under its floor is stored as the floor, and what is neither
a time nor a size is an integer with its real unit in the metadata. These benchmarks are for pyperf
alone; our own tools read the exact figures.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyperf

from results import pauses, samples, schema, timeline
from results.errors import ResultsError
from results.names import format_metric_name
from results.schema import Figures, Metric

_PYPERF_UNITS = {"s": "second", "s/op": "second", "bytes": "byte", "bytes/op": "byte"}

# For a metric without a floor of its own, whose zero pyperf would refuse. A share of a thousandth
# is 100 us, the floor of times in the collector, in the 100 ms of pyperf's shortest value.
_FLOOR_OF_RATIO = 1e-3
_FLOOR_OF_OTHERS = 1e-9

# Facts about the measuring of the score, which took place once: with a date or a duration in
# these runs, too, pyperf would add the times up.
_OF_THE_SCORE = ("date", "duration", "mem_max_rss", "load_avg_1min", "uptime", "runnable_threads")
_SERIES = (samples.SAMPLES_KEY, pauses.PAUSES_KEY, timeline.TIMELINE_KEY)
_CALIBRATION = (
    "calibrate_loops",
    "recalibrate_loops",
    "calibrate_warmups",
    "recalibrate_warmups",
)


def tagged(benchmark: pyperf.Benchmark) -> pyperf.Benchmark:
    """The score with the tag and the schema version in every run: one without drops the tag.

    Tags that somebody else gave it stay.
    """
    runs = []
    for index, run in enumerate(benchmark.get_runs(), 1):
        metadata = run.get_metadata()
        schema.check_schema(metadata, f"benchmark {benchmark.get_name()!r}, run {index}")
        tags = list(dict.fromkeys([schema.SCORE, *metadata.get("tags", ())]))
        added = {"tags": tags, schema.SCHEMA_KEY: schema.SCHEMA}
        runs.append(_run(run.values, run.warmups, metadata | added))
    return pyperf.Benchmark(runs)


def expand(benchmark: pyperf.Benchmark) -> list[pyperf.Benchmark]:
    """The benchmarks of the metrics of a score, each with as many runs and values as the score.

    A percentile has one value a process. ResultsError, with benchmark and run, for figures that
    don't fit the values.
    """
    place = f"benchmark {benchmark.get_name()!r}"
    runs = [
        (run.get_metadata(), len(run.values), f"{place}, run {index}")
        for index, run in enumerate(benchmark.get_runs(), 1)
        if run.values
    ]
    figures = schema.join([schema.figures_of_run(*run) for run in runs], place)
    percentiles = samples.percentiles([samples.of_run(found, place) for found, _, place in runs])
    return [
        _metric_benchmark(benchmark, found)
        for found in (percentiles | figures).values()
        if found.unsupported is None and not found.missing and found.metric.better == "lower"
    ]


def _metric_benchmark(score: pyperf.Benchmark, figures: Figures) -> pyperf.Benchmark:
    shared = _shared_metadata(score, figures.metric)
    processes = iter(figures.measured)
    runs = []
    for run in score.get_runs():
        metadata = shared | _loops(run, figures.metric)
        if run.values:
            operations = _operations(run) if figures.metric.extensive else 1
            runs.append(_run(_stored(next(processes), figures.metric, operations), None, metadata))
        else:
            # Nothing was measured while it calibrated, and pyperf wants a run to hold something.
            runs.append(_run((), ((metadata["loops"], 0),), metadata))
    return pyperf.Benchmark(runs)


def _shared_metadata(score: pyperf.Benchmark, metric: Metric) -> dict[str, Any]:
    metadata = {
        key: value
        for key, value in score.get_metadata().items()
        if key not in (*_OF_THE_SCORE, *_CALIBRATION, *_SERIES)
        and not key.startswith(schema.METRICS_KEY)
    }
    per_operation = "/op" if metric.extensive else ""
    return metadata | {
        "name": format_metric_name(score.get_name(), metric.name),
        "unit": _PYPERF_UNITS.get(metric.unit, "integer"),
        "tags": [metric.name],
        "duration": 0.0,
        schema.SCHEMA_KEY: schema.SCHEMA,
        schema.METRIC_KEY: metric.name,
        schema.UNIT_KEY: metric.unit + per_operation,
    }


def _loops(run: pyperf.Run, metric: Metric) -> dict[str, Any]:
    """The score's loops for what is per operation. A peak is of the whole value, not of a loop:
    pyperf, which multiplies by the loops for raw values, must find 1."""
    kept = {key: value for key, value in run.get_metadata().items() if key in _CALIBRATION}
    if metric.extensive or metric.unit.endswith("/op"):
        return kept | {
            "loops": run.get_loops(),
            "inner_loops": _operations(run) // run.get_loops(),
        }
    return kept | {"loops": 1, "inner_loops": 1}


def _operations(run: pyperf.Run) -> int:
    """Of all threads: a total is of the whole process."""
    return int(run.get_total_loops() * run.get_metadata().get(schema.THREADS_KEY, 1))


def _stored(values: Sequence[float], metric: Metric, operations: int) -> tuple[float, ...]:
    floor = metric.floor or (_FLOOR_OF_RATIO if metric.unit == "ratio" else _FLOOR_OF_OTHERS)
    return tuple(max(value, floor) / operations for value in values)


def _run(values: Sequence[float], warmups: Any, metadata: Mapping[str, Any]) -> pyperf.Run:
    try:
        return pyperf.Run(values, warmups=warmups, metadata=metadata, collect_metadata=False)
    except ValueError as error:
        raise ResultsError(f"benchmark {metadata.get('name')!r}: {error}") from error
