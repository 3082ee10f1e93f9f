"""Scopes that end by reference counts, the collector or the interpreter's exit."""

import gc
import re

import pytest

import scopes
from scopes import _core


class Node:
    pass


def test_a_scope_that_was_never_closed_is_warned_of_once(explicit, recwarn, unraisable, whole):
    scope = explicit()
    scope.allocate(100)
    del scope
    gc.collect()
    assert len(recwarn) == 1
    warning = recwarn.pop(ResourceWarning)
    text = f"<{explicit.__name__} open, 100 bytes, at ADDRESS> was never closed"
    assert re.match(whole(text), str(warning.message))
    assert unraisable == []


def test_the_warning_points_at_the_line_that_dropped_the_scope(explicit, recwarn):
    scope = explicit()
    del scope
    assert recwarn.pop(ResourceWarning).filename == __file__


def test_the_memory_of_a_scope_that_was_never_closed_is_freed(explicit):
    before = scopes.statistics()
    with pytest.warns(ResourceWarning):
        explicit().allocate(100)
    after = scopes.statistics()
    assert (after.live_bytes, after.open_scopes) == (before.live_bytes, before.open_scopes)


def test_the_callbacks_of_a_scope_that_was_never_closed_run(explicit):
    ran = []
    scope = explicit()
    scope.callback(ran.append, 1)
    scope.callback(ran.append, 2)
    with pytest.warns(ResourceWarning):
        del scope
    assert ran == [2, 1]


def test_a_closed_scope_is_not_warned_of(explicit, recwarn):
    scope = explicit()
    scope.allocate(1)
    scope.close()
    del scope
    gc.collect()
    assert len(recwarn) == 0


def test_a_warning_made_an_error_is_unraisable_once_and_frees_the_memory(explicit, unraisable):
    import warnings

    before = scopes.statistics().open_scopes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explicit()
    assert [error for error, _ in unraisable] == [ResourceWarning]
    assert scopes.statistics().open_scopes == before


def test_the_warning_shows_where_the_scope_was_opened_under_tracemalloc(in_child):
    said = in_child(
        """
        import sys
        sys.stderr = sys.stdout
        import scopes
        def opens_the_scope():
            return scopes.ConfinedScope()
        scope = scopes.ConfinedScope()
        scope.close()
        del scope  # the next one is made of its memory
        scope = opens_the_scope()
        del scope
    """,
        "-X",
        "tracemalloc=5",
        "-W",
        "default",
    )
    assert re.search(r"ResourceWarning: <ConfinedScope open, 0 bytes, at 0x\w+> was never cl", said)
    assert "Object allocated at (most recent call last):" in said
    assert re.search(r'File "<string>", lineno 6', said), said


def test_an_explicit_scope_whose_segment_lives_is_not_dropped(explicit, recwarn):
    segment = explicit().allocate(4)
    gc.collect()
    assert (len(recwarn), segment.scope.closed) == (0, False)
    segment.scope.close()


# ---- cycles --------------------------------------------------------------------------------------


def test_a_callback_that_holds_its_segment_is_collected_and_runs_once():
    before = scopes.statistics()
    ran = []
    scope = scopes.ImplicitScope()
    scope.callback(lambda segment: ran.append(segment[0]), scope.allocate(2**20))
    del scope
    assert ran == []
    gc.collect()
    after = scopes.statistics()
    assert (ran, after.live_bytes, after.open_scopes) == (
        [0],
        before.live_bytes,
        before.open_scopes,
    )
    gc.collect()
    assert ran == [0]


def test_a_callback_that_holds_its_open_scope_is_collected_with_one_warning(explicit, recwarn):
    ran = []
    scope = explicit()
    scope.callback(lambda held: ran.append(held.closed), scope)
    del scope
    gc.collect()
    gc.collect()
    assert (ran, [w.category for w in recwarn]) == ([True], [ResourceWarning])


def test_a_closed_scope_holds_no_cycle(explicit):
    import weakref

    gc.disable()
    try:
        scope = explicit()
        scope.callback(bool, scope.allocate(1))
        scope.close()
        reference = weakref.ref(scope)
        del scope
        assert reference() is None
    finally:
        gc.enable()


def test_parts_views_and_pins_in_cycles_are_collected():
    before = scopes.statistics()
    for make in (
        lambda segment: segment[0:5],
        memoryview,
        lambda segment: segment.pin(),
        lambda segment: segment.toreadonly(),
    ):
        scope = scopes.ImplicitScope()
        held = make(scope.allocate(10))
        scope.callback(bool, held)
        del scope, held
    assert scopes.statistics().open_scopes - before.open_scopes == 4
    gc.collect()
    assert scopes.statistics().open_scopes == before.open_scopes


def test_an_entered_pin_in_a_cycle_is_collected():
    before = scopes.statistics()
    scope = scopes.ImplicitScope()
    pin = scope.allocate(10).pin()
    pin.__enter__()
    scope.callback(bool, pin)
    del scope, pin
    gc.collect()
    after = scopes.statistics()
    assert (after.open_scopes, after.deferred_bytes) == (before.open_scopes, before.deferred_bytes)


def test_segments_that_were_there_before_the_cycle_are_collected_with_it():
    before = scopes.statistics()
    scope = scopes.ImplicitScope()
    segments = [scope.allocate(10) for _ in range(100)]
    segments += [segment[2:4] for segment in segments]
    scope.callback(bool, segments)
    del scope, segments
    gc.collect()
    assert scopes.statistics().open_scopes == before.open_scopes


