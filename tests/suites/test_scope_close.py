"""The suite from end to end with the smallest settings, and the file it leaves."""

import json
import subprocess
import sys
from pathlib import Path

import pyperf
import pytest

from stress.probes import PROBES
from suites.peers import PEERS
from suites.rows import Work
from suites.scope_close import ROWS

MODES = ("NONE", "MEMORY", "THREADS")
METRICS = ("gc.time", "gc.count", "gc.pause.max", "rss.peak", "rss.growth", "native.peak")


@pytest.fixture(scope="module")
def finished(shared_suite):
    """One run over all rows and modes, one operation each."""
    return shared_suite("-o", "all.json", *shared_suite.smallest)


@pytest.fixture(scope="module")
def path(shared_suite, finished) -> Path:
    assert finished.returncode == 0, finished.stderr
    return shared_suite.folder / "all.json"


@pytest.fixture(scope="module")
def benchmarks(path) -> dict[str, pyperf.Benchmark]:
    return {bench.get_name(): bench for bench in pyperf.BenchmarkSuite.load(str(path))}


@pytest.fixture(scope="module")
def scores(benchmarks) -> list[pyperf.Benchmark]:
    return [bench for name, bench in benchmarks.items() if ":" not in name]


def metadata_of_runs(benchmarks):
    return [run.get_metadata() for bench in benchmarks for run in bench.get_runs()]


def test_every_row_has_a_score_in_every_mode(scores):
    stress = {"NONE": "", "MEMORY": ",heap-objects=1000", "THREADS": ",threads=1"}
    assert [bench.get_name() for bench in scores] == [
        f"{row.name}[{mode}{stress[mode]}]" for row in ROWS for mode in MODES
    ]


def test_metrics_are_benchmarks_of_their_own(benchmarks):
    assert {f"confined_close[NONE]:{metric}" for metric in METRICS} <= set(benchmarks)


def test_every_run_is_tagged(scores):
    assert all(metadata["tags"] == ["score"] for metadata in metadata_of_runs(scores))


def test_a_run_has_as_many_figures_as_values(scores):
    for bench in scores:
        for run in bench.get_runs():
            metrics = json.loads(run.get_metadata()["scopestress_metrics"])
            assert {len(entry["values"]) for entry in metrics.values()} == {len(run.values)}


def test_every_run_tells_where_it_comes_from(scores):
    expected = {"scopestress_schema", "scopestress_probes", "scopestress_object_allocator"}
    assert all(expected <= set(metadata) for metadata in metadata_of_runs(scores))


def test_stress_options_are_in_the_runs_of_their_mode_alone(scores):
    found = {
        (bench.get_name().partition("[")[2].partition(",")[0].rstrip("]"), key)
        for bench in scores
        for metadata in metadata_of_runs([bench])
        for key in metadata
        if key in ("scopestress_heap_objects", "scopestress_threads")
    }
    assert found == {("MEMORY", "scopestress_heap_objects"), ("THREADS", "scopestress_threads")}


def test_the_peak_of_the_process_is_not_the_lowered_one_of_the_kernel(scores):
    for bench in scores:
        for metadata in metadata_of_runs([bench]):
            metrics = json.loads(metadata["scopestress_metrics"])
            assert metadata["mem_max_rss"] >= max(metrics["rss.peak"].get("values", [0]))


def test_explicit_scopes_live_one_at_a_time(scores):
    (confined,) = [bench for bench in scores if bench.get_name() == "confined_close[NONE]"]
    for metadata in metadata_of_runs([confined]):
        metrics = json.loads(metadata["scopestress_metrics"])
        assert metrics["native.peak"]["values"] == [1024]


def test_a_periodic_loop_is_256_operations(scores):
    found = {bench.get_name().partition("[")[0]: bench.get_inner_loops() for bench in scores}
    assert found["implicit_close_systemgc"] == 256
    assert found["implicit_close"] == 1


