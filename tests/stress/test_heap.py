"""The heap of MEMORY stress."""

import gc
import sys

import pytest

from stress import StressError, heap
from stress.heap import check_fits, live_heap, needed_bytes


@pytest.fixture
def collector():
    """Leaves the collector as it was."""
    enabled = gc.isenabled()
    yield
    (gc.enable if enabled else gc.disable)()


def test_the_collector_tracks_every_container():
    with live_heap(1000, "containers") as objects:
        assert len(objects) == 1000
        assert all(map(gc.is_tracked, objects))


def test_the_containers_are_tracked_still_after_a_collection():
    with live_heap(100, "containers") as objects:
        gc.collect()
        assert all(map(gc.is_tracked, objects))


def test_the_collector_knows_no_bytes():
    with live_heap(100, "bytes") as objects:
        assert not any(map(gc.is_tracked, objects))


@pytest.mark.parametrize("kind", ["containers", "bytes"])
def test_every_object_is_one_of_its_own(kind):
    with live_heap(1000, kind) as objects:
        assert len(set(map(id, objects))) == 1000


def test_the_heap_starts_in_the_oldest_generation():
    with live_heap(10, "containers") as objects:
        young = {id(item) for generation in (0, 1) for item in gc.get_objects(generation)}
        assert young.isdisjoint(map(id, objects))


def test_the_collector_does_not_run_while_the_heap_is_made(monkeypatch):
    states = []
    monkeypatch.setitem(heap.MAKERS, "containers", lambda count: [states.append(gc.isenabled())])
    with live_heap(1, "containers"):
        assert states == [False]


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.usefixtures("collector")
def test_the_collector_is_as_it_was_once_the_heap_stands(enabled):
    (gc.enable if enabled else gc.disable)()
    with live_heap(10, "containers"):
        assert gc.isenabled() is enabled


def test_nothing_is_frozen():
    before = gc.get_freeze_count()
    with live_heap(10, "containers"):
        assert gc.get_freeze_count() == before


def test_the_heap_is_released_though_the_list_is_held():
    with live_heap(10, "containers") as objects:
        one = objects[0]
        held = sys.getrefcount(one)
    assert objects == []
    assert sys.getrefcount(one) == held - 1


def test_the_heap_is_released_when_the_body_raises():
    with pytest.raises(KeyError), live_heap(10, "containers") as objects:
        raise KeyError
    assert objects == []


def test_memory_that_runs_out_on_the_way_is_named(monkeypatch):
    def no_memory(count):
        raise MemoryError

    monkeypatch.setitem(heap.MAKERS, "bytes", no_memory)
    with (
        pytest.raises(StressError, match=r"memory ran out while a heap of 1,000 bytes was made"),
        live_heap(1000, "bytes"),
    ):
        pytest.fail("the block ran")


@pytest.mark.parametrize("kind", ["containers", "bytes"])
def test_the_estimate_covers_the_objects_own_sizes_and_little_more(kind):
    with live_heap(10_000, kind) as objects:
        sizes = sys.getsizeof(objects) + sum(map(sys.getsizeof, objects))
    assert sizes <= needed_bytes(10_000, kind) <= 1.5 * sizes


def test_a_heap_that_fits_to_the_byte_is_accepted():
    assert check_fits(100, "bytes", needed_bytes(100, "bytes")) is None


def test_a_heap_one_byte_too_large_is_refused():
    with pytest.raises(StressError, match="can't fit"):
        check_fits(100, "bytes", needed_bytes(100, "bytes") - 1)
