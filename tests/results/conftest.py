"""Benchmarks as a run of a suite leaves them: a calibration run, then workers with warm-ups."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyperf
import pytest
from hypothesis import settings

from results.files import read, write
from results.histogram import Histogram
from results.model import Results

MIB = 2**20

# A deadline of 200 ms is about the machine, and not about what is tested.
settings.register_profile("project", deadline=None)
settings.load_profile("project")

KINDS = {
    "score.cpu": {"unit": "s/op", "agg": "mean", "better": "lower", "floor": 1e-9},
    "gc.time": {"unit": "s", "agg": "sum", "better": "lower", "floor": 1e-4},
    "gc.count": {"unit": "collections", "agg": "sum", "better": "lower", "floor": 1},
    "gc.pause.max": {"unit": "s", "agg": "max", "better": "lower", "floor": 1e-4},
    "gc.share": {"unit": "ratio", "agg": "mean", "better": "lower", "floor": 0},
    "driver.share": {"unit": "ratio", "agg": "mean", "better": "lower", "floor": 0},
    "rss.peak": {"unit": "bytes", "agg": "max", "better": "lower", "floor": 262144},
    "rss.growth": {"unit": "bytes", "agg": "max", "better": "lower", "floor": 262144},
    "native.peak": {"unit": "bytes", "agg": "max", "better": "lower", "floor": 1},
    "bystander.slowdown": {"unit": "ratio", "agg": "mean", "better": "lower", "floor": 0},
    "alloc.rate": {"unit": "bytes/s", "agg": "mean", "better": "higher", "floor": 1},
    "alloc.rate.norm": {"unit": "bytes/op", "agg": "mean", "better": "lower", "floor": 1},
    "alloc.live.norm": {"unit": "bytes/op", "agg": "mean", "better": "lower", "floor": 1},
}

PROVENANCE = {
    "scopestress_python": "CPython 3.11.7",
    "scopestress_kernel": "Linux 6.1.0",
    "scopestress_cpu": "Some CPU @ 2.50GHz",
    "scopestress_gc_thresholds": "700,10,10",
    "python_version": "3.11.7 (64-bit)",
    "hostname": "bench",
    "cpu_count": 2,
}

# The values of a process and the processes scatter a little, and do so alike in every test.
_SCATTER = (1.0, 1.01, 0.99, 1.005, 0.995)


def scatter(mean: float, processes: int, values: int) -> list[list[float]]:
    """Values about a mean, process by process."""
    return [
        [mean * _SCATTER[(process + value) % 5] for value in range(values)]
        for process in range(processes)
    ]


def make_score(
    name: str = "confined_close[NONE]",
    seconds: float = 1e-7,
    *,
    processes: int = 3,
    values: int = 3,
    loops: int = 2**20,
    inner_loops: int = 1,
    metrics: Mapping[str, Any] | None = None,
    by_process: Sequence[Sequence[float]] | None = None,
    metadata: Mapping[str, Any] | None = None,
    hooks: bool = False,
    calls: Sequence[Sequence[tuple[float, int]] | None] | None = None,
) -> pyperf.Benchmark:
    """A score. A metric is given as one number (the same for every value), as numbers by process,
    or as the text of why it is unsupported. `calls` are single calls by process, as pairs of
    seconds and how many took that long."""
    by_process = by_process or scatter(seconds, processes, values)
    shared = PROVENANCE | {"name": name, "unit": "second", "inner_loops": inner_loops}
    shared |= dict(metadata or {})
    calibration = shared | {
        "loops": loops,
        "calibrate_loops": loops,
        "duration": 0.4,
        "date": "2024-05-01 12:00:00.000000",
    }
    steps = [(2**step, seconds * 1.5) for step in range(0, loops.bit_length(), 4)]
    runs = [pyperf.Run((), warmups=steps, metadata=calibration, collect_metadata=False)]
    for process, numbers in enumerate(by_process):
        own: dict[str, Any] = {
            "loops": loops,
            "duration": 1.5,
            "date": f"2024-05-01 12:00:{process + 1:02}.000000",
            "load_avg_1min": 0.1 * process,
            "mem_max_rss": 30 * MIB + process,
        }
        if metrics is not None:
            own |= _metrics(metrics, process, len(numbers), hooks)
        if calls is not None:
            own |= sampled(calls[process])
        warmups = [(loops, seconds * 1.2)]
        runs.append(
            pyperf.Run(numbers, warmups=warmups, metadata=shared | own, collect_metadata=False)
        )
    return pyperf.Benchmark(runs)


def sampled(calls: Sequence[tuple[float, int]] | None) -> dict[str, Any]:
    """The metadata of a run that was timed call by call; none of it without calls."""
    if calls is None:
        return {}
    entry = {"overhead": 2.7e-8, "floor": 5e-10, "histogram": Histogram.of(calls).encode()}
    return {
        "scopestress_schema": 1,
        "scopestress_samples": json.dumps(entry),
        "scopestress_sample_clock": "rdtscp at 2100 MHz",
    }


def _metrics(metrics: Mapping[str, Any], process: int, count: int, hooks: bool) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for name, given in metrics.items():
        if isinstance(given, str):
            entries[name] = {"unsupported": given}
            continue
        values = [given] * count if isinstance(given, (int, float)) else list(given[process])
        entries[name] = KINDS[name] | {"values": values}
    if not hooks:
        return {"scopestress_schema": 1, "scopestress_metrics": json.dumps(entries)}
    keys = {f"scopestress_metrics.{name}": json.dumps({name: entries[name]}) for name in entries}
    return {"scopestress_schema": 1, **keys}


def quiet(peak_mib: float = 32, cpu: float = 1e-7) -> dict[str, Any]:
    """The metrics of a row that leaves the collector alone."""
    return {
        "score.cpu": cpu,
        "gc.time": 0.0,
        "gc.count": 0,
        "gc.pause.max": 0.0,
        "gc.share": 0.0,
        "rss.peak": int(peak_mib * MIB),
        "rss.growth": 0,
        "native.peak": 1024,
    }


def thrashing(peak_mib: float = 812, share: float = 0.41, cpu: float = 2.5e-4) -> dict[str, Any]:
    """The metrics of a row that lives on the collector."""
    return {
        "score.cpu": cpu,
        "gc.time": 0.046,
        "gc.count": 4,
        "gc.pause.max": 0.0463,
        "gc.share": share,
        "rss.peak": int(peak_mib * MIB),
        "rss.growth": int((peak_mib - 31) * MIB),
        "native.peak": int((peak_mib - 33) * MIB),
    }


@pytest.fixture(name="make_score", scope="session")
def _make_score() -> Callable[..., pyperf.Benchmark]:
    return make_score


@pytest.fixture(name="quiet", scope="session")
def _quiet() -> Callable[..., dict[str, Any]]:
    return quiet


@pytest.fixture(name="thrashing", scope="session")
def _thrashing() -> Callable[..., dict[str, Any]]:
    return thrashing


@pytest.fixture
def results_of(tmp_path: Path) -> Callable[..., Results]:
    """What is read back of the scores it is called with."""

    def write_and_read(*scores: pyperf.Benchmark) -> Results:
        write(tmp_path / "run.json", scores, overwrite=True)
        return read(tmp_path / "run.json")

    return write_and_read


@pytest.fixture
def scores() -> list[pyperf.Benchmark]:
    """A small run: an explicit and an implicit scope at 1 MiB, in one mode."""
    return [
        make_score("baseline[NONE]", 1.5e-8, metrics=quiet(cpu=1.5e-8)),
        make_score(
            "confined_close[NONE,size=1MiB]", 1.4e-5, loops=2**13, metrics=quiet(cpu=1.4e-5)
        ),
        make_score("implicit_close[NONE,size=1MiB]", 2.5e-4, loops=2**9, metrics=thrashing()),
    ]


@pytest.fixture
def write_json(tmp_path: Path) -> Callable[[Any], Path]:
    """Writes any JSON, or text, as a file that may be none of ours."""

    def write_it(content: Any) -> Path:
        path = tmp_path / "given.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write_it


@pytest.fixture
def file_of(tmp_path: Path) -> Callable[..., Path]:
    """Writes scores as a file of this name."""

    def write_file(name: str, *scores: pyperf.Benchmark) -> Path:
        write(tmp_path / name, scores, overwrite=True)
        return tmp_path / name

    return write_file


@pytest.fixture
def commit_file(file_of: Callable[..., Path]) -> Callable[..., Path]:
    """A file measured on a day of January 2026."""

    def make(name: str, day: int, *scores: pyperf.Benchmark) -> Path:
        path = file_of(name, *scores)
        path.write_text(path.read_text().replace("2024-05-01", f"2026-01-{day:02}"))
        return path

    return make


@pytest.fixture
def score_at(make_score: Callable[..., pyperf.Benchmark]) -> Callable[..., pyperf.Benchmark]:
    """A score with the commit that it was measured at."""

    def make(
        commit: str, seconds: float = 1e-6, name: str = "a[NONE]", **more: Any
    ) -> pyperf.Benchmark:
        metadata = {"scopestress_commit": commit, **more.pop("metadata", {})}
        return make_score(name, seconds, metadata=metadata, **more)

    return make


@pytest.fixture
def course(
    commit_file: Callable[..., Path], score_at: Callable[..., pyperf.Benchmark]
) -> list[Path]:
    """Twelve commits; from the eighth on the operation takes half as long again."""
    scatter = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002)
    return [
        commit_file(
            f"{day:02}.json",
            day,
            score_at(f"{day:040x}", scatter[day % 6] * (1.5e-6 if day >= 8 else 1e-6)),
        )
        for day in range(1, 13)
    ]
