"""ImplicitScope(owner=...): alive until the owner dies, and closed then."""

import gc
import sys
import weakref
from contextlib import suppress

import pytest

import scopes


class Thing:
    pass


def test_the_memory_lives_as_long_as_the_owner():
    before = scopes.statistics()
    thing = Thing()
    scopes.ImplicitScope(owner=thing).allocate(1000)
    gc.collect()
    assert scopes.statistics().live_bytes - before.live_bytes == 1000
    del thing
    after = scopes.statistics()
    assert (after.live_bytes, after.open_scopes) == (before.live_bytes, before.open_scopes)


def test_the_scope_is_closed_when_its_owner_dies(whole):
    thing = Thing()
    scope = scopes.ImplicitScope(owner=thing)
    segment = scope.allocate(4)
    segment.fill(1)
    del thing
    assert scope.closed
    with pytest.raises(
        scopes.ScopeClosedError, match=whole("the implicit scope at ADDRESS is closed")
    ):
        segment[0]


def test_owner_is_the_object_and_none_after_its_death():
    thing = Thing()
    scope = scopes.ImplicitScope(owner=thing)
    assert scope.owner is thing
    del thing
    assert scope.owner is None


def test_the_owner_is_not_kept_alive():
    thing = Thing()
    before = sys.getrefcount(thing)
    scope = scopes.ImplicitScope(owner=thing)
    assert sys.getrefcount(thing) == before
    reference = weakref.ref(thing)
    del thing
    assert (reference(), scope.closed) == (None, True)


@pytest.mark.parametrize(
    ("owner", "name"), [(5, "int"), ("a", "str"), ((), "tuple"), ({}, "dict"), (b"", "bytes")]
)
def test_an_owner_without_weak_references_is_refused_by_its_type(whole, owner, name):
    before = scopes.statistics().open_scopes
    message = f"owner must support weak references, and a '{name}' does not"
    with pytest.raises(TypeError, match=whole(message)):
        scopes.ImplicitScope(owner=owner)
    assert scopes.statistics().open_scopes == before


def test_an_owner_with_slots_is_refused_by_its_type(whole):
    class Slots:
        __slots__ = ()

    with pytest.raises(
        TypeError, match=whole("owner must support weak references, and a 'Slots' does not")
    ):
        scopes.ImplicitScope(owner=Slots())


def test_callbacks_run_when_the_owner_dies():
    ran = []
    thing = Thing()
    scope = scopes.ImplicitScope(owner=thing)
    scope.callback(ran.append, 1)
    scope.callback(ran.append, 2)
    del scope
    assert ran == []
    del thing
    assert ran == [2, 1]


def test_the_scopes_of_one_owner_are_closed_together():
    thing = Thing()
    made = [scopes.ImplicitScope(owner=thing) for _ in range(100)]
    del thing
    assert all(scope.closed for scope in made)


def test_an_owner_in_a_cycle_closes_its_scope_when_it_is_collected():
    thing = Thing()
    thing.self = thing
    scope = scopes.ImplicitScope(owner=thing)
    del thing
    assert not scope.closed
    gc.collect()
    assert scope.closed


def test_an_owner_that_holds_its_scope_closes_it():
    before = scopes.statistics().open_scopes
    thing = Thing()
    thing.segment = scopes.ImplicitScope(owner=thing).allocate(10)
    del thing
    gc.collect()
    assert scopes.statistics().open_scopes == before


def test_exports_alive_when_the_owner_dies_keep_the_bytes():
    before = scopes.statistics()
    thing = Thing()
    segment = scopes.ImplicitScope(owner=thing).allocate(2**20)
    segment.fill(5)
    view = memoryview(segment)
    del thing, segment
    scopes.trim()
    after = scopes.statistics()
    assert (after.live_bytes - before.live_bytes, after.deferred_bytes - before.deferred_bytes) == (
        0,
        2**20,
    )
    assert bytes(view) == bytes([5]) * 2**20
    del view
    assert scopes.statistics().deferred_bytes == before.deferred_bytes


