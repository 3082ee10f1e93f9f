"""Recording what scopes do: the events, and the folder they go to."""

import ctypes
import gc
import json
import threading

import pytest

import scopes
from scopes import _core

if not hasattr(_core, "start_events"):
    pytest.skip("a build without events", allow_module_level=True)


@pytest.fixture
def recorded(folder, read_events):
    """The events of a function that is called while they are recorded."""

    def run(function):
        with scopes.record(folder):
            function()
        return read_events(folder)

    return run


# ---- events --------------------------------------------------------------------------------------


def test_a_life_is_recorded_from_opening_to_dropping(recorded, explicit):
    def life():
        scope = explicit()
        segment = scope.allocate(100, align=64)
        memoryview(segment).release()
        scope.close()

    events = recorded(life)
    assert [(e.operation, e.size, e.kind, e.align) for e in events] == [
        ("open", 0, {scopes.ConfinedScope: 1, scopes.SharedScope: 2}[explicit], 0),
        ("allocate", 100, 6, 6),
        ("export", 100, 0, 0),
        ("unexport", 100, 0, 0),
        ("close", 0, 0, 0),
        ("drop", 100, 0, 0),
        ("drop_scope", 0, 0, 0),
    ]
    assert [e.sequence for e in events] == list(range(7))
    opened, allocated = events[:2]
    assert {e.other for e in events if e.operation in ("open", "allocate", "close")} == {
        opened.other
    }
    assert {e.object for e in events if e.size} == {allocated.object}


def test_times_are_those_of_the_monotonic_clock(recorded):
    import time

    before = time.monotonic_ns()
    events = recorded(lambda: [scopes.ConfinedScope().close() for _ in range(3000)])
    after = time.monotonic_ns()
    times = [event.time for event in events]
    assert times == sorted(times)
    assert before <= times[0] < times[-1] <= after


def test_callbacks_run_between_closing_and_close(recorded):
    def life():
        with scopes.ConfinedScope() as scope:
            scope.callback(lambda: scopes.SharedScope().close())

    names = [event.operation for event in recorded(life)]
    assert names[:5] == ["open", "closing", "open", "close", "drop_scope"]
    assert names[5:] == ["close", "drop_scope"]


def test_an_implicit_scope_is_closed_by_its_finalizer(recorded):
    events = recorded(lambda: scopes.ImplicitScope().allocate(10))
    assert [(e.operation, e.kind) for e in events] == [
        ("open", 3),
        ("allocate", 6),
        ("drop", 0),
        ("close", 1),
        ("drop_scope", 0),
    ]


def test_a_scope_that_the_collector_closes_is_recorded(recorded):
    def cycle():
        segment = scopes.ImplicitScope().allocate(10)
        segment.scope.callback(lambda held: None, segment)
        del segment
        gc.collect()

    names = [event.operation for event in recorded(cycle)]
    assert sorted(names) == ["allocate", "close", "closing", "drop", "drop_scope", "open"]


def test_a_pin_is_an_export(recorded):
    def life():
        with scopes.ConfinedScope() as scope, scope.allocate(8).pin():
            pass

    names = [event.operation for event in recorded(life)]
    assert names[:4] == ["open", "allocate", "export", "unexport"]


def test_an_export_that_is_refused_is_none(recorded):
    def life():
        scope = scopes.ConfinedScope()
        segment = scope.allocate(8)
        scope.close()
        with pytest.raises(scopes.ScopeClosedError):
            memoryview(segment)

    assert "export" not in [event.operation for event in recorded(life)]


def test_foreign_memory_is_adopted_and_not_allocated(recorded):
    number = ctypes.c_uint64(7)

    def life():
        with scopes.ConfinedScope() as scope:
            scope.adopt(ctypes.addressof(number), 8)

    events = recorded(life)
    assert [(e.operation, e.size) for e in events[:3]] == [
        ("open", 0),
        ("adopt", 8),
        ("drop", 8),
    ]


def test_a_part_names_the_segment_it_is_taken_of(recorded):
    def life():
        with scopes.ConfinedScope() as scope:
            segment = scope.allocate(100)
            part = segment[10:30]
            part.toreadonly()

    events = recorded(life)
    allocated = next(e for e in events if e.operation == "allocate")
    part, readonly = (e for e in events if e.operation == "part")
    assert (part.other, part.size) == (allocated.object, 20)
    assert (readonly.other, readonly.size) == (part.object, 20)
    dropped = [e.object for e in events if e.operation == "drop"]
    assert sorted(dropped) == sorted([allocated.object, part.object, readonly.object])


def test_a_constructor_that_fails_leaves_a_whole_life(recorded):
    def fail():
        with pytest.raises(ValueError, match="limit"):
            scopes.SharedScope(limit=-1)

    assert [e.operation for e in recorded(fail)] == ["open", "close", "drop_scope"]


def test_what_happens_outside_is_not_recorded(folder, read_events):
    scope = scopes.ConfinedScope()
    with scopes.record(folder):
        scope.allocate(1)
    scope.close()
    assert [e.operation for e in read_events(folder)] == ["allocate", "drop"]


# ---- threads -------------------------------------------------------------------------------------


def test_threads_keep_their_names_though_they_have_ended(folder, read_events):
    def work():
        scopes.ConfinedScope().close()

    with scopes.record(folder):
        scopes.ConfinedScope().close()
        for name in ("first", "second"):
            thread = threading.Thread(target=work, name=name)
            thread.start()
            thread.join()
    threads = json.loads((folder / "threads.json").read_text())
    assert [(t["name"], t["main"]) for t in threads] == [
        ("MainThread", True),
        ("first", False),
        ("second", False),
    ]
    assert sorted({event.thread for event in read_events(folder)}) == sorted(
        t["id"] for t in threads
    )


def test_no_event_of_many_threads_is_lost(folder, together, read_events):
    lives = 2000

    def work():
        for _ in range(lives):
            scopes.SharedScope().close()

    with scopes.record(folder):
        assert together(*[work] * 4) == []
    found = read_events(folder)
    assert [event.sequence for event in found] == list(range(4 * lives * 3))
    per_thread = {}
    for event in found:
        per_thread.setdefault(event.thread, []).append(event.operation)
    assert set(map(tuple, per_thread.values())) == {("open", "close", "drop_scope") * lives}


def test_recordings_begin_and_end_beside_busy_threads(tmp_path, together, read_events):
    done = threading.Event()

    def work():
        while not done.is_set():
            with scopes.SharedScope() as scope:
                bytes(scope.allocate(8))

    def record():
        try:
            for number in range(20):
                with scopes.record(tmp_path / str(number)):
                    scopes.SharedScope().close()
        finally:
            done.set()

    assert together(record, *[work] * 3) == []
    for number in range(20):
        found = read_events(tmp_path / str(number))
        assert [event.sequence for event in found] == list(range(len(found)))


# ---- fork ----------------------------------------------------------------------------------------


def test_a_child_of_fork_can_begin_a_recording_at_once(folder, tmp_path, forked, read_events):
    def child():
        with scopes.record(tmp_path / "child"):
            scopes.SharedScope().close()

    with scopes.record(folder):
        scopes.SharedScope().close()
        forked(child)
        scopes.SharedScope().close()
    assert len(read_events(folder)) == 6
    assert len(read_events(tmp_path / "child")) == 3


def test_a_child_of_fork_has_nothing_to_stop(folder, forked, read_events):
    def child():
        assert _core.stop_events() is None

    with scopes.record(folder):
        scopes.SharedScope().close()
        forked(child)
    assert len(read_events(folder)) == 3