def test_the_table_and_the_path_are_printed(finished):
    lines = finished.stdout.splitlines()
    assert any(line.startswith("Benchmark") for line in lines)
    assert any(line.startswith("confined_close") for line in lines)
    assert lines[-1] == "Written to all.json"


def test_nothing_of_the_progress_is_printed_without_a_terminal(finished):
    assert "\r" not in finished.stdout + finished.stderr
    assert "process 1 of" not in finished.stdout + finished.stderr


@pytest.mark.parametrize("command", ["show", "stats", "metadata", "check"])
def test_stock_pyperf_reads_the_file(path, command):
    done = subprocess.run(
        [sys.executable, "-m", "pyperf", command, str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_table_can_be_printed_again(path, finished):
    done = subprocess.run(
        [sys.executable, "-m", "results", "show", str(path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() in finished.stdout


def test_a_second_run_is_appended(suite, tmp_path):
    for _ in range(2):
        done = suite("--only", "^base", "--mode", "none", "--append", "a.json", *suite.smallest)
        assert done.returncode == 0, done.stderr
    (score,) = [
        bench
        for bench in pyperf.BenchmarkSuite.load(str(tmp_path / "a.json"))
        if bench.get_name() == "baseline[NONE]"
    ]
    assert score.get_nrun() == 2


def test_time_and_peak_of_two_periods_stand_in_one_table(suite):
    for every in ("4", "8"):
        options = ("--only", "systemgc", "--mode", "none", "--collect-every", every)
        done = suite(*options, "--append", "a.json", *suite.smallest)
        assert done.returncode == 0, done.stderr
    name = "implicit_close_systemgc"
    rows = [line.split()[:3] for line in done.stdout.splitlines() if line.startswith(name)]
    for every in ("4", "8"):
        for metric in ("", ":gc.time", ":rss.peak", ":native.peak"):
            assert [name + metric, "NONE", every] in rows


def test_a_calibrating_run_is_tagged_and_has_no_figures(suite, tmp_path):
    done = suite("--only", "^base", "--mode", "none", "-p1", "-n2", "--min-time=1e-5", "-oa.json")
    assert done.returncode == 0, done.stderr
    (score, *_) = pyperf.BenchmarkSuite.load(str(tmp_path / "a.json"))
    calibration, measured = (run.get_metadata() for run in score.get_runs())
    assert calibration["tags"] == measured["tags"] == ["score"]
    assert "scopestress_metrics" not in calibration
    assert "scopestress_metrics" in measured


def test_a_value_of_a_cyclic_row_is_long_enough_for_the_collector(suite, tmp_path):
    done = suite("--only", "^implicit_close$", "--mode=none", "-p1", "--min-time=1e-6", "-oa.json")
    assert done.returncode == 0, done.stderr
    (score, *_) = pyperf.BenchmarkSuite.load(str(tmp_path / "a.json"))
    metrics = json.loads(score.get_runs()[-1].get_metadata()["scopestress_metrics"])
    assert min(metrics["gc.count"]["values"]) >= 1


def test_peers_run_beside_the_rows(suite):
    done = suite("--peers", "--mode", "none", "--only", "^bytearray", *suite.smallest)
    assert done.returncode == 0, done.stderr
    assert "bytearray" in done.stdout


def test_own_variables_reach_the_workers(suite, tmp_path):
    arguments = ("--only", "^baseline", "--mode", "none", "-o", "a.json", *suite.smallest)
    done = suite(*arguments, SCOPES_EXAMPLE="a b")
    assert done.returncode == 0, done.stderr
    (score, *_) = pyperf.BenchmarkSuite.load(str(tmp_path / "a.json"))
    assert score.get_metadata()["scopestress_environ"] == "SCOPES_EXAMPLE=a b"


def test_variables_of_allocators_reach_the_workers_without_being_asked_for(suite, tmp_path):
    arguments = ("--only", "^baseline", "--mode", "none", "-o", "a.json", *suite.smallest)
    done = suite(*arguments, PYTHONMALLOC="malloc", MALLOC_ARENA_MAX="1", EXAMPLE="2")
    assert done.returncode == 0, done.stderr
    (score, *_) = pyperf.BenchmarkSuite.load(str(tmp_path / "a.json"))
    metadata = score.get_metadata()
    assert metadata["scopestress_environ"] == "MALLOC_ARENA_MAX=1 PYTHONMALLOC=malloc"
    assert metadata["scopestress_object_allocator"] == "malloc"


def test_inherited_variables_reach_the_workers(suite):
    arguments = ("--only", "^baseline", "--mode", "none", *suite.smallest)
    done = suite("--inherit-environ", "EXAMPLE,ABSENT", *arguments, EXAMPLE="a b")
    assert done.returncode == 0, done.stderr


def test_threads_that_are_measured_share_a_scope_in_the_rows_that_can(suite, tmp_path):
    arguments = ("--mode", "none", "--only", "close|base", "-o", "a.json", *suite.smallest)
    done = suite("--threads-measured", "2", "--scope", "shared", *arguments)
    assert done.returncode == 0, done.stderr
    assert "confined_close is left out: it can't share a scope between threads" in done.stderr
    scores = [
        bench
        for bench in pyperf.BenchmarkSuite.load(str(tmp_path / "a.json"))
        if ":" not in bench.get_name()
    ]
    assert [bench.get_name() for bench in scores] == [
        f"{row.name}[NONE,scope=shared,threads-measured=2]" for row in ROWS if row.sharing
    ]
    for bench in scores:
        assert bench.get_metadata()["scopestress_threads_measured"] == 2
        assert bench.get_inner_loops() == Work(threads_measured=2).operations_per_scope


def test_chosen_probes_are_on_and_no_others(suite, tmp_path):
    arguments = ("--only", "^baseline", "--mode", "none", "-o", "a.json", *suite.smallest)
    suite("--probe", "cpu", *arguments)
    (score, *_) = pyperf.BenchmarkSuite.load(str(tmp_path / "a.json"))
    metadata = score.get_metadata()
    assert metadata["scopestress_probes"] == "cpu"
    names = [metric.name for metric in PROBES["cpu"].metrics]
    assert list(json.loads(metadata["scopestress_metrics"])) == names


def test_probes_are_listed_with_what_they_measure(suite):
    lines = suite("--probe", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(PROBES)
    assert all(len(line.split()) > 3 for line in lines)


def test_benchmarks_are_listed_without_running(suite, tmp_path):
    lines = suite("--list", "--peers", "--mode", "none").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [f"{row.name}[NONE]" for row in (*ROWS, *PEERS)]
    assert list(tmp_path.iterdir()) == []


def test_the_timed_code_is_listed_with_verbose(suite):
    listed = suite("--list", "-v", "--mode", "none", "--only", "^confined").stdout
    assert "        scope = ConfinedScope()\n" in listed


def test_a_reader_that_has_seen_enough_is_no_error(suite):
    with suite.start("--list", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_the_loops_found_without_stress_serve_beside_a_heap(suite, tmp_path):
    modes = ("--mode", "none", "--mode", "memory", "--heap-objects", "1000")
    done = suite("--only", "^base", *modes, "-p1", "-n1", "--min-time=1e-5", "-oa.json")
    assert done.returncode == 0, done.stderr
    suite_file = pyperf.BenchmarkSuite.load(str(tmp_path / "a.json"))
    plain, heap = [bench for bench in suite_file if ":" not in bench.get_name()]
    assert plain.get_loops() == heap.get_loops()
    assert heap.get_nrun() == 1


def test_unneeded_text_of_pyperf_is_printed_with_verbose_alone(suite):
    arguments = ("--only", "^baseline", "--mode", "none", *suite.smallest)
    assert "Run 1: " in suite("-v", *arguments).stdout
    assert "Run 1: " not in suite(*arguments).stdout
