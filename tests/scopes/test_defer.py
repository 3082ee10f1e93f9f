"""exports="defer": what close() leaves to the last export."""

import pytest

import scopes


@pytest.mark.parametrize("nbytes", [1, 64, 5000, 16 * 1024, 65 * 1024, 2**20])
def test_deferred_exports_read_the_old_bytes_until_they_go(explicit, nbytes):
    before = scopes.statistics()
    scope = explicit(exports="defer")
    segment = scope.allocate(nbytes)
    segment.fill(9)
    view = memoryview(segment)
    scope.close()
    scopes.trim()
    others = [scopes.ImplicitScope().allocate(nbytes) for _ in range(20)]
    for other in others:
        other.fill(1)
    assert bytes(view) == bytes([9]) * nbytes
    view[0] = 8
    assert view[0] == 8
    assert scopes.statistics().deferred_bytes - before.deferred_bytes >= nbytes
    view.release()
    assert scopes.statistics().deferred_bytes == before.deferred_bytes


def test_a_deferring_close_runs_the_callbacks_at_once(explicit):
    ran = []
    scope = explicit(exports="defer")
    view = memoryview(scope.allocate(1))
    scope.callback(ran.append, 1)
    scope.close()
    assert (ran, scope.closed, len(view)) == ([1], True, 1)


def test_a_deferring_close_counts_no_live_bytes(explicit):
    before = scopes.statistics()
    scope = explicit(exports="defer")
    view = memoryview(scope.allocate(100))
    scope.close()
    after = scopes.statistics()
    assert (after.live_bytes, after.open_scopes) == (before.live_bytes, before.open_scopes)
    assert len(view) == 100


def test_each_block_goes_back_with_its_own_last_export(explicit):
    before = scopes.statistics().deferred_bytes
    scope = explicit(exports="defer")
    first = memoryview(scope.allocate(2**20))
    second = [memoryview(scope.allocate(2**20))] * 2
    scope.close()
    assert scopes.statistics().deferred_bytes - before == 2 * 2**20
    first.release()
    assert scopes.statistics().deferred_bytes - before == 2**20
    second.pop()
    assert scopes.statistics().deferred_bytes - before == 2**20
    second.pop()
    assert scopes.statistics().deferred_bytes == before


def test_a_closed_deferring_scope_gives_no_new_export(explicit, whole):
    scope = explicit(exports="defer")
    segment = scope.allocate(8)
    view = memoryview(segment)
    scope.close()
    with pytest.raises(scopes.ScopeClosedError):
        memoryview(segment)
    assert len(view[2:4]) == 2


@pytest.mark.parametrize("exports", ["", "Defer", "ignore", None, 1, b"defer"])
def test_exports_is_one_of_two_words(explicit, whole, exports):
    before = scopes.statistics().open_scopes
    message = f'exports must be "raise" or "defer", found {exports!r}'
    with pytest.raises(ValueError, match=whole(message)):
        explicit(exports=exports)
    assert scopes.statistics().open_scopes == before
