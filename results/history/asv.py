"""For airspeed velocity (asv): a directory in which `asv publish` and `asv show` work.

    asv.conf.json                    made if it is not there
    results/benchmarks.json          what the benchmarks are
    results/MACHINE/machine.json
    results/MACHINE/COMMIT-ENV.json  the figures of a commit

A benchmark of asv is a metric of an operation; mode and parameters are its parameters. A file of
figures holds one commit, measured with one Python on one machine: the newest where there are more.
"""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

import numpy as np

from results.compare.inference import Sample, margin
from results.compare.series import Series
from results.compare.wording import listed
from results.errors import ResultsError
from results.files import write_text
from results.history.points import Point
from results.model import Row

_BENCHMARKS_VERSION = _RESULTS_VERSION = 2
_MACHINE_VERSION = _CONFIG_VERSION = 1
_SCHEMA_OF_A_BENCHMARK = "1"
"""asv takes figures for those of a benchmark if both name the same version."""
_COLUMNS = (
    *("result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b"),
    *("stats_q_25", "stats_q_75", "stats_number", "stats_repeat", "samples"),
)
_CONFIDENCE = 0.99
"""Of its columns ci_99_a and ci_99_b."""
_UNITS = {"s": "seconds", "bytes": "bytes"}
"""What asv knows; of everything else it prints the number."""
_MODE = "mode"
_ABSENT = "-"
"""The value of a parameter that a row doesn't have."""
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class _Place:
    """What a file of asv is about."""

    machine: str
    environment: str
    commit: str


def export(points: Sequence[Point], folder: Path, repository: str) -> list[str]:
    """Write the files; what was left out in sentences. ResultsError if that is everything."""
    used = [point for point in points if _COMMIT.fullmatch(point.commit) and not point.dirty]
    if not used:
        raise ResultsError(
            "nothing to export to asv: expected files with the commit they were measured at, of a"
            f" tree without changes; found {listed([str(point.path) for point in points])}"
        )
    benchmarks = _benchmarks(used)
    files: dict[str, Any] = {
        "results/benchmarks.json": {**benchmarks, "version": _BENCHMARKS_VERSION}
    }
    grouped: dict[_Place, list[Point]] = {}
    for point in used:
        grouped.setdefault(_place(point), []).append(point)
    for place, members in grouped.items():
        machine = f"results/{place.machine}"
        files[f"{machine}/machine.json"] = _machine(members[-1]) | {"version": _MACHINE_VERSION}
        name = f"{place.commit[:8]}-{place.environment}.json"
        files[f"{machine}/{name}"] = _figures(place, members, benchmarks)
    if not (folder / "asv.conf.json").exists():
        files["asv.conf.json"] = _config(repository)
    for name, content in files.items():
        _write(folder / name, content)
    left_out = len(points) - len(used)
    return [f"Left out of asv: {left_out} files without a commit or of a changed tree."] * (
        left_out > 0
    )


def _write(path: Path, content: object) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(f"{path.parent}: can't be made: {error.strerror}") from None
    write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n", overwrite=True)


def _config(repository: str) -> dict[str, Any]:
    return {
        "version": _CONFIG_VERSION,
        "project": Path(repository).resolve().name,
        "repo": repository,
        "branches": ["HEAD"],
        "results_dir": "results",
        "html_dir": "html",
        "benchmark_dir": "benchmarks",
    }


def _place(point: Point) -> _Place:
    machine = _machine(point)["machine"]
    environment = _file_name(f"python{_python(point)}")
    return _Place(machine, environment, point.commit)


def _python(point: Point) -> str:
    """The version to the patch, with a t for a build without the GIL."""
    own = str(point.metadata.get("scopestress_python", "")).rpartition(" ")[2]
    version = own or str(point.metadata.get("python_version", "unknown")).partition(" ")[0]
    has_gil = point.metadata.get("scopestress_gil", "enabled") == "enabled"
    return version if has_gil else f"{version}t"


