"""Which benchmarks a selection makes, and what they are called."""

import re

import pytest

from stress.modes import StressMode
from suites.allocators import Allocator
from suites.cells import Cell, Part, Selection, Suite
from suites.rows import Row, Sharing, Work

BASELINE = Row(
    "baseline",
    "nothing",
    body="pass",
    sized=False,
    sharing=Sharing("shared.scope = None", "pass", "pass"),
)
CLOSE = Row("close", "something", body="touch(memory)")
PERIODIC = Row("periodic", "something, collected", body="touch(memory)", periodic=True)
PEER = Row("peer", "another", body="touch(memory)")
SUITE = Suite("example", "An example.", rows=(BASELINE, CLOSE, PERIODIC), peers=(PEER,))


def cells(modes=(StressMode.NONE,), only=None, peers=False, plan=(), sampled=False, **values):
    """The cells of a selection with these values of parameters."""
    values = {name.replace("_", "-"): given for name, given in values.items()}
    return Selection(modes, values, only, peers, plan, sampled).cells(SUITE)


def names(**selection: object) -> list[str]:
    return [cell.name for cell in cells(**selection)]


def test_defaults_are_not_in_the_names():
    assert names() == ["baseline[NONE]", "close[NONE]", "periodic[NONE]"]


def test_modes_follow_one_another_within_a_row():
    both = (StressMode.NONE, StressMode.MEMORY)
    assert names(modes=both)[:2] == ["baseline[NONE]", "baseline[MEMORY]"]


def test_the_baseline_runs_once_whatever_the_sizes():
    assert names(size=(1024, 1 << 20)) == [
        "baseline[NONE]",
        "close[NONE]",
        "close[NONE,size=1MiB]",
        "periodic[NONE]",
        "periodic[NONE,size=1MiB]",
    ]


def test_parameters_are_in_the_names_of_rows_they_matter_to():
    assert names(touch=("all",), collect_every=(16,)) == [
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
    stress = {"heap_objects": (9,), "heap_kind": ("bytes",), "threads": (2,), "spin": ("native",)}
    assert names(modes=(mode,), **stress)[0] == name


def test_that_single_calls_are_timed_is_not_in_the_names():
    assert names(sampled=True) == names()
    assert all(cell.sampled for cell in cells(sampled=True))


def test_peers_come_last_and_only_when_asked_for():
    assert names(peers=True)[-1] == "peer[NONE]"


def test_only_matches_the_name_of_a_row():
    assert names(only=re.compile("^close$"), size=(1024, 2048)) == [
        "close[NONE]",
        "close[NONE,size=2KiB]",
    ]


def test_only_matches_the_full_name():
    assert names(only=re.compile("size=2KiB"), size=(1024, 2048)) == [
        "close[NONE,size=2KiB]",
        "periodic[NONE,size=2KiB]",
    ]


def test_a_plan_names_the_rows_for_each_size():
    plan = (Part(1024), Part(1 << 20, rows=("close",)))
    assert names(size=(1024, 1 << 20), plan=plan) == [
        "baseline[NONE]",
        "close[NONE]",
        "close[NONE,size=1MiB]",
        "periodic[NONE]",
    ]


def test_a_table_is_told_the_parameters_that_the_name_leaves_out():
    assert Cell(CLOSE, StressMode.THREADS, Work()).all_params == {
        "size": "1KiB",
        "touch": "first",
        "threads-measured": "1",
        "allocator": "default",
        "under": "none",
        "threads": "4",
        "spin": "python",
    }


def test_parameters_are_crossed_where_they_matter():
    assert names(size=(1024, 2048), touch=("all", "none"), collect_every=(16, 64)) == [
        "baseline[NONE]",
        *("close[NONE,touch=all]", "close[NONE,touch=none]"),
        *("close[NONE,size=2KiB,touch=all]", "close[NONE,size=2KiB,touch=none]"),
        *("periodic[NONE,collect-every=16,touch=all]", "periodic[NONE,collect-every=64,touch=all]"),
        "periodic[NONE,collect-every=16,touch=none]",
        "periodic[NONE,collect-every=64,touch=none]",
        "periodic[NONE,collect-every=16,size=2KiB,touch=all]",
        "periodic[NONE,collect-every=64,size=2KiB,touch=all]",
        "periodic[NONE,collect-every=16,size=2KiB,touch=none]",
        "periodic[NONE,collect-every=64,size=2KiB,touch=none]",
    ]


def test_what_a_row_writes_matters_only_where_it_writes():
    untouched = Row("untouched", "writes nothing", body="memory = bytearray(size)")
    suite = Suite("example", "An example.", rows=(untouched, CLOSE))
    selection = Selection((StressMode.NONE,), {"touch": ("all", "none")})
    assert [cell.name for cell in selection.cells(suite)] == [
        "untouched[NONE]",
        "close[NONE,touch=all]",
        "close[NONE,touch=none]",
    ]


def test_every_row_runs_with_every_allocator_and_number_of_threads():
    allocators = (Allocator(), Allocator.parse("malloc"))
    assert names(allocator=allocators, threads_measured=(1, 4), only=re.compile("^base")) == [
        "baseline[NONE]",
        "baseline[NONE,allocator=malloc]",
        "baseline[NONE,threads-measured=4]",
        "baseline[NONE,allocator=malloc,threads-measured=4]",
    ]


def test_a_scope_is_shared_by_rows_that_allow_it_and_others_run_once():
    assert names(scope=("own", "shared")) == [
        "baseline[NONE]",
        "baseline[NONE,scope=shared]",
        "close[NONE]",
        "periodic[NONE]",
    ]


def test_a_loop_with_a_shared_scope_counts_its_operations():
    (shared,) = cells(scope=("shared",), only=re.compile("^base"))
    assert shared.operations_per_loop == shared.work.operations_per_scope > 1


def test_a_loop_of_a_periodic_row_counts_its_operations():
    assert Cell(PERIODIC, StressMode.NONE, Work(collect_every=16)).operations_per_loop == 16
