"""What --under puts around a worker, and what it sees there."""

import tracemalloc

import pytest

import scopes
from scopes import _core
from stress.modes import StressMode
from stress.probes.alloc import total_allocations
from suites.cells import Cell, Selection
from suites.measure import Measurement
from suites.multi_array_alloc import SUITE
from suites.rows import BASELINE, Row, Work
from suites.watchers import WATCHERS

SCOPE = Row(
    "scope", "one", setup="from scopes import ConfinedScope", body="ConfinedScope().close()"
)
PLAIN = Row("plain", "one", body="bytearray(10_000)")


def events_made():
    """Of the recorder that is on, which ends with it; None where none is."""
    return _core.stop_events()


@pytest.mark.parametrize("name", WATCHERS)
def test_a_row_is_measured_and_the_watcher_is_off_again(name):
    row = SCOPE if WATCHERS[name].of_scopes else PLAIN
    with Measurement(Cell(row, StressMode.NONE, Work(), under=name), ()) as measurement:
        assert measurement.value(10) > 0
    assert not tracemalloc.is_tracing()
    assert events_made() is None


def test_tracemalloc_traces_the_row():
    with Measurement(Cell(PLAIN, StressMode.NONE, Work(), under="tracemalloc"), ()) as measurement:
        tracemalloc.reset_peak()
        measurement.value(5)
        assert tracemalloc.get_traced_memory()[1] >= 10_000


def test_the_counters_count():
    with Measurement(Cell(PLAIN, StressMode.NONE, Work(), under="alloc-probe"), ()) as measurement:
        before = total_allocations()
        measurement.value(50)
        assert total_allocations() - before >= 50


def test_a_listener_writes_the_events():
    with Measurement(Cell(SCOPE, StressMode.NONE, Work(), under="listener"), ()) as measurement:
        measurement.value(50)
        assert events_made()["records"] >= 50 * 3


def test_without_a_listener_nothing_is_written():
    with Measurement(Cell(SCOPE, StressMode.NONE, Work(), under="events"), ()) as measurement:
        measurement.value(50)
        assert events_made()["records"] == 0


def test_debugging_is_on():
    row = Row(
        "unclosed",
        "closes with an export alive",
        setup="from scopes import ConfinedScope\nfrom contextlib import suppress",
        body="""
            scope = ConfinedScope()
            view = memoryview(scope.allocate(8))
            try:
                scope.close()
            except BufferError as error:
                assert "<unclosed>" in str(error), str(error)
            view.release()
            scope.close()
        """,
    )
    with Measurement(Cell(row, StressMode.NONE, Work(), under="debug"), ()) as measurement:
        measurement.value(1)


def test_a_recording_that_goes_on_is_not_disturbed(tmp_path):
    cell = Cell(SCOPE, StressMode.NONE, Work(), under="events")
    with scopes.record(tmp_path / "recording"):
        with pytest.raises(RuntimeError, match="another recording has begun"):
            Measurement(cell, ())
        scopes.ConfinedScope().close()


def test_rows_without_scopes_are_left_out_where_scopes_are_watched():
    rows = {name: set() for name in ("none", "tracemalloc", "listener")}
    for name, found in rows.items():
        values = {"size": (1,), "under": (name,)}
        found |= {
            cell.row.name
            for cell in Selection(modes=(StressMode.NONE,), values=values).cells(SUITE)
        }
    assert rows["listener"] == {"scope_segments", "segment_parts", "scope_zeros"}
    assert rows["none"] == rows["tracemalloc"] > rows["listener"]
    assert BASELINE.name in rows["tracemalloc"]


def test_the_watcher_is_in_the_name():
    cell = Cell(SCOPE, StressMode.NONE, Work(), under="listener")
    assert cell.name == "scope[NONE,under=listener]"
