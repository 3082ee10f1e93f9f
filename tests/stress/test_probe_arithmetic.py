"""The figures that probes make of two readings and a duration, without any clock."""

import pytest

from stress.probes.alloc import Allocated, alloc_figures
from stress.probes.alloc_live import live_difference
from stress.probes.cpu import CPUTimes, Snapshot, clock_id, process_figures, score_figures
from stress.probes.gc import Collections, gc_figures
from stress.probes.rss import Resident, parse_status, resolution, rss_figures

MIB = 1 << 20
PAGE = 4096


@pytest.mark.parametrize(("duration_s", "share"), [(0.25, 0.2), (10.0, 0.005)])
def test_gc_share_is_of_the_duration_and_the_rest_is_not(duration_s, share):
    seen = Collections(runs=3, total_ns=50_000_000, longest_ns=30_000_000)
    assert gc_figures(seen, duration_s) == {
        "gc.time": 0.05,
        "gc.count": 3,
        "gc.pause.max": 0.03,
        "gc.share": share,
    }


def test_no_collection_is_zero_in_every_gc_figure():
    assert gc_figures(Collections(0, 0, 0), 0.25) == {
        "gc.time": 0,
        "gc.count": 0,
        "gc.pause.max": 0,
        "gc.share": 0,
    }


def test_gc_share_of_no_time_is_not_measurable():
    figures = gc_figures(Collections(1, 1000, 1000), 0.0)
    assert figures["gc.share"] is None
    assert figures["gc.time"] == 1e-6


@pytest.mark.parametrize(("duration_ns", "expected"), [(250_000_000, 0.25e-6), (10**10, 1e-5)])
def test_cpu_time_is_per_operation(duration_ns, expected):
    assert score_figures(5, 5 + duration_ns, 1_000_000) == {"score.cpu": pytest.approx(expected)}


def test_a_cpu_clock_that_does_not_move_is_zero():
    assert score_figures(7, 7, 10) == {"score.cpu": 0}


def test_cpu_time_of_no_operation_is_not_measurable():
    assert score_figures(0, 10, 0) == {"score.cpu": None}


NOBODY: dict[int, CPUTimes] = {}
UNKNOWN = {"cpu.user": None, "cpu.system": None, "cpu.norm": None}
MS = 1_000_000


@pytest.mark.parametrize("duration_ms", [250, 10_000])
def test_cpu_figures_of_the_process_are_differences(duration_ms):
    busy = duration_ms * MS
    before = Snapshot(CPUTimes(user=40 * MS, ticked=60 * MS, exact=61 * MS), NOBODY)
    after = Snapshot(
        CPUTimes(user=40 * MS + busy, ticked=64 * MS + busy, exact=61 * MS + busy), NOBODY
    )
    assert process_figures(before, after, 1000) == {
        "cpu.user": duration_ms / 1000,
        "cpu.system": 0.004,
        "cpu.norm": pytest.approx(duration_ms / 1e6),
    }


def test_a_process_that_does_nothing_has_cpu_figures_of_zero():
    snapshot = Snapshot(CPUTimes(5, 6, 7), {1: CPUTimes(1, 2, 3)})
    assert process_figures(snapshot, snapshot, 10) == dict.fromkeys(UNKNOWN, 0)


def test_threads_that_are_left_out_do_not_count():
    before = Snapshot(
        CPUTimes(0, 0, 0), {7: CPUTimes(0, 0, 0), 8: CPUTimes(5 * MS, 5 * MS, 5 * MS)}
    )
    after = Snapshot(
        CPUTimes(100 * MS, 120 * MS, 118 * MS),
        {7: CPUTimes(40 * MS, 48 * MS, 50 * MS), 8: CPUTimes(25 * MS, 25 * MS, 23 * MS)},
    )
    assert process_figures(before, after, 1) == {
        "cpu.user": pytest.approx(0.040),
        "cpu.system": pytest.approx(0.012),
        "cpu.norm": pytest.approx(0.050),
    }


def test_a_left_out_thread_that_vanished_makes_cpu_figures_not_measurable():
    before = Snapshot(CPUTimes(0, 0, 0), {7: CPUTimes(0, 0, 0)})
    assert process_figures(before, Snapshot(CPUTimes(9, 9, 9), NOBODY), 1) == UNKNOWN


