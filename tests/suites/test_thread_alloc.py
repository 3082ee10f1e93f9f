"""The suite from end to end and its figures, and the allocation probe in another suite."""

import sysconfig

import pyperf
import pytest

from results.files import read
from results.words import figure, words
from stress.probes import DEFAULT_PROBES
from suites.thread_alloc import ROWS, SIZE, SUITE
from tests.suites.conftest import Program

#: Operations enough for the thread of the last one to weigh little.
FEW = ("--mode", "none", "-p", "1", "-n", "1", "-w", "0", "--loops", "20")
SLACK = 10_000
#: Bytes of a thread itself, by the operation.
THREAD = 30_000 if sysconfig.get_config_var("Py_GIL_DISABLED") else SLACK


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return Program(tmp_path_factory.mktemp("run"), "thread_alloc")


@pytest.fixture(scope="module")
def path(program):
    done = program(*FEW, "-o", "a.json")
    assert done.returncode == 0, done.stderr
    return program.folder / "a.json"


@pytest.fixture(scope="module")
def rows(path):
    return {row.operation: row for row in read(path).rows}


def test_the_rows_are_the_baseline_inline_and_separate(rows):
    assert list(rows) == [row.name for row in ROWS] == ["baseline", "inline", "separate"]


def test_the_suite_switches_its_probes_on_by_itself(rows):
    assert rows["inline"].metadata["scopestress_probes"] == ",".join(SUITE.probes)
    assert {"alloc.rate", "alloc.rate.norm", "gc.count", "gc.time"} <= set(rows["inline"].metrics)


def test_a_million_bytes_are_allocated_unless_another_size_is_asked_for(rows):
    assert rows["inline"].params["size"] == "1000000"
    assert SIZE <= figure(rows["inline"], "alloc.rate.norm") < SIZE + SLACK


def test_inline_and_separate_agree(rows):
    inline, separate = (figure(rows[name], "alloc.rate.norm") for name in ("inline", "separate"))
    assert 0 < separate - inline < THREAD  # of 1,000,000: within 1 % with the GIL


def test_the_figure_of_live_threads_is_right_inline_and_misses_over_99_percent_of_separate(rows):
    right, live = (figure(rows["inline"], f"alloc.{kind}.norm") for kind in ("rate", "live"))
    assert live == pytest.approx(right, rel=0.01)
    right, live = (figure(rows["separate"], f"alloc.{kind}.norm") for kind in ("rate", "live"))
    assert 0 < live < 0.01 * right


def test_the_baseline_allocates_nothing_to_speak_of(rows):
    assert figure(rows["baseline"], "alloc.rate.norm") < 100


def test_the_rate_is_the_norm_over_the_time_of_an_operation(rows):
    row = rows["separate"]
    assert figure(row, "alloc.rate") == pytest.approx(
        figure(row, "alloc.rate.norm") / figure(row, "score")
    )


def test_the_words_say_what_is_missed(path):
    assert any(
        sentence.startswith("separate[NONE]: a difference over live threads sees")
        for sentence in words(read(path))
    )


def test_the_rate_of_allocation_is_no_benchmark_for_pyperf_and_the_norm_is(path):
    names = {bench.get_name() for bench in pyperf.BenchmarkSuite.load(str(path))}
    assert "inline[NONE]:alloc.rate.norm" in names
    assert "inline[NONE]:alloc.rate" not in names


@pytest.mark.parametrize("option", [("--quick",), ()], ids=["quick", "full"])
def test_both_plans_list_all_rows(program, option):
    lines = program("--list", "--mode", "none", *option).stdout.splitlines()
    assert [line.split()[0] for line in lines] == [f"{row.name}[NONE]" for row in ROWS]


def test_a_size_is_in_the_name_and_in_the_figure(program):
    done = program("--only", "^inline", "--size", "64KiB", *FEW, "-o", "size.json")
    assert done.returncode == 0, done.stderr
    (row,) = read(program.folder / "size.json").rows
    assert row.name == "inline[NONE,size=64KiB]"
    assert 1 << 16 <= figure(row, "alloc.rate.norm") < (1 << 16) + SLACK


def test_the_timed_code_can_be_read(program):
    listed = program("--list", "-v", "--mode", "none", "--only", "^separate").stdout
    assert "        thread = Thread(target=allocate)\n" in listed


def test_stress_threads_are_in_no_figure(program):
    done = program("--mode", "threads", "--threads", "2", *FEW[2:], "-o", "threads.json")
    assert done.returncode == 0, done.stderr
    rows = {row.operation: row for row in read(program.folder / "threads.json").rows}
    assert figure(rows["inline"], "alloc.rate.norm") < SIZE + SLACK


def test_the_help_tells_what_to_see(program):
    assert "What you should see" in program("--help").stdout


def test_any_suite_has_the_figures_by_option_and_the_table_names_the_probes(
    suite, tmp_path, capsys
):
    done = suite("--probe", "alloc", "--only", "^confined", *FEW, "-o", "a.json")
    assert done.returncode == 0, done.stderr
    assert "Probes on: alloc.\n" in done.stdout
    (row,) = read(tmp_path / "a.json").rows
    assert set(row.metrics) == {"alloc.rate", "alloc.rate.norm", "alloc.count.norm"}
    assert figure(row, "alloc.rate.norm") < SLACK


def test_it_is_no_default_of_other_suites(suite):
    helped = " ".join(suite("--help").stdout.split())
    assert f"(default: {', '.join(DEFAULT_PROBES)})" in helped
    assert not {name for name in DEFAULT_PROBES if name.startswith("alloc")}
