"""Five ways to read a thread's time, and how fine a clock is by its steps."""

import threading
import time
from itertools import count

import pytest

from stress.probes import cpu
from stress.probes.thread_clocks import THREAD_CLOCKS, Fineness, fineness, steps

CLOCKS = pytest.mark.parametrize("clock", THREAD_CLOCKS.values(), ids=THREAD_CLOCKS)


@CLOCKS
def test_a_clock_moves_while_its_thread_works(clock):
    before = clock.read()
    assert all(step > 0 for step in steps(clock.read))
    assert clock.read() > before


@CLOCKS
def test_a_clock_counts_no_other_thread(clock):
    def work():
        stop = time.thread_time() + 0.1
        while time.thread_time() < stop:
            pass

    other = threading.Thread(target=work)
    before = clock.read()
    other.start()
    other.join()
    assert clock.read() - before < 50_000_000


@CLOCKS
def test_a_clock_reads_whole_nanoseconds(clock):
    assert isinstance(clock.read(), int)


def test_two_ways_to_the_same_clock_agree():
    before = cpu.thread_user_time_ns()
    by_id = cpu.thread_user_time_by_id_ns()
    assert before <= by_id <= cpu.thread_user_time_ns()


def test_user_time_is_no_more_than_user_and_kernel_time():
    excess = []

    def read():
        for _ in steps(time.thread_time_ns):
            excess.append(cpu.thread_user_time_ns() - time.thread_time_ns())

    # A new thread: the ticks that fall on one by chance add up over its life.
    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert max(excess) <= 2 * round(cpu.TICK_S * 1e9)


def test_fineness_is_what_steps_have_in_common_and_the_smallest():
    assert fineness([6000, 4000, 10_000]) == Fineness(resolution_ns=2000, granularity_ns=4000)


@pytest.mark.parametrize("steps_ns", [[], [5, -1], [0]])
def test_a_clock_that_does_not_move_forward_has_no_fineness(steps_ns):
    with pytest.raises(ValueError, match=r"^expected steps forward, at least one; found"):
        fineness(steps_ns)


def test_steps_are_seen_for_a_millisecond_however_many():
    readings, times = count(0, 50), count(0.0, 1e-4)
    assert steps(lambda: next(readings), least=2, now=lambda: next(times)) == [50] * 9


def test_a_coarse_clock_is_waited_for():
    readings, times = count(), count(0.0, 1e-3)
    coarse = steps(lambda: next(readings) // 40 * 10, least=3, now=lambda: next(times))
    assert coarse == [10, 10, 10]


def test_a_clock_that_stands_still_is_given_up():
    times = count(0.0, 0.25)
    assert steps(lambda: 7, now=lambda: next(times)) == []