def _machine(point: Point) -> dict[str, str]:
    metadata = point.metadata
    cpu = metadata.get("scopestress_cpu") or metadata.get("cpu_model_name") or "unknown"
    platform = str(metadata.get("platform", ""))
    return {
        "machine": _file_name(str(metadata.get("hostname") or cpu)),
        "os": str(metadata.get("scopestress_kernel") or platform or "unknown"),
        "arch": next((a for a in ("x86_64", "aarch64") if a in platform), "unknown"),
        "cpu": str(cpu),
        "num_cpu": str(metadata.get("cpu_count", "unknown")),
        "ram": "unknown",
    }


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "unknown"


def _benchmarks(points: Sequence[Point]) -> dict[str, dict[str, Any]]:
    """What asv calls benchmarks, by name: parameters with every value that occurs."""
    values: dict[str, dict[str, dict[str, None]]] = {}
    units: dict[str, str] = {}
    for point in points:
        for (row_name, metric), series in point.figures.items():
            row = point.rows[row_name]
            name = f"{row.operation}.{metric}"
            found = values.setdefault(name, {})
            for param, value in _params(row).items():
                found.setdefault(param, {})[value] = None
            base, _, per = series.unit.partition("/")
            known = per in ("", "op") and base in _UNITS
            units[name] = _UNITS[base] if known else series.unit
    for point in points:
        for (row_name, metric), _ in point.figures.items():
            row = point.rows[row_name]
            for param, found_values in values[f"{row.operation}.{metric}"].items():
                if param not in _params(row):
                    found_values[_ABSENT] = None
    return {
        name: {
            "name": name,
            "code": name,
            "type": "track",
            "unit": units[name],
            "param_names": list(params),
            "params": [list(found) for found in params.values()],
            "timeout": 60.0,
            "version": _SCHEMA_OF_A_BENCHMARK,
        }
        for name, params in values.items()
    }


def _params(row: Row) -> dict[str, str]:
    mode = {_MODE: row.mode} if row.mode else {}
    return {**mode, **dict(sorted(row.params.items()))}


def _figures(
    place: _Place, points: Sequence[Point], benchmarks: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """A file of figures: for each benchmark a list over all combinations of its parameters."""
    newest: dict[str, dict[tuple[str, ...], Series]] = {}
    for point in points:
        for (row_name, metric), series in point.figures.items():
            row = point.rows[row_name]
            name = f"{row.operation}.{metric}"
            told = _params(row)
            cell = tuple(told.get(param, _ABSENT) for param in benchmarks[name]["param_names"])
            newest.setdefault(name, {})[cell] = series
    last = points[-1]
    started = int(last.date.astimezone(UTC).timestamp() * 1000) if last.date else 0
    machine = _machine(last)
    return {
        "commit_hash": place.commit,
        "env_name": place.environment,
        "date": started,
        "params": {**machine, "python": _python(last)},
        "python": _python(last),
        "requirements": {},
        "env_vars": {},
        "result_columns": list(_COLUMNS),
        "results": {
            name: _columns(benchmarks[name]["params"], cells, started)
            for name, cells in newest.items()
        },
        "durations": {},
        "version": _RESULTS_VERSION,
    }


def _columns(
    params: Sequence[Sequence[str]], cells: Mapping[tuple[str, ...], Series], started: int
) -> list[Any]:
    """The values of `_COLUMNS`; null where a combination of parameters was not measured."""
    found = [cells.get(combination) for combination in itertools.product(*params)]
    samples = [Sample.of(series.means) if series else None for series in found]
    low, high = zip(*(_interval(sample) for sample in samples), strict=True)
    first, third = zip(*(_quartiles(series) for series in found), strict=True)
    return [
        [sample.mean if sample else None for sample in samples],
        [list(values) for values in params],
        _SCHEMA_OF_A_BENCHMARK,
        started,
        None,
        *(low, high, first, third),
        [1 if sample else None for sample in samples],
        [sample.count if sample else None for sample in samples],
        [list(series.means) if series else None for series in found],
    ]


def _quartiles(series: Series | None) -> tuple[float | None, float | None]:
    if series is None:
        return None, None
    first, third = np.percentile(series.means, (25, 75))
    return float(first), float(third)


def _interval(sample: Sample | None) -> tuple[float | None, float | None]:
    error = margin(sample, _CONFIDENCE) if sample else None
    if sample is None or error is None:
        return None, None
    return sample.mean - error, sample.mean + error
