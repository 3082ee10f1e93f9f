"""stress._probe.GCRecorder, the entry of gc.callbacks that is written in C."""

import gc
import importlib.util
import re
import sys
import time

import pytest

from stress import _probe
from stress._probe import GCRecorder


@pytest.fixture
def recorder():
    """An installed recorder; other collections than the test's own are held off."""
    enabled = gc.isenabled()
    gc.disable()
    recorder = GCRecorder(capacity=8)
    recorder.install()
    yield recorder
    if recorder in gc.callbacks:
        recorder.remove()
    if enabled:
        gc.enable()


@pytest.mark.parametrize("generation", [0, 1, 2])
def test_a_forced_collection_of_each_generation_counts(recorder, generation):
    gc.collect(generation)
    assert recorder.reading()[0] == 1
    assert recorder.recent()[0][2] == generation


def test_a_collection_that_the_interpreter_starts_counts():
    recorder = GCRecorder()
    thresholds = gc.get_threshold()
    enabled = gc.isenabled()
    gc.enable()
    recorder.install()
    gc.set_threshold(10)
    try:
        kept = [[] for _ in range(1000)]
    finally:
        gc.set_threshold(*thresholds)
        recorder.remove()
        if not enabled:
            gc.disable()
    assert len(kept) == 1000
    assert recorder.reading()[0] > 0


def test_nothing_counts_before_install_and_after_remove():
    recorder = GCRecorder()
    gc.collect()
    recorder.install()
    recorder.remove()
    gc.collect()
    assert recorder.reading() == (0, 0, 0)


def test_a_new_install_begins_at_zero(recorder):
    gc.collect()
    recorder.remove()
    recorder.install()
    assert recorder.reading() == (0, 0, 0)
    assert recorder.recent() == []


def test_what_was_noted_can_be_read_after_remove(recorder):
    gc.collect()
    recorder.remove()
    assert recorder.reading()[0] == len(recorder.recent()) == 1


def test_pauses_lie_on_the_monotonic_clock_between_the_readings_around_them(recorder):
    before = time.monotonic_ns()
    gc.collect()
    after = time.monotonic_ns()
    ((start, stop, _),) = recorder.recent()
    assert before <= start <= stop <= after


def test_more_collections_than_the_ring_holds_are_all_counted(recorder):
    for _ in range(100):
        gc.collect(0)
    assert recorder.reading()[0] == 100
    assert len(recorder.recent()) == 8


def test_sum_and_maximum_are_those_of_the_pauses(recorder):
    for generation in (0, 2, 1, 0):
        gc.collect(generation)
    lengths = [stop - start for start, stop, _ in recorder.recent()]
    assert recorder.reading() == (4, sum(lengths), max(lengths))


def test_the_ring_keeps_the_latest_oldest_first(recorder):
    for generation in (2, 2, 2, 0, 1, 2, 0, 1, 2, 0, 1):
        gc.collect(generation)
    recent = recorder.recent()
    assert [generation for _, _, generation in recent] == [0, 1, 2, 0, 1, 2, 0, 1]
    assert recent == sorted(recent)


def test_noting_a_collection_makes_no_object(recorder):
    info = {"generation": 0, "collected": 0, "uncollectable": 0}
    recorder("start", info)
    before = sys.getallocatedblocks()
    for _ in range(1000):
        recorder("start", info)
        recorder("stop", info)
    assert sys.getallocatedblocks() - before < 100


def test_a_stop_without_its_start_is_not_a_collection(recorder):
    recorder("stop", {"generation": 0})
    assert recorder.reading() == (0, 0, 0)


def test_a_phase_that_is_neither_start_nor_stop_is_passed_over(recorder):
    assert recorder("pause", {"generation": 0}) is None
    assert recorder.reading() == (0, 0, 0)


def test_recorders_beside_each_other_keep_their_own_record(recorder):
    gc.collect()
    inner = GCRecorder()
    inner.install()
    gc.collect()
    inner.remove()
    assert (recorder.reading()[0], inner.reading()[0]) == (2, 1)


def test_a_second_install_is_refused(recorder):
    with pytest.raises(RuntimeError, match=r"^the recorder is installed already$"):
        recorder.install()
    assert gc.callbacks.count(recorder) == 1


def test_remove_without_install_is_refused():
    with pytest.raises(RuntimeError, match=r"^the recorder is not installed$"):
        GCRecorder().remove()


def test_a_recorder_taken_out_by_somebody_else_says_so(recorder):
    gc.callbacks.remove(recorder)
    with pytest.raises(RuntimeError, match=r"taken out of gc\.callbacks.*record is not complete$"):
        recorder.remove()


def test_a_recorder_taken_out_by_somebody_else_can_be_installed_again(recorder):
    gc.callbacks.remove(recorder)
    with pytest.raises(RuntimeError):
        recorder.remove()
    recorder.install()
    gc.collect()
    assert recorder.reading()[0] == 1


@pytest.mark.parametrize("capacity", [0, -1, 1 << 21])
def test_a_capacity_out_of_range_is_refused(capacity):
    expected = f"capacity must be from 1 to 1048576 records, got {capacity}"
    with pytest.raises(ValueError, match=f"^{expected}$"):
        GCRecorder(capacity)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "expects (phase, info) as the collector gives them, got 0 arguments"),
        (("start",), "expects (phase, info) as the collector gives them, got 1 arguments"),
        ((b"start", {}), "expects (str, dict), got (bytes, dict)"),
        (("start", None), "expects (str, dict), got (str, NoneType)"),
    ],
)
def test_a_call_unlike_the_collectors_is_refused(arguments, expected):
    with pytest.raises(TypeError, match=re.escape(expected)):
        GCRecorder()(*arguments)


def test_a_stop_without_a_generation_is_refused(recorder):
    with pytest.raises(KeyError, match="generation"):
        recorder("stop", {})


def test_recorders_leave_nothing_behind():
    references = sys.getrefcount(GCRecorder)
    for _ in range(100):
        recorder = GCRecorder()
        recorder.install()
        recorder.remove()
        recorder.recent()
    del recorder
    assert sys.getrefcount(GCRecorder) == references


def test_each_copy_of_the_module_has_state_of_its_own():
    spec = importlib.util.find_spec("stress._probe")
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    assert copy.GCRecorder is not _probe.GCRecorder
    recorder = copy.GCRecorder()
    recorder.install()
    gc.collect()
    recorder.remove()
    assert recorder.reading()[0] >= 1


def test_the_lengths_of_all_collections_can_be_taken_once(recorder):
    for _ in range(100):
        gc.collect(0)
    count, total_ns, longest_ns = recorder.reading()
    lengths = recorder.take()
    assert sum(number for _, number in lengths) == count == 100
    assert lengths == sorted(lengths)
    assert lengths[-1][0] == pytest.approx(longest_ns / 1e9, rel=1e-3, abs=1e-9)
    summed = sum(seconds * number for seconds, number in lengths)
    assert summed == pytest.approx(total_ns / 1e9, rel=1e-3)
    assert recorder.take() == []
    assert recorder.reading()[0] == 100


def test_a_new_install_forgets_the_lengths(recorder):
    gc.collect()
    recorder.remove()
    recorder.install()
    assert recorder.take() == []
