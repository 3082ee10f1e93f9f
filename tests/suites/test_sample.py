"""`--sample` from end to end: the file, the table and the words."""

import subprocess
import sys

import pyperf
import pytest

from results.files import read
from results.histogram import PERCENTILES

NAMES = [f"p{share}" for share in PERCENTILES]
ROWS = "^(baseline|shared_close|implicit_close)$"
OPTIONS = ("--sample", "--only", ROWS, "-p2", "-n1", "-w0", "--loops=5000")


@pytest.fixture(scope="module")
def finished(shared_suite):
    done = shared_suite(*OPTIONS, "--mode=none", "-orun.json")
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def path(shared_suite, finished):
    return shared_suite.folder / "run.json"


@pytest.fixture(scope="module")
def rows(path):
    return {row.operation: row for row in read(path).rows}


def test_every_row_has_its_percentiles_in_rising_order(rows):
    for row in rows.values():
        assert [name for name in row.metrics if name in NAMES] == NAMES
        merged = [row.metrics[name].merged.value for name in NAMES]
        known = [value for value in merged if value is not None]
        assert known == sorted(known)


def test_the_calls_of_all_processes_are_in_the_histogram(rows):
    for row in rows.values():
        assert row.samples.histogram.count == sum(row.loops) * row.inner_loops


def test_the_table_has_the_percentiles_and_how_they_were_timed(finished):
    labels = {line.split()[0] for line in finished.stdout.splitlines() if ":p" in line}
    assert {f"shared_close:{name}" for name in NAMES} <= labels
    assert "sample: single calls timed by" in finished.stdout


def test_the_collectors_pauses_are_the_tail_of_what_it_frees(rows):
    row = rows["implicit_close"]
    pauses = row.metrics["gc.pause.max"].values
    counts = row.metrics["gc.count"].values
    assert min(counts) > 0
    # Every collection is in a call of its own.
    calls, _ = row.samples.histogram.slowest(min(row.metrics["gc.time"].values) / max(counts) / 2)
    assert calls > 0
    assert row.metrics["p1.00"].merged.value >= max(pauses) * 0.999


@pytest.mark.parametrize("command", ["show", "stats", "metadata", "check", "hist"])
def test_stock_pyperf_reads_the_file(path, command):
    done = subprocess.run(
        [sys.executable, "-m", "pyperf", command, str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_stock_pyperf_compares_percentiles(path):
    command = [sys.executable, "-m", "pyperf", "compare_to", str(path), str(path), "--table"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Benchmarks with tag 'p0.50':" in done.stdout
    assert "shared_close[NONE]:p0.50" in done.stdout


def test_a_percentile_has_one_value_a_process_for_pyperf(path):
    benchmarks = {bench.get_name(): bench for bench in pyperf.BenchmarkSuite.load(str(path))}
    assert benchmarks["shared_close[NONE]:p0.50"].get_nvalue() == 2


def test_sampled_and_other_runs_are_kept_apart(suite):
    options = ("--only=^base", "--mode=none", *suite.smallest, "--append=a.json")
    assert suite("--sample", *options).returncode == 0
    done = suite(*options)
    assert done.returncode == 0
    assert "expected runs that were all timed call by call or none of them" in done.stderr
    assert "Written to results/" in done.stdout


def test_too_few_calls_have_no_percentile(suite):
    done = suite("--sample", "--only=^base", "--mode=none", *suite.smallest, "-oa.json")
    lines = {line.split()[0]: line.split() for line in done.stdout.splitlines() if ":p" in line}
    assert [lines[f"baseline:{name}"][-1] == "n/a" for name in NAMES] == [
        name not in ("p0.00", "p1.00") for name in NAMES
    ]
