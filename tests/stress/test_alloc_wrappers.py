"""The allocation counters beside others that wrap Python's allocators, each in a fresh process."""

import importlib.util

import pytest

SIZE = 1_000_000
SLACK = 10_000

#: How each wrapper begins and ends.
WRAPPERS = {
    "tracemalloc": ("import tracemalloc; tracemalloc.start()", "tracemalloc.stop()"),
    "memray": (
        "import memray, tempfile\n"
        "record = tempfile.TemporaryDirectory()\n"
        "tracker = memray.Tracker(record.name + '/record', trace_python_allocators=True)\n"
        "tracker.__enter__()",
        "tracker.__exit__(None, None, None)",
    ),
}
PRELUDE = f"""
from stress._probe import AllocRecorder

def measure():
    started = recorder.start()
    bytearray({SIZE})
    print(started, recorder.stop(), recorder.reading()[0])
"""
MAKE = "recorder = AllocRecorder()"


@pytest.fixture(params=WRAPPERS)
def wrapper(request):
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return WRAPPERS[request.param]


@pytest.fixture
def figures(run_python):
    """Runs lines in a fresh interpreter: (started, stopped, bytes) of each measure() in them."""

    def run(*lines):
        rows = [line.split() for line in run_python("\n".join([PRELUDE, *lines]))]
        return [(started == "True", stopped == "True", int(n)) for started, stopped, n in rows]

    return run


def assert_complete(found, count):
    assert len(found) == count
    for started, stopped, nbytes in found:
        assert started
        assert stopped
        assert SIZE <= nbytes < SIZE + SLACK


def test_below_a_wrapper_a_block_counts_once(wrapper, figures):
    start, stop = wrapper
    found = figures(
        MAKE, "measure()", start, "measure()", stop, "measure()", start, "measure()", stop
    )
    assert_complete(found, 4)


def test_above_a_wrapper_a_block_counts_once_and_after_its_end_as_well(wrapper, figures):
    start, stop = wrapper
    found = figures(
        start, MAKE, "measure()", stop, "measure()", start, "measure()", stop, "measure()"
    )
    assert_complete(found, 4)


def test_a_wrapper_that_drops_the_counters_while_they_count_is_found_out(wrapper, figures):
    start, stop = wrapper
    dropped, again = figures(
        *(start, MAKE, "recorder.start()", stop, "print(True, recorder.stop(), 0)", "measure()")
    )
    assert dropped == (True, False, 0)
    assert_complete([again], 1)


def test_two_wrappers_come_and_go_in_any_order(figures):
    pytest.importorskip("memray")
    (trace, untrace), (track, untrack) = WRAPPERS["tracemalloc"], WRAPPERS["memray"]
    found = figures(
        *(trace, MAKE, track, "measure()", untrace, "measure()", trace, "measure()"),
        *(untrack, "measure()", untrace, "measure()"),
    )
    assert_complete(found, 5)


def test_memory_of_before_and_after_the_counters_is_freed_and_grown_by_either(wrapper, figures):
    start, stop = wrapper
    found = figures(
        "old = [bytearray(n) for n in (10, 1000, 100_000)]",
        start,
        "middle = [bytearray(n) for n in (10, 1000, 100_000)]",
        MAKE,
        "new = [bytearray(n) for n in (10, 1000, 100_000)]",
        "for memory in old + middle + new: memory.extend(bytes(len(memory)))",
        stop,
        "for memory in old + middle + new: memory.extend(bytes(len(memory)))",
        "del old, middle, new, memory",
        "measure()",
    )
    assert_complete(found, 1)
