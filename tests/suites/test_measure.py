"""A value in the worker: where the clock, the probes and the stress begin and end."""

import gc
import sys
import threading
from dataclasses import replace
from itertools import pairwise

import pytest

from results.histogram import Histogram
from stress.modes import StressMode, StressOptions
from stress.probes.cpu import CPUProbe
from suites.cells import Cell
from suites.measure import Measurement
from suites.rows import Row, Sharing, Work
from suites.scope_close import ROWS

CELL = Cell(Row("empty", "nothing", body="pass"), StressMode.NONE, Work())
SHARED = next(row for row in ROWS if row.name == "shared_close")
GARBAGE = Row("garbage", "a cycle", body="x = []\nx.append(x)", cyclic=True)


def full_collections(measurement: Measurement, loops: int) -> int:
    """How many collections of all generations a value brings with it."""
    seen: list[int] = []

    def count(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            seen.append(1)

    gc.callbacks.append(count)
    try:
        measurement.value(loops)
    finally:
        gc.callbacks.remove(count)
    return len(seen)


def test_a_value_is_a_duration_above_zero():
    with Measurement(CELL, ()) as measurement:
        assert measurement.value(1) > 0


def test_metrics_are_those_of_the_last_values():
    with Measurement(CELL, ("cpu",)) as measurement:
        values = [measurement.value(loops) for loops in (1, 1, 100_000, 1)]
        figures = [measurement.metrics(last)["score.cpu"]["values"] for last in range(5)]
    assert len(values) == 4
    assert [len(found) for found in figures] == [0, 1, 2, 3, 4]
    assert all(longer[1:] == shorter for shorter, longer in pairwise(figures))


def test_the_figures_of_an_operation_are_over_the_operations_of_a_loop():
    row = Row("garbage", "a cycle", body="x = []\nx.append(x)", periodic=True)
    with Measurement(Cell(row, StressMode.NONE, Work(collect_every=50)), ("gc",)) as measurement:
        measurement.value(3)
        assert measurement.metrics(1)["gc.count"]["values"] == [3]


def test_garbage_of_one_value_is_not_in_the_next():
    cell = Cell(GARBAGE, StressMode.NONE, Work())
    loops = gc.get_threshold()[0] // 2
    with Measurement(cell, ("gc",)) as measurement:
        for _ in range(4):
            measurement.value(loops)
        assert measurement.metrics(4)["gc.count"]["values"] == [0, 0, 0, 0]


def test_while_calibrating_short_values_are_not_followed_by_a_collection():
    with Measurement(CELL, (), collect_above_s=1000.0) as measurement:
        measurement.value(1)
        assert full_collections(measurement, 1) == 0


def test_while_calibrating_long_values_are_followed_by_a_collection():
    with Measurement(CELL, (), collect_above_s=0.0) as measurement:
        measurement.value(1)
        assert full_collections(measurement, 1) == 1


@pytest.mark.parametrize("collect_above_s", [None, 1.0], ids=["measuring", "calibrating"])
def test_stress_threads_work_during_a_value_and_only_then(collect_above_s):
    stress = StressOptions(threads=1)
    cell = Cell(CELL.row, StressMode.THREADS, Work(), stress)
    with Measurement(cell, ("cpu",), collect_above_s) as measurement:
        before = measurement.stress.spins()
        measurement.value(2_000_000)
        after = measurement.stress.spins()
        assert after > before
        sum(range(2_000_000))
        assert measurement.stress.spins() == after


def calls(measurement: Measurement, last: int) -> int:
    return sum(count for _, count in measurement.samples(last))


def test_every_operation_of_the_last_values_is_a_sample():
    with Measurement(replace(CELL, sampled=True), ()) as measurement:
        for loops in (100, 20, 3):
            measurement.value(loops)
        assert [calls(measurement, last) for last in range(4)] == [0, 3, 23, 123]


def test_operations_of_periodic_rows_are_samples_each():
    row = replace(GARBAGE, cyclic=False, periodic=True)
    cell = Cell(row, StressMode.NONE, Work(collect_every=50), sampled=True)
    with Measurement(cell, ("gc",)) as measurement:
        measurement.value(3)
        assert calls(measurement, 1) == 150
        assert measurement.metrics(1)["gc.count"]["values"] == [3]


def test_calls_while_calibrating_are_not_kept():
    with Measurement(replace(CELL, sampled=True), (), collect_above_s=1.0) as measurement:
        measurement.value(10)
        assert measurement.samples(0) == []


def test_there_are_no_samples_where_none_were_asked_for():
    with Measurement(CELL, ()) as measurement:
        measurement.value(10)
        assert measurement.samples(1) is None


def test_the_call_that_the_collector_runs_in_is_the_slow_one():
    """The mean of 50 calls hides that one of them pays for all."""
    heap = "cycles = [[] for _ in range(50_000)]\nfor cycle in cycles:\n    cycle.append(cycle)"
    row = Row("paying", "a collection of a heap", setup=heap, body="pass", periodic=True)
    cell = Cell(row, StressMode.NONE, Work(collect_every=50), sampled=True)
    gc.freeze()  # what the tests have made before would take seconds
    try:
        with Measurement(cell, ("gc",)) as measurement:
            measurement.value(20)
            histogram = Histogram.of(measurement.samples(1))
            usual_pause = measurement.metrics(1)["gc.time"]["values"][0] / 20
    finally:
        gc.unfreeze()
    assert histogram.percentile("0.50") < histogram.percentile("0.95") < usual_pause / 10
    assert histogram.percentile("0.99") > usual_pause / 10


def test_threads_that_wait_for_the_gil_are_seen_in_the_slowest_calls_alone():
    """Were the GIL released around each close, the median would be a turn of the others."""
    cell = Cell(SHARED, StressMode.THREADS, Work(), StressOptions(threads=2), sampled=True)
    with Measurement(cell, ()) as measurement:
        loops = 1000
        while measurement.value(loops) < 4 * sys.getswitchinterval():
            loops *= 2
        histogram = Histogram.of(measurement.samples(1))
    assert histogram.percentile("0.99") < sys.getswitchinterval() / 10
    assert histogram.percentile("1.00") > sys.getswitchinterval() / 2


def test_probes_of_a_row_are_on_beside_the_chosen_ones():
    row = replace(CELL.row, probes=(CPUProbe,))
    with Measurement(replace(CELL, row=row), ("gc",)) as measurement:
        measurement.value(1)
        assert {"gc.time", "score.cpu"} <= set(measurement.metrics(1))


def test_figures_of_the_process_leave_the_stress_threads_out():
    cell = replace(CELL, mode=StressMode.THREADS, stress=StressOptions(threads=2))
    with Measurement(cell, ("cpu",)) as measurement:
        assert len(measurement.stress.thread_ids) == 2
        measurement.value(5_000_000)
        found = measurement.metrics(1)
    norm, own = (found[name]["values"][0] for name in ("cpu.norm", "score.cpu"))
    assert own <= norm < 2 * own


def test_the_peak_of_the_process_is_the_rss_probe_s():
    with Measurement(CELL, ("rss",)) as measurement:
        peak = measurement.process_peak_rss()
    assert peak is None or peak > 1 << 20


def test_without_the_rss_probe_the_peak_is_left_to_pyperf():
    with Measurement(CELL, ("gc",)) as measurement:
        assert measurement.process_peak_rss() is None


def test_cpu_time_is_that_of_all_measured_threads():
    row = Row("busy", "counts", body="sum(range(20_000))")
    figures = {}
    for threads in (1, 3):
        cell = Cell(row, StressMode.NONE, Work(threads_measured=threads))
        with Measurement(cell, ("cpu",)) as measurement:
            measurement.value(200)
            (figures[threads],) = measurement.metrics(1)["score.cpu"]["values"]
    assert 0.4 < figures[3] / figures[1] < 2.5, "an operation costs as much in any thread"


def test_operations_of_all_threads_count_in_the_figures():
    row = Row("garbage", "a cycle", body="x = []\nx.append(x)", periodic=True)
    cell = Cell(row, StressMode.NONE, Work(collect_every=50, threads_measured=2))
    with Measurement(cell, ("gc",)) as measurement:
        seen = []
        probe = measurement._window.probes[0]
        figures = probe.figures
        probe.figures = lambda duration, operations: (
            seen.append(operations),
            figures(duration, operations),
        )[1]
        measurement.value(3)
    assert seen == [3 * 50 * 2]


def test_threads_are_gone_after_the_measurement():
    before = threading.active_count()
    with Measurement(Cell(CELL.row, StressMode.NONE, Work(threads_measured=4)), ()):
        assert threading.active_count() == before + 3
    assert threading.active_count() == before


@pytest.mark.parametrize("scope", ["own", "shared"])
def test_single_calls_of_all_threads_are_timed(scope):
    sharing = Sharing("shared.scope = None", "pass", "pass")
    row = replace(CELL.row, sharing=sharing)
    work = Work(threads_measured=3, scope=scope)
    with Measurement(Cell(row, StressMode.NONE, work, sampled=True), ()) as measurement:
        measurement.value(2)
        calls = measurement.samples(1)
    operations = 2 * (work.operations_per_scope if scope == "shared" else 1)
    assert sum(count for _, count in calls) == 3 * operations


def test_a_timeline_is_recorded_around_each_value_and_its_thread_counts_as_stress():
    with Measurement(CELL, ("cpu",), timeline=True) as measurement:
        assert measurement.timeline.thread_id in measurement.stress.thread_ids
        for loops in (1, 1000, 1):
            measurement.value(loops)
        assert len(measurement.recordings(2)) == 2
        assert all(len(one.points) >= 2 for one in measurement.recordings(3))


def test_while_loops_are_sought_no_timeline_is_recorded():
    with Measurement(CELL, (), collect_above_s=1.0, timeline=True) as measurement:
        measurement.value(1)
        assert measurement.timeline is None
        assert measurement.recordings(1) == []


def test_the_pauses_are_those_of_the_last_values():
    with Measurement(Cell(GARBAGE, StressMode.NONE, Work()), ("gc",)) as measurement:
        for loops in (100_000, 100_000, 1):
            measurement.value(loops)
        counts = [len(measurement.pauses(last)) for last in (1, 3)]
        totals = [sum(number for _, number in measurement.pauses(last)) for last in (1, 2, 3)]
    figures = measurement.metrics(3)["gc.count"]["values"]
    assert totals == [sum(figures[-last:]) for last in (1, 2, 3)]
    assert counts[0] <= counts[1]


def test_without_a_probe_of_the_collector_there_are_no_pauses():
    with Measurement(CELL, ("cpu",)) as measurement:
        measurement.value(1)
        assert measurement.pauses(1) is None
