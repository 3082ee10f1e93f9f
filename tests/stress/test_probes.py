"""Each probe over a real window, as loosely as a shared machine asks for."""

import gc
import mmap
import threading
import time

import pytest

from stress import probes
from stress.base import Stress
from stress.probes import DEFAULT_PROBES, PROBES, native, rss
from stress.probes.cpu import TICK_S, CPUProbe, read_times
from stress.probes.gc import GCProbe
from stress.probes.highwater import HighWater
from stress.probes.native import NativeProbe
from stress.probes.rss import RSSProbe
from stress.spinners import SPINNERS

MIB = 1 << 20
SIZE = 64 * MIB
#: What the rest of the process may take or give back meanwhile, and the kernel's own resolution.
SLACK = 16 * MIB


@pytest.fixture
def rss_probe():
    probe = RSSProbe()
    if probe.unsupported:
        pytest.skip(probe.unsupported)
    return probe


def raises(error):
    def function():
        raise error

    return function


def touch_and_unmap(size):
    with mmap.mmap(-1, size) as memory:
        for offset in range(0, size, mmap.PAGESIZE):
            memory[offset] = 1


def test_the_default_probes_exist_and_have_their_metrics():
    assert {name: [metric.name for metric in PROBES[name].metrics] for name in DEFAULT_PROBES} == {
        "gc": ["gc.time", "gc.count", "gc.pause.max", "gc.share"],
        "rss": ["rss.peak", "rss.growth"],
        "native": ["native.peak"],
        "cpu": ["score.cpu", "cpu.user", "cpu.system", "cpu.norm"],
        "bystander": ["bystander.rate"],
    }


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_describes_itself_in_one_line(name):
    assert PROBES[name].name == name
    assert PROBES[name].summary
    assert "\n" not in PROBES[name].summary


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_gives_a_figure_for_each_of_its_metrics(name):
    probe = PROBES[name]()
    if probe.unsupported:
        pytest.skip(probe.unsupported)
    probe.before()
    probe.after()
    assert list(probe.figures(0.25, 1)) == [metric.name for metric in probe.metrics]


def test_probes_are_made_once_for_each_name():
    made = probes.create(["gc", "cpu", "gc"])
    assert [probe.name for probe in made] == ["gc", "cpu"]


def test_an_unknown_probe_is_answered_with_the_probes_there_are():
    with pytest.raises(ValueError, match=f"^a probe is one of {', '.join(PROBES)}; found 'disk'$"):
        probes.create(["gc", "disk"])


def test_forced_collections_in_the_window_count():
    probe = GCProbe()
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    probe.before()
    gc.collect(0)
    gc.collect(2)
    probe.after()
    if enabled:
        gc.enable()
    gc.collect()
    figures = probe.figures(10.0, 1)
    assert figures["gc.count"] == 2
    assert 0 < figures["gc.pause.max"] < figures["gc.time"]


def test_the_gc_probe_is_in_nobodys_way_outside_of_windows():
    before = list(gc.callbacks)
    probe = GCProbe()
    assert gc.callbacks == before
    probe.before()
    probe.after()
    assert gc.callbacks == before


def test_memory_that_came_and_went_in_the_window_is_in_the_rss_peak(rss_probe):
    rss_probe.before()
    touch_and_unmap(SIZE)
    rss_probe.after()
    figures = rss_probe.figures(1.0, 1)
    assert SIZE - SLACK < figures["rss.growth"] < SIZE + SLACK
    assert figures["rss.peak"] > figures["rss.growth"]


def test_memory_that_came_and_went_before_the_window_is_not_in_the_rss_peak(rss_probe):
    touch_and_unmap(SIZE)
    rss_probe.before()
    rss_probe.after()
    assert rss_probe.figures(1.0, 1)["rss.growth"] < SLACK


def test_an_outer_window_keeps_the_rss_peak_that_an_inner_one_reset(rss_probe):
    inner = RSSProbe()
    rss_probe.before()
    touch_and_unmap(SIZE)
    inner.before()
    inner.after()
    rss_probe.after()
    assert inner.figures(1.0, 1)["rss.growth"] < SLACK
    assert rss_probe.figures(1.0, 1)["rss.growth"] > SIZE - SLACK


def test_the_process_keeps_its_rss_peak_when_windows_reset_it(rss_probe):
    touch_and_unmap(SIZE)
    peak = rss_probe.process_peak_rss()
    rss_probe.before()
    rss_probe.after()
    assert rss_probe.process_peak_rss() >= peak > SIZE


def test_a_kernel_that_refuses_the_reset_makes_rss_unsupported_with_the_reason(monkeypatch):
    monkeypatch.setattr(rss, "lower_peak", raises(PermissionError(13, "Permission denied")))
    probe = RSSProbe()
    assert probe.unsupported == "/proc/self/clear_refs is not writable: Permission denied"
    assert probe.process_peak_rss() is None


def test_a_system_without_procs_status_makes_rss_unsupported_with_the_reason(monkeypatch):
    monkeypatch.setattr(rss, "STATUS", "/nowhere/status")
    reason = RSSProbe().unsupported
    assert reason is not None
    assert reason.startswith("no resident memory to be read: ")
    assert "/nowhere/status" in reason


