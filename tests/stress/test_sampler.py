"""Single calls timed in C: what is in a sample, and that nothing of the sampler is elsewhere."""

import gc
import sys
import time
from itertools import islice

import pytest

from stress import sampler
from stress._probe import Sampler, tsc_hz

KERNEL = ("clock_gettime", 1e9)


def clocks():
    """The clocks of this machine, with their rates."""
    hz = tsc_hz(0.001)
    return [KERNEL] if hz is None else [KERNEL, ("rdtscp", hz)]


@pytest.fixture(params=clocks(), ids=lambda clock: clock[0])
def made(request):
    return Sampler(*request.param)


def last(seconds):
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop:
        pass


def number(samples):
    return sum(count for _, count in samples)


def test_there_are_as_many_samples_as_turns(made):
    assert list(made.arm(1000)) == [None] * 1000
    assert number(made.take()) == 1000


def test_no_turn_is_no_sample(made):
    assert list(made.arm(0)) == []
    assert made.take() == []


def test_a_sample_is_as_long_as_its_turn(made):
    wanted = iter([0.003, 0.001, 0.002])
    started = time.perf_counter()
    for _ in made.arm(3):
        last(next(wanted))
    elapsed = time.perf_counter() - started
    samples = [seconds for seconds, count in made.take() for _ in range(count)]
    error = 1.001  # half a bucket, and the calibration
    assert samples[0] * error > 1e-3
    assert samples[1] * error > 2e-3
    assert samples[2] * error > 3e-3
    assert sum(samples) < elapsed * error


def test_samples_come_shortest_first_and_are_taken_once(made):
    for _ in made.arm(5000):
        pass
    taken = [seconds for seconds, _ in made.take()]
    assert taken == sorted(set(taken))
    assert made.take() == []


def test_samples_add_up_over_loops(made):
    for turns in (10, 20):
        for _ in made.arm(turns):
            pass
    assert number(made.take()) == 30


def test_time_between_two_loops_is_in_no_sample(made):
    for _ in made.arm(1):
        pass
    last(0.05)
    for _ in made.arm(1):
        pass
    assert max(seconds for seconds, _ in made.take()) < 0.05


def test_a_turn_that_was_left_early_is_no_sample(made):
    list(islice(made.arm(10), 3))
    list(made.arm(1))
    assert number(made.take()) == 3  # two whole ones, and the one of the second loop


def test_with_a_period_the_last_turn_of_each_is_marked():
    made = Sampler(*KERNEL, period=3)
    assert list(made.arm(7)) == [False, False, True, False, False, True, False]
    assert list(made.arm(3)) == [False, False, True]


def test_a_period_of_one_marks_every_turn():
    assert list(Sampler(*KERNEL, period=1).arm(2)) == [True, True]


def test_sampling_makes_no_object_and_no_collection(made):
    collections = []

    def note(phase, info):
        collections.append(phase)

    def loop(times):
        for _ in times:
            pass

    loop(made.arm(1000))
    gc.collect()
    gc.callbacks.append(note)
    try:
        before = sys.getallocatedblocks()
        loop(made.arm(100_000))
        made_blocks = sys.getallocatedblocks() - before
    finally:
        gc.callbacks.remove(note)
    assert collections == []
    assert made_blocks < 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sundial", 1e9), "a clock is one of rdtscp, clock_gettime; found 'sundial'"),
        (("clock_gettime", 10.0), "hz must be from 1e3 to 1e12 ticks a second"),
        (("clock_gettime", float("nan")), "hz must be from 1e3 to 1e12 ticks a second"),
        (("clock_gettime", 1e9, -1), "period must be 0 or more turns, found -1"),
    ],
)
def test_bad_arguments_say_what_was_expected(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Sampler(*arguments)


def test_fewer_turns_than_none_are_refused(made):
    with pytest.raises(ValueError, match=r"^turns must be 0 or more, found -1$"):
        made.arm(-1)


@pytest.mark.parametrize("span", [0.0, 60.0, float("nan")])
def test_a_calibration_has_bounds(span):
    with pytest.raises(ValueError, match=r"^a calibration takes from 0.001 to 10 seconds$"):
        tsc_hz(span)


@pytest.mark.skipif(tsc_hz(0.001) is None, reason="no rdtscp of constant rate")
def test_two_calibrations_agree():
    assert tsc_hz(0.02) == pytest.approx(tsc_hz(0.02), rel=0.01)


@pytest.fixture
def clocksource(tmp_path, monkeypatch):
    """Sets what the kernel is said to keep its time by."""
    path = tmp_path / "current_clocksource"
    monkeypatch.setattr(sampler, "CLOCKSOURCE", path)
    sampler.system_clock.cache_clear()
    yield path.write_text
    sampler.system_clock.cache_clear()


@pytest.mark.parametrize("name", ["hpet\n", "kvm-clock\n", None])
def test_a_counter_that_the_kernel_does_not_trust_is_not_used(clocksource, name):
    if name is not None:
        clocksource(name)
    clock = sampler.system_clock()
    assert (clock.name, str(clock)) == ("clock_gettime", "clock_gettime")
    assert clock.resolution_s == time.clock_getres(time.CLOCK_MONOTONIC)


@pytest.mark.skipif(tsc_hz(0.001) is None, reason="no rdtscp of constant rate")
def test_a_counter_that_the_kernel_trusts_is_used_and_named_with_its_rate(clocksource):
    clocksource("tsc\n")
    clock = sampler.system_clock()
    assert str(clock) == f"rdtscp at {clock.hz / 1e6:.0f} MHz"
    assert clock.resolution_s * clock.hz == pytest.approx(1)


def test_the_overhead_is_that_of_a_turn():
    assert 0 <= sampler.overhead() < 1e-4