def test_a_callback_that_raises_at_the_death_of_the_owner_is_unraisable_once(unraisable):
    thing = Thing()
    scope = scopes.ImplicitScope(owner=thing)
    scope.callback(lambda: 1 / 0)
    del thing
    assert (unraisable, scope.closed) == ([(ZeroDivisionError, "division by zero")], True)


def test_scopes_and_segments_own_scopes_too(explicit):
    outer = explicit()
    inner = scopes.ImplicitScope(owner=outer)
    innermost = scopes.ImplicitScope(owner=inner.allocate(4))
    assert (inner.closed, innermost.closed) == (False, True)
    outer.close()
    assert not inner.closed
    del outer
    assert inner.closed


def test_a_function_owns_a_scope():
    def function():
        pass

    scope = scopes.ImplicitScope(owner=function)
    del function
    gc.collect()
    assert scope.closed


def test_an_owner_dies_on_another_thread(on_thread):
    box = [Thing()]
    scope = scopes.ImplicitScope(owner=box[0])
    on_thread(box.clear)
    assert scope.closed


def test_an_owner_that_is_brought_back_from_its_finalizer_keeps_its_scope_open_or_closed():
    saved = []

    class Phoenix:
        def __del__(self):
            saved.append(self)

    thing = Phoenix()
    segment = scopes.ImplicitScope(owner=thing).allocate(4)
    del thing
    assert segment.scope.owner in (None, saved[0])
    if not segment.scope.closed:
        assert bytes(segment) == bytes(4)
    saved.clear()
    assert segment.scope.closed


def test_an_owner_is_positional_no_more_than_a_limit(whole):
    message = "ImplicitScope() takes at most 0 positional arguments, found 1"
    with pytest.raises(TypeError, match=whole(message)):
        scopes.ImplicitScope(Thing())
    scope = scopes.ImplicitScope(owner=(thing := Thing()), limit=5)
    assert (scope.owner, scope.statistics().limit) == (thing, 5)


def test_the_owner_of_a_confined_scope_is_its_thread(on_thread):
    import threading

    with scopes.ConfinedScope() as scope:
        assert scope.owner == threading.get_ident() == on_thread(lambda: scope.owner)


def test_a_shared_scope_has_no_owner():
    with scopes.SharedScope() as scope:
        assert scope.owner is None


def test_ten_thousand_owners_leave_nothing_behind():
    before = scopes.statistics()
    things = [Thing() for _ in range(10_000)]
    for thing in things:
        scopes.ImplicitScope(owner=thing).allocate(8)
    del things, thing
    after = scopes.statistics()
    assert (after.live_bytes, after.open_scopes) == (before.live_bytes, before.open_scopes)


def test_the_callback_of_a_watched_object_counts_once_whoever_calls_it(in_child):
    said = in_child("""
        import weakref, scopes
        for number in range(50):
            owner, ran = {number}, []
            scopes.account(owner, 1000)
            scopes.ImplicitScope(owner=owner).callback(ran.append, number)
            for reference in weakref.getweakrefs(owner):
                for _ in range(3):
                    reference.__callback__(reference)
            del owner, reference
            assert ran == [number], ran
        figures = scopes.statistics()
        print(figures.open_scopes, figures.implicit_bytes)
    """)
    assert said == "0 0"


def test_a_scope_that_was_finalized_by_hand_ends_once():
    owner, ran = Thing(), []
    scope = scopes.ImplicitScope(owner=owner)
    scope.callback(ran.append, 1)
    scope.__del__()
    assert (scope.closed, scope.owner, ran) == (True, owner, [1])
    del owner
    assert (scope.owner, ran) == (None, [1])


def test_an_owner_that_dies_at_any_depth_of_calls_closes_its_scope():
    before, limit = scopes.statistics(), sys.getrecursionlimit()

    def clear_at(depth, box):
        if depth == 0:
            box.clear()
        else:
            clear_at(depth - 1, box)

    for depth in range(limit - 300, limit):
        box = [Thing()]
        scopes.ImplicitScope(owner=box[0]).allocate(1)
        scopes.account(box[0], 1)
        with suppress(RecursionError):
            clear_at(depth, box)
        box.clear()
    after = scopes.statistics()
    assert (after.open_scopes, after.implicit_bytes) == (before.open_scopes, before.implicit_bytes)
