"""The suite that times single calls on its own account, from end to end."""

from pathlib import Path

import pyperf
import pytest

from results.files import read
from results.histogram import PERCENTILES
from stress.probes.thread_clocks import THREAD_CLOCKS
from suites import thread_clock
from suites.thread_clock import ROWS, ClockProbe
from tests.suites.conftest import Program

PERCENTILE_NAMES = [f"p{share}" for share in PERCENTILES]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    suite = Program(tmp_path_factory.mktemp("run"), "thread_clock")
    options = ("--mode=none", "-p2", "-n1", "-w0", "--loops=64", "-orun.json")
    done = suite(*options)
    assert done.returncode == 0, done.stderr
    return done, suite.folder / "run.json"


def test_there_is_a_row_for_each_clock_and_the_baseline():
    assert [row.name for row in ROWS] == ["baseline", *THREAD_CLOCKS]


def test_every_clock_has_percentiles_and_its_fineness(finished):
    _, path = finished
    for row in read(path).rows:
        own = [] if row.operation == "baseline" else ["clock.resolution", "clock.granularity"]
        assert [name for name in row.metrics if name.startswith(("p0", "p1", "clock"))] == [
            *PERCENTILE_NAMES,
            *own,
        ]


def test_what_the_table_says_of_samples_is_measured_here(finished):
    done, _ = finished
    assert "sample: single calls timed by" in done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("thread_time:p0.50")]
    assert [line.split()[2] for line in lines] == ["sample"]


def test_percentiles_are_benchmarks_of_one_value_a_process(finished):
    _, path = finished
    benchmarks = {bench.get_name(): bench for bench in pyperf.BenchmarkSuite.load(str(path))}
    median = benchmarks["thread_time[NONE]:p0.50"]
    assert median.get_nvalue() == 2
    assert all(value > 0 for value in median.get_values())


def test_list_only_and_the_code_are_as_in_every_suite(tmp_path: Path):
    done = Program(tmp_path, "thread_clock")("--list", "-v", "--only", "rusage", "--mode", "none")
    assert done.stdout.split("\n")[1:3] == ["    for _ in times:", "        read()"]
    assert done.stdout.startswith("thread_user_time_by_rusage[NONE]")


def test_a_clock_that_does_not_move_has_no_fineness(monkeypatch):
    monkeypatch.setattr(thread_clock, "steps", lambda read: [])
    figures = ClockProbe(lambda: 7).figures(1.0, 1)
    assert figures == {"clock.resolution": None, "clock.granularity": None}


def test_the_fineness_of_a_clock_is_in_seconds(monkeypatch):
    monkeypatch.setattr(thread_clock, "steps", lambda read: [6_000, 4_000])
    figures = ClockProbe(lambda: 7).figures(1.0, 1)
    assert figures == {"clock.resolution": 2e-6, "clock.granularity": 4e-6}


def test_the_fineness_is_measured_once(monkeypatch):
    counted = iter([[5], []])
    monkeypatch.setattr(thread_clock, "steps", lambda read: next(counted))
    probe = ClockProbe(lambda: 7)
    assert probe.figures(1.0, 1) == probe.figures(1.0, 1)