def test_cpu_figures_without_the_clocks_are_not_measurable():
    assert process_figures(None, None, 1) == UNKNOWN


def test_a_tick_between_the_readings_of_a_snapshot_is_no_negative_time():
    before = Snapshot(CPUTimes(user=0, ticked=4 * MS, exact=0), NOBODY)
    after = Snapshot(CPUTimes(user=4 * MS, ticked=4 * MS, exact=0), NOBODY)
    assert process_figures(before, after, 1)["cpu.system"] == 0


def test_process_cpu_time_of_no_operation_is_not_measurable():
    snapshot = Snapshot(CPUTimes(0, 0, 0), NOBODY)
    assert process_figures(snapshot, snapshot, 0)["cpu.norm"] is None


def test_ids_of_clocks_are_those_of_the_kernel():
    # include/linux/posix-timers_types.h: ~id << 3, plus 4 for a thread, plus what is counted
    assert clock_id(counts=2) == -8 + 2
    assert clock_id(counts=1, thread_id=5) == -48 + 4 + 1


def test_rss_growth_is_over_the_start():
    assert rss_figures(30 * MIB, 94 * MIB) == {"rss.peak": 94 * MIB, "rss.growth": 64 * MIB}


def test_rss_that_does_not_move_has_grown_by_zero():
    assert rss_figures(30 * MIB, 30 * MIB) == {"rss.peak": 30 * MIB, "rss.growth": 0}


def test_an_rss_peak_that_the_kernels_batches_put_below_the_start_is_no_growth():
    assert rss_figures(30 * MIB, 30 * MIB - 64 * 1024)["rss.growth"] == 0


@pytest.mark.parametrize(
    ("cpus", "pages"), [(1, 32), (2, 2 * 32), (16, 16 * 32), (17, 17 * 34), (64, 64 * 128)]
)
def test_rss_resolution_is_a_batch_of_pages_for_each_cpu(cpus, pages):
    assert resolution(cpus, PAGE) == pages * PAGE


def test_resident_bytes_are_read_from_the_kernels_text():
    text = b"Name:\tpython\nVmHWM:\t   27928 kB\nVmRSS:\t   27000 kB\nRssAnon:\t   21892 kB\n"
    assert parse_status(text) == Resident(now=27000 * 1024, peak=27928 * 1024)


@pytest.mark.parametrize(
    ("text", "missing"),
    [(b"VmRSS:\t1 kB\n", "VmHWM"), (b"VmHWM:\t1 kB\n", "VmRSS"), (b"", "VmRSS")],
)
def test_a_kernel_text_without_the_line_is_named(text, missing):
    with pytest.raises(ValueError, match=f"^/proc/self/status has no line {missing}$"):
        parse_status(text)


@pytest.mark.parametrize(("duration_s", "rate"), [(0.25, 2000), (10.0, 50)])
def test_the_rate_of_allocation_is_by_time_and_the_norm_by_operation(duration_s, rate):
    assert alloc_figures(Allocated(nbytes=500, allocations=20), duration_s, 5) == {
        "alloc.rate": rate,
        "alloc.rate.norm": 100,
        "alloc.count.norm": 4,
    }


def test_no_allocation_is_zero_in_every_figure():
    assert set(alloc_figures(Allocated(0, 0), 0.25, 1).values()) == {0}


def test_a_rate_of_no_time_and_a_norm_of_no_operation_are_not_measurable():
    assert alloc_figures(Allocated(10, 1), 0.0, 0) == {
        "alloc.rate": None,
        "alloc.rate.norm": None,
        "alloc.count.norm": None,
    }


def test_a_difference_over_live_threads_is_that_of_the_threads_alive_at_its_end():
    assert live_difference({1: 100, 2: 30}, {1: 140, 2: 30}) == 40


def test_a_difference_over_live_threads_has_all_of_a_new_thread():
    assert live_difference({1: 100}, {1: 100, 2: 30}) == 30


def test_a_difference_over_live_threads_misses_a_thread_that_vanished():
    assert live_difference({1: 100, 2: 30}, {1: 140}) == 40
    assert live_difference({1: 100}, {1: 100}) == 0
