"""From addresses to slots: each rule, and random events against a model in Python."""

from suites.recordings.format import (
    EVENTS,
    PART,
    UNTIMED,
    Allocator,
    Operation,
    ScopeKind,
)
from suites.recordings.resolve import Resolver

NAMES = {number: name for name, number in EVENTS.items()}
A, F, R = Operation.ALLOCATE, Operation.FREE, Operation.REALLOCATE


# ---- heaps ---------------------------------------------------------------------------------------


def test_a_slot_is_used_again_and_the_table_is_the_peak(resolved):
    found, info = resolved((A, 10, 0, 5), (A, 20, 0, 6), (F, 10), (A, 30, 0, 7), (F, 20), (F, 30))
    assert found == [
        (A, 0, None, 5),
        (A, 1, None, 6),
        (F, 0, None, 5),
        (A, 0, None, 7),
        (F, 1, None, 6),
        (F, 0, None, 7),
    ]
    assert info["objects"] == 2
    assert info["end"] == {"live_objects": 0, "live_bytes": 0}
    assert info["peak_bytes"] == 13


def test_an_address_that_is_used_again_is_another_object(resolved):
    found, info = resolved((A, 10, 0, 5), (F, 10), (A, 10, 0, 9))
    assert found == [(A, 0, None, 5), (F, 0, None, 5), (A, 0, None, 9)]
    assert info["end"] == {"live_objects": 1, "live_bytes": 9}
    assert (info["preexisting"], info["invalid"]) == ({}, {})


def test_a_reallocation_keeps_its_slot_wherever_it_goes(resolved):
    found, info = resolved((A, 10, 0, 5), (R, 10, 20, 50), (R, 20, 20, 3), (F, 20))
    assert found == [(A, 0, None, 5), (R, 0, None, 50), (R, 0, None, 3), (F, 0, None, 3)]
    assert info["peak_bytes"] == 50


def test_reallocating_nothing_allocates_and_reallocating_to_nothing_frees(resolved):
    found, _ = resolved((R, 0, 10, 5), (R, 10, 0, 0))
    assert found == [(A, 0, None, 5), (F, 0, None, 5)]


def test_freeing_nothing_is_left_out_as_such(resolved):
    found, info = resolved((F, 0), (A, 10, 0, 1))
    assert found == [(A, 0, None, 1)]
    assert info["invalid"] == {"no address": 1}


def test_what_is_older_than_the_recording_is_counted_and_not_invalid(resolved):
    found, info = resolved((F, 10), (R, 20, 30, 8), (F, 30))
    assert found == [(A, 0, None, 8), (F, 0, None, 8)]
    assert info["preexisting"] == {"free": 1, "reallocate": 1}
    assert info["invalid"] == {}


def test_freeing_twice_is_invalid(resolved):
    found, info = resolved((A, 10, 0, 1), (F, 10), (F, 10))
    assert len(found) == 2
    assert info["invalid"] == {"of an object that has ended": 1}


def test_an_allocation_at_a_live_address_ends_what_was_there(resolved):
    found, info = resolved((A, 10, 0, 1), (A, 10, 0, 2), (F, 10))
    assert found == [(A, 0, None, 1), (F, 0, None, 1), (A, 0, None, 2), (F, 0, None, 2)]
    assert info["invalid"] == {"at an address where an object is live": 1}


def test_a_size_of_zero_is_an_object(resolved):
    found, info = resolved((A, 10, 0, 0))
    assert found == [(A, 0, None, 0)]
    assert info["end"] == {"live_objects": 1, "live_bytes": 0}


def test_an_unknown_operation_is_left_out(resolved):
    found, info = resolved((99, 10), (0, 10), (A, 10, 0, 1))
    assert len(found) == 1
    assert info["invalid"] == {"an unknown operation": 2}


# ---- scopes --------------------------------------------------------------------------------------

OPEN, CLOSE, DROP = Operation.OPEN, Operation.CLOSE, Operation.DROP
ADOPT, DROP_SCOPE = Operation.ADOPT, Operation.DROP_SCOPE
EXPORT, UNEXPORT = Operation.EXPORT, Operation.UNEXPORT


def test_memory_of_a_scope_is_live_until_it_closes(resolved):
    found, info = resolved(
        (OPEN, 0, 1),
        (A, 10, 1, 5),
        (A, 20, 1, 6),
        (DROP, 10),
        (CLOSE, 0, 1),
        (DROP, 20),
        (DROP_SCOPE, 0, 1),
    )
    assert found == [
        (OPEN, None, 0, 0),
        (A, 0, 0, 5),
        (A, 1, 0, 6),
        (DROP, 0, 0, 5),
        (CLOSE, None, 0, 11),
        (DROP, 1, 0, 6),
        (DROP_SCOPE, None, 0, 0),
    ]
    assert (info["objects"], info["scopes"], info["peak_bytes"]) == (2, 1, 11)


