"""From a row's text to the loop that is timed."""

import gc
from dataclasses import replace

import pytest

from suites.peers import PEERS
from suites.rows import PAGE_BYTES, TOUCHES, Row, Work, compile_loop, loop_source
from suites.scope_close import ROWS
from suites.thread_alloc import ROWS as THREAD_ROWS

ROW = Row(
    "recorded",
    "keeps the memory of each operation",
    setup="done = []",
    body="""
        memory = bytearray(size)
        touch(memory)
        done.append(memory)
    """,
)


def memories(row: Row, work: Work, loops: int = 1) -> list[bytearray]:
    """What the operations of so many loops have written."""
    loop = compile_loop(row, work)
    loop(range(loops))
    return loop.__globals__["done"]


def test_a_loop_is_one_operation_for_each_turn():
    assert len(memories(ROW, Work(), loops=3)) == 3


def test_the_size_is_what_the_body_allocates():
    assert [len(memory) for memory in memories(ROW, Work(size=77))] == [77]


def test_touching_nothing_leaves_the_memory_as_it_was():
    assert memories(ROW, Work(touch="none")) == [bytearray(1024)]


def test_touching_first_writes_one_byte_of_each_page():
    (memory,) = memories(ROW, Work(size=3 * PAGE_BYTES + 1, touch="first"))
    assert [index for index, byte in enumerate(memory) if byte] == [
        0,
        PAGE_BYTES,
        2 * PAGE_BYTES,
        3 * PAGE_BYTES,
    ]


def test_touching_first_within_a_page_is_a_single_store():
    assert "memory[0] = 1" in loop_source(ROW, Work(size=PAGE_BYTES)).splitlines()[2]
    assert "for page" not in loop_source(ROW, Work(size=PAGE_BYTES))


def test_touching_all_writes_every_byte():
    assert memories(ROW, Work(size=5000, touch="all")) == [bytearray(b"\1" * 5000)]


def test_touching_is_the_same_text_for_all_rows():
    work = Work(size=1 << 20)
    touched = {
        loop_source(row, work).partition("for page")[2].splitlines()[1].strip()
        for row in (*ROWS, *PEERS)
        if row.sized
    }
    assert touched == {"memory[page] = 1"}


def test_a_periodic_loop_is_n_operations_and_one_collection():
    collections = []
    gc.callbacks.append(lambda phase, info: collections.append((phase, info["generation"])))
    try:
        done = memories(replace(ROW, periodic=True), Work(collect_every=5), loops=2)
    finally:
        gc.callbacks.pop()
    assert len(done) == 10
    assert [entry for entry in collections if entry[1] == 2] == [("start", 2), ("stop", 2)] * 2


def test_where_single_calls_are_timed_a_periodic_loop_is_told_when_to_collect():
    collections = []
    gc.callbacks.append(lambda phase, info: collections.append((phase, info["generation"])))
    try:
        loop = compile_loop(replace(ROW, periodic=True), Work(collect_every=2), sampled=True)
        loop([False, True, False, False, True])
    finally:
        gc.callbacks.pop()
    assert len(loop.__globals__["done"]) == 5
    assert [entry for entry in collections if entry[1] == 2] == [("start", 2), ("stop", 2)] * 2


def test_where_single_calls_are_timed_other_loops_are_the_same():
    assert loop_source(ROW, Work(), sampled=True) == loop_source(ROW, Work())


def test_names_of_the_setup_are_local_to_the_loop():
    code = compile_loop(ROW, Work()).__code__
    assert {"done", "size"} <= set(code.co_varnames)


def test_the_listed_text_is_the_timed_text():
    assert (
        loop_source(Row("empty", "nothing", body="pass"), Work()) == "for _ in times:\n    pass\n"
    )


def test_a_missing_module_is_an_import_error_when_the_loop_is_made():
    with pytest.raises(ImportError, match="no_such_module"):
        compile_loop(replace(ROW, setup="import no_such_module"), Work())


@pytest.mark.parametrize("touch", TOUCHES)
@pytest.mark.parametrize("size", [1, 1024, 3 * PAGE_BYTES], ids=["1B", "1KiB", "3pages"])
@pytest.mark.parametrize("row", [*ROWS, *PEERS, *THREAD_ROWS], ids=lambda row: row.name)
def test_every_row_runs_at_every_size_with_every_touch(row, size, touch):
    assert compile_loop(row, Work(size, touch, collect_every=2))(range(2)) is None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_leaves_garbage_for_the_collector_only_if_it_says_so(row):
    loop = compile_loop(row, Work(collect_every=2))
    loop(range(1))
    gc.collect()
    loop(range(2))
    assert (gc.collect() > 0) == row.cyclic


def test_names_of_rows_are_told_apart():
    names = [row.name for row in (*ROWS, *PEERS)]
    assert len(set(names)) == len(names)
