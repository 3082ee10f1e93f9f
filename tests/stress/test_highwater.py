"""High-water marks shared by windows, over a counter that the test moves."""

import pytest

from stress.probes.highwater import HighWater


class Counter:
    """A level with a mark, as the kernel and the scopes keep one."""

    def __init__(self, level=0):
        self.level = self.mark = level

    def to(self, level):
        self.level = level
        self.mark = max(self.mark, level)

    def read(self):
        return self.mark

    def reset(self):
        before, self.mark = self.mark, self.level
        return before


@pytest.fixture
def counter():
    return Counter(100)


@pytest.fixture
def high_water(counter):
    return HighWater(counter.read, counter.reset)


def test_a_peak_that_is_gone_at_the_end_is_seen(counter, high_water):
    mark = high_water.open()
    counter.to(500)
    counter.to(100)
    assert high_water.close(mark) == 500


def test_a_window_in_which_nothing_moves_peaks_at_its_start(high_water):
    assert high_water.close(high_water.open()) == 100


def test_a_peak_before_the_window_does_not_count(counter, high_water):
    counter.to(900)
    counter.to(100)
    assert high_water.close(high_water.open()) == 100


def test_what_an_inner_window_resets_still_counts_for_the_outer_one(counter, high_water):
    outer = high_water.open()
    counter.to(500)
    counter.to(100)
    inner = high_water.open()
    counter.to(200)
    assert high_water.close(inner) == 200
    assert high_water.close(outer) == 500


def test_a_peak_in_an_inner_window_counts_for_the_outer_one(counter, high_water):
    outer = high_water.open()
    inner = high_water.open()
    counter.to(700)
    counter.to(100)
    assert high_water.close(inner) == 700
    assert high_water.close(outer) == 700


def test_windows_may_overlap(counter, high_water):
    first = high_water.open()
    counter.to(300)
    second = high_water.open()
    counter.to(200)
    assert high_water.close(first) == 300
    counter.to(400)
    assert high_water.close(second) == 400


def test_the_overall_peak_outlives_every_reset(counter, high_water):
    counter.to(900)
    counter.to(100)
    for _ in range(3):
        high_water.close(high_water.open())
    assert high_water.overall() == 900


def test_the_overall_peak_covers_what_no_window_saw(counter, high_water):
    high_water.close(high_water.open())
    counter.to(800)
    counter.to(100)
    assert high_water.overall() == 800


def test_a_closed_window_is_not_folded_into_any_more(counter, high_water):
    mark = high_water.open()
    high_water.close(mark)
    counter.to(800)
    high_water.open()
    assert mark.peak == 100


def test_a_window_that_cannot_be_closed_is_given_up(counter):
    def fails():
        raise OSError("gone")

    high_water = HighWater(fails, counter.reset)
    mark = high_water.open()
    with pytest.raises(OSError, match="gone"):
        high_water.close(mark)
    counter.to(800)
    high_water.open()
    assert mark.peak == 0