def test_what_is_live_at_the_end_counts_until_the_close(resolved):
    _, info = resolved((OPEN, 0, 1), (A, 10, 1, 5), (DROP, 10))
    assert info["end"] == {"live_objects": 1, "live_bytes": 5}


def test_an_object_ends_with_the_last_of_its_parts(resolved):
    found, _ = resolved(
        (OPEN, 0, 1),
        (A, 10, 1, 100),
        (PART, 20, 10, 30),
        (PART, 30, 20, 5),
        (DROP, 10),
        (EXPORT, 30, 0, 5),
        (UNEXPORT, 30, 0, 5),
        (DROP, 20),
        (DROP, 30),
    )
    assert found[2:] == [(EXPORT, 0, 0, 5), (UNEXPORT, 0, 0, 5), (DROP, 0, 0, 100)]


def test_a_scope_that_is_older_is_opened_where_it_is_first_allocated_in(resolved):
    found, info = resolved((A, 10, 1, 5), (CLOSE, 0, 1), (CLOSE, 0, 2))
    assert found == [(OPEN, None, 0, 0), (A, 0, 0, 5), (CLOSE, None, 0, 5)]
    assert info["preexisting"] == {"close": 1}


def test_what_happens_to_older_segments_is_counted_to_their_end(resolved):
    found, info = resolved(
        (EXPORT, 10), (UNEXPORT, 10), (PART, 20, 10), (DROP, 20), (DROP, 10), (DROP, 10)
    )
    assert found == []
    assert info["preexisting"] == {"export": 1, "unexport": 1, "drop": 2, "part": 1}
    assert info["invalid"] == {"of an object that has ended": 1}


def test_adopted_memory_is_nobodys_allocation(resolved):
    found, info = resolved((OPEN, 0, 1), (ADOPT, 10, 1, 50), (CLOSE, 0, 1), (DROP, 10))
    assert found[1:] == [(ADOPT, 0, 0, 50), (CLOSE, None, 0, 0), (DROP, 0, 0, 50)]
    assert info["peak_bytes"] == 0


def test_an_allocation_that_lost_the_race_with_close_is_left_out_to_its_end(resolved):
    found, info = resolved(
        (OPEN, 0, 1), (CLOSE, 0, 1), (A, 10, 1, 5), (EXPORT, 10), (DROP, 10), (DROP_SCOPE, 0, 1)
    )
    assert [row[0] for row in found] == [OPEN, CLOSE, DROP_SCOPE]
    assert info["invalid"] == {"of a scope that is closed": 1}


def test_a_scope_that_vanishes_open_is_closed_first(resolved):
    found, info = resolved((OPEN, 0, 1), (A, 10, 1, 5), (DROP, 10), (DROP_SCOPE, 0, 1))
    assert found[-2:] == [(CLOSE, None, 0, 5), (DROP_SCOPE, None, 0, 0)]
    assert info["end"] == {"live_objects": 0, "live_bytes": 0}


def test_an_export_that_lost_the_race_with_close_goes_with_its_unexport(resolved):
    found, info = resolved(
        (OPEN, 0, 1), (A, 10, 1, 5), (EXPORT, 10), (CLOSE, 0, 1), (EXPORT, 10), (UNEXPORT, 10)
    )
    assert [row[0] for row in found] == [OPEN, A, EXPORT, CLOSE]
    assert info["invalid"] == {"of a scope that is closed": 1}
    found, _ = resolved((OPEN, 0, 1), (A, 10, 1, 5), (EXPORT, 10), (CLOSE, 0, 1), (UNEXPORT, 10))
    assert found[-1][0] == UNEXPORT


# ---- fields --------------------------------------------------------------------------------------


def test_fields_are_carried_and_threads_are_numbered_as_they_appear(events):
    block = events((OPEN, 0, 1), (A, 10, 1, 5), (A, 20, 1, 6))
    block["thread"] = [900, 3, 900]
    block["kind"] = [ScopeKind.SHARED, Allocator.SCOPE, Allocator.SCOPE]
    block["align"] = [0, 4, 6]
    resolver = Resolver(timed=True)
    found = resolver.run(block)
    assert found["thread"].tolist() == [0, 1, 0]
    assert resolver.threads() == [900, 3]
    assert found["kind"].tolist() == [2, 6, 6]
    assert found["align"].tolist() == [0, 4, 6]
    assert found["time_ns"].tolist() == [0, 100, 200]


def test_without_times_there_is_no_field_for_them(events):
    found = Resolver(timed=False).run(events((A, 10, 0, 5)))
    assert found.dtype == UNTIMED
    assert found["size"].tolist() == [5]


def test_a_bound_ends_with_the_event_that_reaches_it(events):
    resolver = Resolver(timed=False)
    assert len(resolver.run(events((A, 10), (A, 20), (A, 30)), most=2)) == 2
    assert resolver.info()["end"]["live_objects"] == 2