def test_native_peak_is_the_highest_level_of_the_window():
    marks = iter([7000, 3000])
    probe = NativeProbe(HighWater(read=lambda: next(marks), reset=lambda: 5000))
    probe.before()
    probe.after()
    assert probe.figures(10.0, 1) == {"native.peak": 7000}


def test_native_peak_without_scopes_in_use_is_zero():
    probe = NativeProbe(HighWater(read=lambda: 0, reset=lambda: 0))
    probe.before()
    probe.after()
    assert probe.figures(0.25, 1) == {"native.peak": 0}


def test_scopes_that_cannot_be_imported_make_native_unsupported_with_the_reason(monkeypatch):
    def missing():
        raise ImportError("No module named 'scopes._core'")

    monkeypatch.setattr(native, "process_high_water", missing)
    expected = "scopes._core can't be imported: No module named 'scopes._core'"
    assert NativeProbe().unsupported == expected


def test_native_peak_of_real_scopes_is_exact():
    import scopes

    probe = NativeProbe()
    with scopes.ConfinedScope() as outer:
        outer.allocate(1000)
        with scopes.ConfinedScope() as before_the_window:
            before_the_window.allocate(50_000)
        gc.collect()
        probe.before()
        probe.after()
        at_rest = probe.figures(0.25, 1)["native.peak"]
        probe.before()
        with scopes.ConfinedScope() as inner:
            inner.allocate(3000)
        probe.after()
    assert probe.figures(0.25, 1)["native.peak"] == at_rest + 3000


def test_native_peak_of_a_nested_window_is_kept_for_the_outer_one():
    import scopes

    outer, inner = NativeProbe(), NativeProbe()
    outer.before()
    with scopes.ConfinedScope() as scope:
        scope.allocate(3000)
    inner.before()
    inner.after()
    outer.after()
    difference = outer.figures(1.0, 1)["native.peak"] - inner.figures(1.0, 1)["native.peak"]
    assert difference == 3000


def burn(seconds):
    stop = time.thread_time() + seconds
    while time.thread_time() < stop:
        pass


def test_cpu_time_of_the_measured_thread_is_seen():
    probe = CPUProbe()
    probe.before()
    burn(0.02)
    probe.after()
    assert probe.figures(10.0, 10)["score.cpu"] >= 0.002


def test_cpu_time_of_other_threads_and_waiting_do_not_count():
    probe = CPUProbe()
    other = threading.Thread(target=burn, args=(0.05,))
    probe.before()
    other.start()
    other.join()
    probe.after()
    assert probe.figures(10.0, 1)["score.cpu"] < 0.05


def test_cpu_time_of_threads_that_ended_in_the_window_is_in_the_process_totals():
    spent = []

    def work():
        burn(0.03)
        spent.append(time.thread_time())

    probe = CPUProbe()
    probe.before()
    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    probe.after()
    assert probe.figures(10.0, 1)["cpu.norm"] >= sum(spent)


def test_busy_loops_are_user_time():
    probe = CPUProbe()
    probe.before()
    stop = time.thread_time() + max(0.05, 10 * TICK_S)
    while time.thread_time() < stop:
        sum(range(20_000))
    probe.after()
    figures = probe.figures(10.0, 1)
    assert figures["cpu.user"] > figures["cpu.system"]


def test_a_kernel_that_counts_in_ticks_is_told_of():
    notes = {metric.name: metric.note for metric in CPUProbe.metrics if metric.note}
    ticks = f"counted in ticks of {1000 * TICK_S:g} ms"
    assert notes == (dict.fromkeys(["cpu.user", "cpu.system"], ticks) if TICK_S > 1e-6 else {})


class Crowd(Stress):
    """A stress of threads that somebody else has started."""

    def __init__(self, *thread_ids):
        self.thread_ids = thread_ids


def test_a_thread_to_leave_out_that_is_gone_makes_process_figures_not_measurable(
    eventually, thread_ids
):
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    probe = CPUProbe()
    probe.attach(Crowd(thread.native_id), ())
    probe.before()
    ended.set()
    thread.join()
    eventually(lambda: thread.native_id not in thread_ids())
    probe.after()
    figures = probe.figures(10.0, 1)
    assert figures["score.cpu"] is not None
    assert figures["cpu.norm"] is figures["cpu.user"] is figures["cpu.system"] is None


@pytest.mark.parametrize("kind", SPINNERS)
def test_cpu_time_of_the_stress_threads_is_left_out(kind, eventually):
    if kind == "native":
        pytest.importorskip("stress._native")
    stress = SPINNERS[kind](2)
    window = probes.Window([CPUProbe()])
    window.attach(stress)
    try:
        before = exact_s(stress)
        window.open()
        stress.unpark()
        eventually(lambda: exact_s(stress) - before > 0.5)
        stress.park()
        window.close()
        theirs = exact_s(stress) - before
    finally:
        stress.close()
    window.record(10.0, 1)
    figures = {name: record["values"][0] for name, record in window.metrics(1).items()}
    # What is left is the work of this thread, which looks on and can't take a core of its own.
    assert 0 < figures["cpu.norm"] < figures["score.cpu"] + theirs / 10


def exact_s(stress):
    """Seconds that the stress threads have kept a core busy."""
    return sum(read_times(thread).exact for thread in stress.thread_ids) / 1e9
