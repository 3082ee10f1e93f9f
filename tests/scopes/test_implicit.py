"""Implicit scopes without an owner: freed when nothing reaches them."""

import gc
import weakref

import pytest

import scopes


def test_dropping_the_scope_frees_it_at_once():
    before = scopes.statistics()
    scope = scopes.ImplicitScope()
    scope.allocate(1000)
    del scope
    after = scopes.statistics()
    assert (after.live_bytes, after.open_scopes) == (before.live_bytes, before.open_scopes)


def test_a_segment_keeps_its_scope_and_the_memory():
    segment = scopes.ImplicitScope().allocate(4)
    segment.copy_from(b"abcd")
    assert (bytes(segment), segment.scope.closed) == (b"abcd", False)


def test_a_part_of_a_segment_keeps_the_scope():
    part = scopes.ImplicitScope().allocate(4)[1:3]
    reference = weakref.ref(part.scope)
    assert reference() is part.scope
    del part
    assert reference() is None


def test_a_view_keeps_the_scope():
    view = memoryview(scopes.ImplicitScope().allocate(4))
    assert bytes(view) == bytes(4)


def test_callbacks_run_when_the_scope_is_dropped():
    ran = []
    scope = scopes.ImplicitScope()
    scope.callback(ran.append, 1)
    scope.callback(ran.append, 2)
    del scope
    assert ran == [2, 1]


def test_callbacks_run_once_though_the_scope_is_brought_back():
    saved, ran = [], []
    scope = scopes.ImplicitScope()
    scope.callback(ran.append, 1)
    scope.callback(lambda segment: saved.append(segment), scope.allocate(4))
    del scope
    gc.collect()
    assert (ran, len(saved)) == ([1], 1)
    assert saved[0].scope.closed
    with pytest.raises(scopes.ScopeClosedError):
        saved[0][0]
    saved.clear()
    gc.collect()
    assert ran == [1]


def test_dropping_gives_no_warning_and_nothing_unraisable(unraisable, recwarn):
    scopes.ImplicitScope().allocate(100)
    gc.collect()
    assert (unraisable, list(recwarn)) == ([], [])


def test_a_scope_in_a_cycle_is_freed_by_the_collector():
    class Node:
        pass

    before = scopes.statistics()
    node = Node()
    node.self, node.segment = node, scopes.ImplicitScope().allocate(2**20)
    del node
    assert scopes.statistics().live_bytes - before.live_bytes == 2**20
    gc.collect()
    assert scopes.statistics().live_bytes == before.live_bytes


def test_eight_hundred_cycles_of_a_mib_are_freed_by_one_collection():
    class Node:
        pass

    before = scopes.statistics()
    gc.disable()
    try:
        for _ in range(800):
            node = Node()
            node.self, node.segment = node, scopes.ImplicitScope().allocate(2**20)
        del node
    finally:
        gc.enable()
    gc.collect()
    after = scopes.statistics()
    assert (after.live_bytes, after.open_scopes) == (before.live_bytes, before.open_scopes)
    assert after.cached_bytes <= 64 * 2**20 + 2**20


def test_the_owner_of_a_scope_without_one_is_none():
    assert scopes.ImplicitScope().owner is None
    assert scopes.ImplicitScope(owner=None).owner is None


def test_a_scope_is_used_and_dropped_by_any_thread(on_thread):
    before = scopes.statistics().open_scopes
    box = [scopes.ImplicitScope().allocate(4)]
    on_thread(box[0].fill, 3)
    assert bytes(box[0]) == b"\3\3\3\3"
    on_thread(box.clear)
    assert scopes.statistics().open_scopes == before
