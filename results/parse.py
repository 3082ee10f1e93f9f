"""The JSON of a pyperf file -> Results.

pyperf's own loader is not used: its errors don't say where, it takes NaN, and it needs a time
quadratic in the number of benchmarks, of which our files hold ten a row.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from results import pauses, samples, schema, timeline
from results.errors import ResultsError
from results.model import Results, Row
from results.names import parse_name
from results.schema import Figures, Metric

PYPERF_VERSION = "1.0"
"""The version of the format that pyperf has written since its own 1.0."""

_MOST_LOOPS = 2**63 - 1
_SCORE_UNITS = {"second": "s/op", "byte": "bytes", "integer": "1"}


def parse(text: str, path: Path) -> Results:
    """The results in the text of a file; ResultsError with file and place for anything else."""
    data = schema.parse_json(text, str(path))
    _check_format(data, path)
    shared = _metadata(data, str(path))
    rows: dict[str, Row] = {}
    names: set[str] = set()
    for index, benchmark in enumerate(data["benchmarks"], 1):
        place = f"{path}: benchmark {index}"
        metadata = _benchmark_metadata(benchmark, shared, place)
        # The benchmarks of metrics are for pyperf alone and nine tenths of a file: passed over.
        is_metric = schema.METRIC_KEY in metadata
        runs = [] if is_metric else list(_runs(benchmark, metadata, place))
        name = _name(metadata if is_metric else runs[0].metadata, place)
        if name in names:
            raise ResultsError(f"{path}: the benchmark {name!r} is there twice")
        names.add(name)
        if not is_metric:
            rows[name] = _row(name, runs, f"{path}: benchmark {name!r}")
    if not rows:
        raise ResultsError(f"{path}: expected benchmarks with scores, found only metrics of others")
    return Results(path, tuple(rows.values()), common(row.metadata for row in rows.values()))


def common(metadatas: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What all of them hold alike."""
    first, *others = [dict(metadata) for metadata in metadatas]
    for other in others:
        first = {key: value for key, value in first.items() if other.get(key) == value}
    return first


class _Run:
    """A run with the metadata of its benchmark and its file worked in."""

    def __init__(self, data: Mapping[str, Any], metadata: Mapping[str, Any], place: str) -> None:
        self.place = place
        self.metadata = metadata
        self.values = tuple(_list(data, "values", place))
        for value in self.values:
            if not schema.is_number(value) or value <= 0:
                raise ResultsError(f"{place}: expected values above 0, found {value!r:.40}")
        self.loops = self._count("loops")
        self.inner_loops = self._count("inner_loops")
        self._count(schema.THREADS_KEY)

    def _count(self, key: str) -> int:
        count = self.metadata.get(key, 1)
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MOST_LOOPS:
            raise ResultsError(f"{self.place}: expected {key} of 1 or more, found {count!r:.40}")
        return count


def _check_format(data: Any, path: Path) -> None:
    if not isinstance(data, dict) or "benchmarks" not in data or "version" not in data:
        raise ResultsError(f"{path}: expected a file of pyperf, found other JSON")
    if data["version"] != PYPERF_VERSION:
        raise ResultsError(
            f"{path}: expected version {PYPERF_VERSION} of pyperf's format,"
            f" found {data['version']!r} (pyperf convert FILE -o NEW makes it anew)"
        )
    if not _list(data, "benchmarks", str(path)):
        raise ResultsError(f"{path}: there is no benchmark in it")


def _benchmark_metadata(benchmark: Any, shared: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    if not isinstance(benchmark, dict):
        raise ResultsError(f"{place}: expected an object, found {type(benchmark).__name__}")
    return {**shared, **_metadata(benchmark, place)}


def _runs(benchmark: Mapping[str, Any], metadata: Mapping[str, Any], place: str) -> Iterable[_Run]:
    runs = _list(benchmark, "runs", place)
    if not runs:
        raise ResultsError(f"{place}: there is no run in it")
    for index, run in enumerate(runs, 1):
        here = f"{place}, run {index}"
        if not isinstance(run, dict):
            raise ResultsError(f"{here}: expected an object, found {type(run).__name__}")
        yield _Run(run, {**metadata, **_metadata(run, here)}, here)


def _name(metadata: Mapping[str, Any], place: str) -> str:
    name = metadata.get("name")
    if not isinstance(name, str) or not name or not name.isprintable():
        raise ResultsError(f"{place}: expected a name in its metadata, found {name!r}")
    return name


def _row(name: str, runs: Sequence[_Run], place: str) -> Row:
    for run in runs:
        schema.check_schema(run.metadata, run.place)
    measured = [run for run in runs if run.values]
    metadata = common(run.metadata for run in measured or runs)
    operation, mode, params = _parts(name, metadata, place)
    metrics = [schema.figures_of_run(run.metadata, len(run.values), run.place) for run in measured]
    calls = [samples.of_run(run.metadata, run.place) for run in measured]
    return Row(
        name=name,
        operation=operation,
        mode=mode,
        params=params,
        score=Figures(_score_metric(metadata, place), tuple(run.values for run in measured)),
        metrics=samples.percentiles(calls) | schema.join(metrics, place),
        loops=tuple(run.loops for run in measured),
        inner_loops=runs[-1].inner_loops,
        metadata=metadata,
        samples=samples.merged(calls),
        date=min((str(run.metadata["date"]) for run in runs if "date" in run.metadata), default=""),
        pauses=pauses.merged([pauses.of_run(run.metadata, run.place) for run in measured]),
        timelines=timeline.of_runs([(run.metadata, run.place) for run in measured]),
    )


def _parts(name: str, metadata: Mapping[str, Any], place: str) -> tuple[str, str, dict[str, str]]:
    """Operation, mode and parameters. The name of somebody else's benchmark is an operation."""
    try:
        parts = parse_name(name)
    except ValueError:
        return name, "", {}
    if parts.metric is not None:
        return name, "", {}
    usual: Any = {}
    if schema.PARAMS_KEY in metadata:
        usual = schema.parse_json(str(metadata[schema.PARAMS_KEY]), f"{place}, {schema.PARAMS_KEY}")
    if not isinstance(usual, dict) or not all(isinstance(value, str) for value in usual.values()):
        expected = f"expected texts by name in {schema.PARAMS_KEY}"
        raise ResultsError(f"{place}: {expected}, found {usual!r}")
    return parts.operation, parts.mode, {**usual, **(parts.params or {})}


def _score_metric(metadata: Mapping[str, Any], place: str) -> Metric:
    unit = metadata.get("unit", "second")
    if unit not in _SCORE_UNITS:
        raise ResultsError(f"{place}: expected the unit {', '.join(_SCORE_UNITS)}, found {unit!r}")
    return Metric(schema.SCORE, _SCORE_UNITS[unit])


def _metadata(data: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    metadata = data.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise ResultsError(f"{place}: expected metadata by name, found {type(metadata).__name__}")
    return metadata


def _list(data: Mapping[str, Any], key: str, place: str) -> list[Any]:
    found = data.get(key, [])
    if not isinstance(found, list):
        raise ResultsError(f"{place}: expected a list of {key}, found {type(found).__name__}")
    return found
