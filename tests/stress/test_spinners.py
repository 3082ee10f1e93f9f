"""The threads of THREADS stress, of both kinds."""

import os
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from stress import StressError, StressMode, StressOptions, spinners, stressed
from stress.affinity import move_away, other_cpus
from stress.spinners import NativeSpinners, PythonSpinners


@pytest.fixture(params=["python", "native"])
def options(request):
    return StressOptions(threads=3, spin=request.param)


@pytest.fixture
def stress(options):
    with stressed(StressMode.THREADS, options) as stress:
        yield stress


def runtime_ns(thread_id):
    """CPU time of a thread, by the kernel's nanosecond account."""
    with open(f"/proc/self/task/{thread_id}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])


def test_spinners_start_parked(stress):
    assert stress.spins() == 0


def test_unparked_spinners_work(stress, eventually):
    stress.unpark()
    before = stress.spins()
    eventually(lambda: stress.spins() > before)


def test_parked_spinners_do_no_work(stress, eventually):
    for _ in range(5):
        before = stress.spins()
        stress.unpark()
        eventually(lambda before=before: stress.spins() > before)
        stress.park()
        parked = stress.spins()
        for _ in range(100):
            os.sched_yield()
        assert stress.spins() == parked


def test_parked_spinners_take_no_cpu_time(options, thread_ids):
    before = thread_ids()
    with stressed(StressMode.THREADS, options) as stress:
        stress.unpark()
        stress.park()
        used = {thread: runtime_ns(thread) for thread in thread_ids() - before}
        stop = time.thread_time() + 0.02
        while time.thread_time() < stop:
            os.sched_yield()
        assert len(used) == options.threads
        # A thread that sleeps in a lock may still have its last steps there to account for.
        assert all(runtime_ns(thread) - ns < 1_000_000 for thread, ns in used.items())


def test_every_spinner_has_its_thread(options, thread_ids, eventually):
    before = thread_ids()
    with stressed(StressMode.THREADS, options):
        assert len(thread_ids() - before) == options.threads
    eventually(lambda: thread_ids() <= before)


def test_a_stress_tells_the_ids_of_its_threads(options, thread_ids):
    before = thread_ids()
    with stressed(StressMode.THREADS, options) as stress:
        assert set(stress.thread_ids) == thread_ids() - before
        assert len(stress.thread_ids) == options.threads


def test_parking_and_unparking_twice_is_harmless(stress, eventually):
    stress.park()
    stress.unpark()
    stress.unpark()
    eventually(lambda: stress.spins() > 0)
    stress.park()
    stress.park()


def test_spinners_still_work_after_many_changes_in_a_row(stress, eventually):
    for _ in range(20):
        stress.unpark()
        stress.park()
    before = stress.spins()
    stress.unpark()
    eventually(lambda: stress.spins() > before)


def test_spinners_end_while_they_run(options, thread_ids, eventually):
    before = thread_ids()
    with stressed(StressMode.THREADS, options) as stress:
        stress.unpark()
    eventually(lambda: thread_ids() <= before)


def test_a_stress_that_has_ended_keeps_its_count_and_does_nothing(options, eventually):
    with stressed(StressMode.THREADS, options) as stress:
        stress.unpark()
        eventually(lambda: stress.spins() > 0)
    spins = stress.spins()
    stress.unpark()
    stress.park()
    assert stress.spins() == spins > 0


def test_the_switch_interval_is_as_it_was_after_unparking(stress):
    before = sys.getswitchinterval()
    stress.unpark()
    assert sys.getswitchinterval() == before


def test_an_interrupt_while_unparking_leaves_spinners_that_can_be_parked(monkeypatch):
    with stressed(StressMode.THREADS, StressOptions(threads=2)) as stress:
        wait_for = stress._settled.wait_for

        def interrupted(predicate):
            monkeypatch.setattr(stress._settled, "wait_for", wait_for)
            raise KeyboardInterrupt

        monkeypatch.setattr(stress._settled, "wait_for", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stress.unpark()
        stress.park()
        parked = stress.spins()
        os.sched_yield()
        assert stress.spins() == parked


def test_signals_go_to_other_threads_than_native_spinners(thread_ids):
    before = thread_ids()
    with stressed(StressMode.THREADS, StressOptions(threads=1, spin="native")):
        (spinner,) = thread_ids() - before
        with open(f"/proc/self/task/{spinner}/status", encoding="ascii") as file:
            blocked = next(line for line in file if line.startswith("SigBlk:"))
    sigint = 1 << (2 - 1)
    assert int(blocked.split()[1], 16) & sigint


def test_a_python_thread_that_cannot_start_ends_those_that_did(monkeypatch, thread_ids, eventually):
    before = thread_ids()
    start = threading.Thread.start

    def third_fails(thread):
        if thread.name == "spinner-2":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", third_fails)
    with pytest.raises(
        StressError, match="4 spinner threads were asked for and 2 could be started"
    ):
        PythonSpinners(4)
    eventually(lambda: thread_ids() <= before)


def test_native_threads_that_cannot_start_are_an_error_with_the_systems_reason(monkeypatch):
    ffi = SimpleNamespace(NULL=None, errno=11)
    lib = SimpleNamespace(spinners_start=lambda count: None)
    monkeypatch.setattr(spinners, "native_library", lambda: (ffi, lib))
    with pytest.raises(StressError, match=f"^4 native spinner threads can't .*{os.strerror(11)}$"):
        NativeSpinners(4)


def test_native_spinning_without_its_extension_says_how_to_build_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "stress._native", None)
    with pytest.raises(StressError, match=r"python setup\.py build_ext --inplace"):
        StressOptions(spin="native").check(StressMode.THREADS)


def test_other_cpus_are_those_a_thread_may_not_use():
    assert other_cpus(range(4), {1, 2}) == {0, 3}
    assert other_cpus(range(2), {0, 1}) == set()


@pytest.fixture
def pinned():
    """Pins this thread to one CPU for a test, as an isolated measurement is."""
    own = os.sched_getaffinity(0)
    if len(own) < 2:
        pytest.skip("needs two CPUs")
    os.sched_setaffinity(0, {min(own)})
    yield min(own)
    os.sched_setaffinity(0, own)


def test_spinners_leave_the_measured_threads_cpu_alone(options, pinned, thread_ids):
    before = thread_ids()
    with stressed(StressMode.THREADS, options) as stress:
        started = thread_ids() - before
        assert len(started) == options.threads
        assert all(os.sched_getaffinity(thread) == stress.cpus for thread in started)
        assert stress.cpus
        assert pinned not in stress.cpus


def test_spinners_run_anywhere_when_the_measured_thread_does(monkeypatch, options):
    machine = set(range(os.sysconf("SC_NPROCESSORS_CONF")))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: machine)
    with stressed(StressMode.THREADS, options) as stress:
        assert stress.cpus == set()


def test_threads_stay_where_they_are_when_no_other_cpu_is_left(monkeypatch):
    monkeypatch.setattr(os, "sysconf", lambda name: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})
    assert move_away([threading.get_native_id()]) == set()


def test_threads_stay_where_they_are_when_the_container_allows_no_other_cpu(monkeypatch):
    def outside_the_cpuset(pid, cpus):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "sysconf", lambda name: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    monkeypatch.setattr(os, "sched_setaffinity", outside_the_cpuset)
    assert move_away([threading.get_native_id()]) == set()


def test_a_thread_that_may_not_be_moved_is_an_error(monkeypatch):
    def not_permitted(pid, cpus):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sysconf", lambda name: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    monkeypatch.setattr(os, "sched_setaffinity", not_permitted)
    with pytest.raises(PermissionError):
        move_away([threading.get_native_id()])