def test_two_scopes_whose_callbacks_hold_each_other_are_collected():
    before = scopes.statistics().open_scopes
    ran = []
    one, other = scopes.ImplicitScope(), scopes.ImplicitScope()
    one.callback(lambda held: ran.append(1), other.allocate(1))
    other.callback(lambda held: ran.append(2), one.allocate(1))
    del one, other
    gc.collect()
    assert (sorted(ran), scopes.statistics().open_scopes) == ([1, 2], before)


def test_scopes_and_segments_are_found_by_the_collector_as_what_refers_to_what():
    scope = scopes.ImplicitScope()
    target = Node()
    scope.callback(bool, target)
    segment = scope.allocate(1)
    assert scope in gc.get_referents(segment)
    assert any(
        target in gc.get_referents(call) for call in gc.get_referents(*gc.get_referents(scope))
    )


def test_scopes_made_during_a_collection_are_safe():
    class Maker:
        def __init__(self):
            self.self = self

        def __del__(self):
            with scopes.ConfinedScope() as scope:
                scope.callback(bool, scope.allocate(100))
            made.append(scopes.ImplicitScope().allocate(10))

    made = []
    for _ in range(100):
        Maker()
    gc.collect()
    assert [bytes(segment) for segment in made] == [bytes(10)] * 100
    made.clear()


# ---- what reaches sys.unraisablehook -------------------------------------------------------------


def fail():
    raise ValueError("callback")


ENDS = {
    "reference count": lambda scope: None,
    "cycle": lambda scope: scope.callback(bool, scope),
    "cycle with a view": lambda scope: scope.callback(bool, memoryview(scope.allocate(5))),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_callback_that_raises_in_a_finalizer_is_unraisable_exactly_once(unraisable, end):
    scope = scopes.ImplicitScope()
    scope.callback(fail)
    end(scope)
    del scope
    gc.collect()
    gc.collect()
    assert unraisable == [(ValueError, "callback")]


def test_each_callback_that_raises_is_unraisable_once_and_the_others_run(unraisable):
    ran = []
    scope = scopes.ImplicitScope()
    for number in range(3):
        scope.callback(fail)
        scope.callback(ran.append, number)
    del scope
    assert (ran, unraisable) == ([2, 1, 0], [(ValueError, "callback")] * 3)


@pytest.mark.parametrize("first", ["scope", "segment", "view", "cycle"])
def test_no_error_of_ours_is_unraisable_whichever_goes_first(explicit, unraisable, recwarn, first):
    for kind in explicit, scopes.ImplicitScope:
        scope = kind()
        segment = scope.allocate(100)
        view = memoryview(segment[10:20])
        pin = segment.pin()
        pin.__enter__()
        if first == "scope":
            del scope, segment, view, pin
        elif first == "segment":
            del segment, pin, scope, view
        elif first == "view":
            del view, pin, segment, scope
        else:
            node = Node()
            node.all = node, scope, segment, view, pin
            scope.callback(bool, node)
            del node, scope, segment, view, pin
        gc.collect()
    assert unraisable == []
    assert [warning.category for warning in recwarn] == [ResourceWarning]


def test_an_exception_on_its_way_survives_a_finalizer(unraisable):
    def body():
        scope = scopes.ImplicitScope()
        scope.callback(fail)
        raise KeyError("on its way")

    with pytest.raises(KeyError, match="on its way") as caught:
        body()
    caught.value.with_traceback(None)  # the frame of the body holds the scope
    del caught
    gc.collect()
    assert unraisable == [(ValueError, "callback")]


@pytest.mark.parametrize("collected", [False, True])
def test_a_confined_scope_that_is_dropped_on_another_thread_is_freed(
    collected, on_thread, unraisable, recwarn
):
    before = scopes.statistics()
    scope = scopes.ConfinedScope()
    ran = []
    scope.callback(ran.append, 1)
    if collected:
        scope.callback(bool, scope)
    box = [scope, scope.allocate(100)]
    del scope

    def drop():
        box.clear()
        gc.collect()

    gc.disable()
    try:
        on_thread(drop)
    finally:
        gc.enable()
    after = scopes.statistics()
    assert (ran, unraisable, [w.category for w in recwarn]) == ([1], [], [ResourceWarning])
    assert (after.live_bytes, after.open_scopes) == (before.live_bytes, before.open_scopes)


@pytest.fixture
def when_it_collects():
    """Runs an operation in which the next object for the collector has it run a finalizer first.

    That is so in CPython 3.11; later ones collect between two instructions.
    """

    def run(operation, finalizer):
        class Late:
            def __init__(self):
                self.me = self

            def __del__(self):
                finalizer()

        threshold = gc.get_threshold()
        gc.disable()
        Late()
        gc.set_threshold(1)
        gc.enable()
        found = operation()
        gc.set_threshold(*threshold)
        gc.collect()
        return found

    return run


def test_a_finalizer_may_take_an_export_while_the_first_is_taken(
    explicit, debugging, when_it_collects
):
    scopes.debug(False)
    scope = explicit()
    segment = scope.allocate(4)
    scopes.debug(True)
    first, second = segment.pin(), segment.pin()
    when_it_collects(first.__enter__, second.__enter__)
    assert scope.statistics().exports == 2
    first.__exit__()
    second.__exit__()
    scope.close()


def test_a_finalizer_may_open_a_scope_while_a_snapshot_is_taken(
    explicit, debugging, when_it_collects
):
    def addresses(snapshot):
        return {scope["address"] for scope in snapshot["scopes"]}

    scope, late = explicit(), []
    found = when_it_collects(_core.snapshot, lambda: late.append(explicit()))
    assert id(scope) in addresses(found)
    assert {id(scope), id(late[0])} <= addresses(_core.snapshot())
    scope.close()
    late.pop().close()
