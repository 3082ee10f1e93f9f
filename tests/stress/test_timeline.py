"""Resident memory over time: the native recorder from Python, and what is kept of its points."""

import gc
import mmap
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stress.base import StressError
from stress.timeline import CAPACITY, Timeline, decimated

GROWTH = 64 * 2**20


@pytest.fixture
def timeline():
    made = Timeline(interval_s=1e-5)
    yield made
    made.close()


def test_memory_that_is_held_for_a_while_is_seen(timeline):
    timeline.record()
    with mmap.mmap(-1, GROWTH, flags=mmap.MAP_PRIVATE) as memory:
        for page in range(0, GROWTH, mmap.PAGESIZE):
            memory[page] = 1
        held = timeline.pause()
    assert held.points[-1][1] - held.points[0][1] > GROWTH / 2
    assert held.taken >= len(held.points) >= 2
    assert held.cpu_s > 0


def test_each_recording_begins_anew(timeline):
    for _ in range(3):
        timeline.record()
        recording = timeline.pause()
        times = [time for time, _ in recording.points]
        assert times == sorted(times)
        assert len(times) == recording.taken or recording.taken > CAPACITY


def test_points_are_taken_while_this_thread_collects(timeline, eventually):
    kept = [[] for _ in range(100_000)]
    timeline.record()
    taken = partial(timeline._lib.timeline_taken, timeline._native)
    before = taken()

    def more_after_a_collection():
        gc.collect()
        return taken() > before + 2

    eventually(more_after_a_collection)
    assert len(kept) == 100_000
    assert timeline.pause().taken > before + 2


def test_the_thread_ends_with_it(thread_ids):
    timeline = Timeline()
    assert timeline.thread_id in thread_ids()
    timeline.close()
    timeline.close()
    assert timeline.thread_id not in thread_ids()
    with pytest.raises(RuntimeError, match="the timeline is closed"):
        timeline.record()


def test_an_interval_of_nothing_is_an_error_with_the_reason():
    with pytest.raises(StressError, match="a timeline can't be recorded: Invalid argument"):
        Timeline(interval_s=0)


rising = st.lists(
    st.tuples(st.floats(0, 1e3), st.integers(0, 2**40)), min_size=1, max_size=300
).map(sorted)


@given(points=rising, most=st.integers(4, 60))
def test_thinning_out_loses_no_peak_no_dip_and_no_end(points, most):
    kept = decimated(points, most)
    sizes = [size for _, size in points]
    assert len(kept) <= max(most, 1)
    assert kept == sorted(kept)
    assert set(kept) <= set(points)
    assert max(size for _, size in kept) == max(sizes)
    assert min(size for _, size in kept) == min(sizes)
    assert kept[-1] == points[-1]


def test_points_that_fit_are_all_kept():
    points = [(0.0, 5), (1.0, 6), (2.0, 4)]
    assert decimated(points, 4) == points


def test_fewer_than_four_points_are_refused():
    with pytest.raises(ValueError, match="expected 4 points or more to keep, found 3"):
        decimated([], 3)
