"""A value in the worker: where the clock, the probes and the stress begin and end."""

import gc
from itertools import pairwise

import pytest

from stress.modes import StressMode, StressOptions
from suites.cells import Cell
from suites.measure import Measurement
from suites.rows import Row, Work

CELL = Cell(Row("empty", "nothing", body="pass"), StressMode.NONE, Work())
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


def test_the_peak_of_the_process_is_the_rss_probe_s():
    with Measurement(CELL, ("rss",)) as measurement:
        peak = measurement.process_peak_rss()
    assert peak is None or peak > 1 << 20


def test_without_the_rss_probe_the_peak_is_left_to_pyperf():
    with Measurement(CELL, ("gc",)) as measurement:
        assert measurement.process_peak_rss() is None
