"""Stock pyperf opens our files and says nothing foolish about them."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyperf
import pytest

from results.files import write

Make = Callable[..., pyperf.Benchmark]
Metrics = Callable[..., dict[str, Any]]


def run_pyperf(*args: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pyperf", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout


def section(text: str, title: str) -> str:
    """The part of a text under an underlined title."""
    return text.split(f"{title}\n{'=' * len(title)}\n")[1].split("\nBenchmarks with")[0]


@pytest.fixture
def path(tmp_path: Path, scores: list[pyperf.Benchmark]) -> Path:
    write(tmp_path / "a.json", scores)
    return tmp_path / "a.json"


@pytest.mark.parametrize("command", ["stats", "hist", "show", "dump", "check", "metadata"])
def test_every_benchmark_of_ours_is_shown(path: Path, command: str) -> None:
    printed = run_pyperf(command, path)
    for name in ("baseline[NONE]", "implicit_close[NONE,size=1MiB]:rss.peak"):
        assert name in printed


def test_compare_to_has_a_table_for_each_tag(
    path: Path, tmp_path: Path, make_score: Make, quiet: Metrics
) -> None:
    name = "implicit_close[NONE,size=1MiB]"
    write(tmp_path / "b.json", [make_score(name, 1.25e-4, metrics=quiet(406, cpu=1.25e-4))])
    printed = run_pyperf("compare_to", path, tmp_path / "b.json", "--table")
    tags = ["gc.count", "gc.pause.max", "gc.share", "gc.time", "native.peak", "rss.growth"]
    for tag in (*tags, "rss.peak", "score", "score.cpu"):
        assert f"| {name}" in section(printed, f"Benchmarks with tag '{tag}':")
    assert "125 us: 2.00x faster" in section(printed, "Benchmarks with tag 'score':")
    assert "406.0 MiB: 2.00x faster" in section(printed, "Benchmarks with tag 'rss.peak':")


def test_a_file_does_not_differ_from_itself_in_anything(path: Path, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_bytes(path.read_bytes())
    printed = run_pyperf("compare_to", path, tmp_path / "b.json", "--table")
    assert "faster" not in printed
    assert "slower" not in printed


def test_more_loops_do_not_make_totals_larger(tmp_path: Path, make_score: Make) -> None:
    for name, loops in (("a", 1024), ("b", 2048)):
        score = make_score("x[NONE]", 1e-4, loops=loops, metrics={"gc.time": 2e-5 * loops})
        write(tmp_path / f"{name}.json", [score])
    printed = run_pyperf("compare_to", tmp_path / "a.json", tmp_path / "b.json", "--table")
    assert "no change" in section(printed, "Benchmarks with tag 'gc.time':")


def test_the_duration_and_the_dates_are_those_of_the_scores(
    tmp_path: Path, make_score: Make, thrashing: Metrics
) -> None:
    write(tmp_path / "a.json", [make_score(metrics=thrashing())])
    printed = run_pyperf("stats", tmp_path / "a.json")
    assert "Number of benchmarks: 9\nTotal duration: 4.9 sec\n" in printed
    assert "Start date: 2024-05-01 12:00:00\nEnd date: 2024-05-01 12:00:05\n" in printed


def test_a_peak_is_raw_as_it_was_measured(path: Path) -> None:
    printed = run_pyperf("stats", path)
    title = "implicit_close[NONE,size=1MiB]:rss.peak"
    stats = printed.split(f"{title}\n{'-' * len(title)}\n")[1]
    assert "Raw value maximum: 812.0 MiB" in stats.split("\n\n")[1] + stats.split("\n\n")[0]


def test_pyperf_converts_our_files(path: Path, tmp_path: Path) -> None:
    run_pyperf("convert", path, "--include-benchmark=baseline[NONE]", "-o", tmp_path / "b.json")
    assert pyperf.BenchmarkSuite.load(str(tmp_path / "b.json")).get_benchmark_names() == [
        "baseline[NONE]"
    ]
