"""stress._probe.AllocRecorder and the totals: counters around Python's allocators."""

import ctypes
import sys
import sysconfig

import pytest

from stress._probe import (
    AllocRecorder,
    thread_allocated_bytes,
    total_allocated_bytes,
    total_allocations,
)

SIZE = 1_000_000
#: What the interpreter allocates besides, in a line or two of Python.
SLACK = 10_000
#: Bytes of a bytes object beside its content.
HEADER = sys.getsizeof(b"")
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
#: As PYTHONMALLOC takes them; without the GIL there is no malloc for objects.
ALLOCATORS = ("default", "debug", *(() if FREE_THREADED else ("malloc", "malloc_debug")))


@pytest.fixture
def recorder():
    return AllocRecorder()


def test_an_object_is_counted_with_its_size(recorder):
    recorder.start()
    bytes(57)
    recorder.stop()
    assert recorder.reading() == (HEADER + 57, 1)


def test_what_is_allocated_freed_and_allocated_again_counts_twice(recorder):
    size = 90 - HEADER
    recorder.start()
    bytes(size)
    bytes(size)
    recorder.stop()
    assert recorder.reading() == (180, 2)


def test_a_window_in_which_nothing_is_allocated_reads_zero(recorder):
    recorder.start()
    recorder.stop()
    assert recorder.reading() == (0, 0)


def test_a_free_is_no_allocation(recorder):
    memory = bytearray(SIZE)
    recorder.start()
    del memory
    recorder.stop()
    assert recorder.reading() == (0, 0)


def test_a_block_that_passes_two_domains_counts_once(recorder):
    recorder.start()
    bytearray(SIZE)
    recorder.stop()
    assert SIZE <= recorder.reading()[0] < SIZE + SLACK


@pytest.mark.parametrize("domain", ["PyMem_Raw", "PyMem_", "PyObject_"])
@pytest.mark.parametrize(
    ("function", "arguments"),
    [("Malloc", (SIZE,)), ("Calloc", (SIZE // 8, 8)), ("Realloc", (None, SIZE))],
)
def test_each_domain_counts_once_by_each_function(recorder, domain, function, arguments):
    allocate = getattr(ctypes.pythonapi, f"{domain}{function}")
    allocate.restype = ctypes.c_void_p
    recorder.start()
    memory = allocate(*arguments)
    recorder.stop()
    getattr(ctypes.pythonapi, f"{domain}Free")(ctypes.c_void_p(memory))
    assert SIZE <= recorder.reading()[0] < SIZE + SLACK


def test_a_reallocation_counts_with_its_whole_new_size(recorder):
    memory = bytearray(SIZE)
    recorder.start()
    memory.append(1)
    recorder.stop()
    assert SIZE < sys.getsizeof(memory) - SLACK <= recorder.reading()[0] < sys.getsizeof(memory)


def test_a_block_that_shrinks_counts_with_what_is_left(recorder):
    memory = bytearray(SIZE)
    recorder.start()
    del memory[SIZE // 4 :]
    recorder.stop()
    assert SIZE // 4 <= recorder.reading()[0] < SIZE // 2


def test_what_could_not_be_had_was_not_handed_out(recorder):
    recorder.start()
    with pytest.raises(MemoryError):
        bytearray(sys.maxsize - 100)
    recorder.stop()
    assert recorder.reading()[0] < SLACK


def test_a_recorder_that_runs_tells_the_figures_so_far(recorder):
    recorder.start()
    bytearray(SIZE)
    early = recorder.reading()[0]
    bytearray(SIZE)
    recorder.stop()
    assert SIZE <= early < SIZE + SLACK
    assert 2 * SIZE <= recorder.reading()[0] < 2 * SIZE + SLACK


def test_nothing_counts_while_no_recorder_runs(recorder):
    recorder.start()
    recorder.stop()
    before = total_allocated_bytes(), total_allocations(), recorder.reading()
    bytearray(SIZE)
    assert (total_allocated_bytes(), total_allocations(), recorder.reading()) == before


def test_recorders_beside_each_other_keep_their_own_figures(recorder):
    outer, inner = recorder, AllocRecorder()
    outer.start()
    bytearray(SIZE)
    inner.start()
    bytearray(SIZE)
    outer.stop()
    bytearray(SIZE)
    inner.stop()
    assert outer.reading()[0] // SIZE == inner.reading()[0] // SIZE == 2


def test_a_recorder_that_is_dropped_while_it_runs_counts_no_more(recorder):
    dropped = AllocRecorder()
    dropped.start()
    del dropped
    before = total_allocated_bytes()
    bytearray(SIZE)
    assert total_allocated_bytes() == before


def test_a_second_start_is_refused_and_the_figures_go_on(recorder):
    recorder.start()
    bytearray(SIZE)
    with pytest.raises(RuntimeError, match=r"^the recorder runs already$"):
        recorder.start()
    recorder.stop()
    assert recorder.reading()[0] >= SIZE


def test_a_stop_without_a_start_is_refused(recorder):
    with pytest.raises(RuntimeError, match=r"^the recorder does not run$"):
        recorder.stop()


def test_a_recorder_takes_no_arguments():
    with pytest.raises(TypeError, match="AllocRecorder"):
        AllocRecorder(1)


def test_recorders_leave_nothing_behind():
    references = sys.getrefcount(AllocRecorder)
    for _ in range(100):
        recorder = AllocRecorder()
        recorder.start()
        recorder.reading()
    del recorder
    assert sys.getrefcount(AllocRecorder) == references


def test_the_totals_are_no_part_of_themselves(recorder):
    recorder.start()
    readings = [total_allocated_bytes() for _ in range(2)]
    thread = [thread_allocated_bytes(), thread_allocated_bytes()]
    recorder.stop()
    assert readings[1] - readings[0] < 200  # the list may grow
    assert thread[0] == thread[1]


def test_totals_without_any_counting_are_an_error_and_no_zero(run_python):
    for function in ("total_allocated_bytes", "thread_allocations"):
        (said,) = run_python(
            f"from stress._probe import AllocRecorder, {function}\n"
            "AllocRecorder()\n"
            f"try: {function}()\n"
            "except RuntimeError as error: print(error)"
        )
        assert said == "no allocation was counted yet: expected a started AllocRecorder"


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_whatever_the_allocator_below_a_block_counts_once(run_python, allocator):
    (said,) = run_python(
        "from stress._probe import *\n"
        "recorder = AllocRecorder()\n"
        "recorder.start()\n"
        f"bytearray({SIZE})\n"
        "print(recorder.stop(), recorder.reading()[0])",
        PYTHONMALLOC=allocator,
    )
    complete, nbytes = said.split()
    assert complete == "True"
    assert SIZE <= int(nbytes) < SIZE + SLACK
