"""Array data in the allocation counters, by NumPy's own handler."""

import threading

import pytest

from stress._probe import AllocRecorder

np = pytest.importorskip("numpy")

SIZE = 1_000_000
SLACK = 10_000


def counted(work):
    recorder = AllocRecorder()
    recorder.start()
    work()
    assert recorder.stop()
    return recorder.reading()[0]


@pytest.mark.parametrize("make", [np.empty, np.zeros, np.ones], ids=lambda make: make.__name__)
def test_array_data_counts_once(make):
    make(8)  # what NumPy prepares for its first call
    assert SIZE <= counted(lambda: make(SIZE, "u1")) < SIZE + SLACK


def test_an_array_that_grows_counts_with_its_new_size():
    array = np.zeros(SIZE, "u1")
    assert 3 * SIZE <= counted(lambda: array.resize(3 * SIZE, refcheck=False)) < 3 * SIZE + SLACK


def test_small_arrays_count_though_numpy_caches_their_memory():
    def many():
        for _ in range(1000):
            np.empty(1000, "u1")

    many()
    assert counted(many) >= 1000 * 1000


def test_arrays_of_other_threads_count():
    def other():
        thread = threading.Thread(target=np.zeros, args=(SIZE, "u1"))
        thread.start()
        thread.join()

    other()
    assert SIZE <= counted(other) < SIZE + 4 * SLACK


def test_a_view_is_no_allocation_of_data():
    array = np.zeros(SIZE, "u1")
    assert counted(lambda: array[10:]) < SLACK


def test_arrays_of_before_the_counters_end_well():
    array = np.arange(1000)
    counted(lambda: None)
    array.resize(2000, refcheck=False)
    assert array[:1000].sum() == sum(range(1000))


def test_numpy_is_counted_when_it_is_loaded_later(run_python):
    (said,) = run_python(
        "from stress._probe import AllocRecorder\n"
        "recorder = AllocRecorder()\n"
        "import numpy\n"
        "numpy.ones(8)\n"
        "recorder.start()\n"
        f"numpy.ones({SIZE}, 'u1')\n"
        "print(recorder.stop(), recorder.reading()[0])"
    )
    complete, nbytes = said.split()
    assert complete == "True"
    assert SIZE <= int(nbytes) < SIZE + SLACK


def test_numpy_is_not_imported_by_the_counters(run_python):
    said = run_python(
        "import sys\n"
        "from stress._probe import AllocRecorder\n"
        "recorder = AllocRecorder()\n"
        "recorder.start()\n"
        "print('numpy' in sys.modules)"
    )
    assert said == ["False"]
