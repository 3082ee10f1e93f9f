"""Which benchmarks a selection makes, and what they are called."""

import re
from dataclasses import replace

import pytest

from stress.modes import StressMode, StressOptions
from suites.cells import Cell, Part, Selection, Suite
from suites.rows import Row, Work

BASELINE = Row("baseline", "nothing", body="pass", sized=False)
CLOSE = Row("close", "something", body="touch(memory)")
PERIODIC = Row("periodic", "something, collected", body="touch(memory)", periodic=True)
PEER = Row("peer", "another", body="touch(memory)")
SUITE = Suite("example", "An example.", rows=(BASELINE, CLOSE, PERIODIC), peers=(PEER,))
EVERYTHING = Selection(
    modes=(StressMode.NONE,),
    sizes=(1024,),
    touch="first",
    collect_every=256,
    stress=StressOptions(),
)


def names(**changes: object) -> list[str]:
    return [cell.name for cell in replace(EVERYTHING, **changes).cells(SUITE)]


def test_defaults_are_not_in_the_names():
    assert names() == ["baseline[NONE]", "close[NONE]", "periodic[NONE]"]


def test_modes_follow_one_another_within_a_row():
    both = (StressMode.NONE, StressMode.MEMORY)
    assert names(modes=both)[:2] == ["baseline[NONE]", "baseline[MEMORY]"]


def test_the_baseline_runs_once_whatever_the_sizes():
    assert names(sizes=(1024, 1 << 20)) == [
        "baseline[NONE]",
        "close[NONE]",
        "close[NONE,size=1MiB]",
        "periodic[NONE]",
        "periodic[NONE,size=1MiB]",
    ]


def test_parameters_are_in_the_names_of_rows_they_matter_to():
    assert names(touch="all", collect_every=16) == [
        "baseline[NONE]",
        "close[NONE,touch=all]",
        "periodic[NONE,collect-every=16,touch=all]",
    ]


@pytest.mark.parametrize(
    ("mode", "name"),
    [
        (StressMode.NONE, "baseline[NONE]"),
        (StressMode.MEMORY, "baseline[MEMORY,heap-kind=bytes,heap-objects=9]"),
        (StressMode.THREADS, "baseline[THREADS,spin=native,threads=2]"),
    ],
)
def test_stress_options_are_in_the_names_of_their_own_mode(mode, name):
    stress = StressOptions(9, "bytes", 2, "native")
    assert names(modes=(mode,), stress=stress)[0] == name


def test_that_single_calls_are_timed_is_not_in_the_names():
    assert names(sampled=True) == names()
    assert all(cell.sampled for cell in replace(EVERYTHING, sampled=True).cells(SUITE))


def test_peers_come_last_and_only_when_asked_for():
    assert names(peers=True)[-1] == "peer[NONE]"


def test_only_matches_the_name_of_a_row():
    assert names(only=re.compile("^close$"), sizes=(1024, 2048)) == [
        "close[NONE]",
        "close[NONE,size=2KiB]",
    ]


def test_only_matches_the_full_name():
    assert names(only=re.compile("size=2KiB"), sizes=(1024, 2048)) == [
        "close[NONE,size=2KiB]",
        "periodic[NONE,size=2KiB]",
    ]


def test_a_plan_names_the_rows_for_each_size():
    plan = (Part(1024), Part(1 << 20, rows=("close",)))
    assert names(sizes=(1024, 1 << 20), plan=plan) == [
        "baseline[NONE]",
        "close[NONE]",
        "close[NONE,size=1MiB]",
        "periodic[NONE]",
    ]


def test_a_table_is_told_the_size_that_the_name_leaves_out():
    assert Cell(CLOSE, StressMode.NONE, Work(1024)).usual_params == {"size": "1KiB"}


def test_a_loop_of_a_periodic_row_counts_its_operations():
    assert Cell(PERIODIC, StressMode.NONE, Work(collect_every=16)).operations_per_loop == 16
