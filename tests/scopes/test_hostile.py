"""Arguments whose conversion closes the scope: each entry point sees it, and touches no memory."""

import pytest

import scopes


class Closing:
    """An integer whose __index__ closes a scope and lets its memory go."""

    def __init__(self, scope, value=0):
        self.scope, self.value = scope, value

    def __index__(self):
        self.scope.close()
        scopes.set_cache_limit(0)
        scopes.trim()
        return self.value


USES = {
    "allocate": lambda scope, segment, closing: scope.allocate(closing),
    "align": lambda scope, segment, closing: scope.allocate(1, align=closing(16)),
    "adopt address": lambda scope, segment, closing: scope.adopt(closing(4096), 1),
    "adopt nbytes": lambda scope, segment, closing: scope.adopt(4096, closing),
    "read": lambda scope, segment, closing: segment[closing],
    "read last": lambda scope, segment, closing: segment[closing(-1)],
    "write index": lambda scope, segment, closing: segment.__setitem__(closing, 1),
    "write value": lambda scope, segment, closing: segment.__setitem__(0, closing(7)),
    "slice start": lambda scope, segment, closing: segment[closing:],
    "slice stop": lambda scope, segment, closing: segment[: closing(5)],
    "slice step": lambda scope, segment, closing: segment[:: closing(1)],
    "write slice": lambda scope, segment, closing: segment.__setitem__(slice(closing, 3), bytes(3)),
    "fill": lambda scope, segment, closing: segment.fill(closing(7)),
    "copy_from offset": lambda scope, segment, closing: segment.copy_from(b"abc", closing(2)),
}


def hostile(scope):
    """A closing index of value 0, and by call of other values."""

    class Hostile(Closing):
        def __call__(self, value):
            return Closing(self.scope, value)

    return Hostile(scope)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("nbytes", [16, 5000, 2**20])
def test_an_argument_that_closes_the_scope_gets_the_error(explicit, whole, use, nbytes):
    scope = explicit()
    segment = scope.allocate(nbytes)
    with pytest.raises(
        scopes.ScopeClosedError, match=whole(f"the {scope.kind} scope at ADDRESS is closed")
    ):
        use(scope, segment, hostile(scope))


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_an_argument_that_drops_the_last_references_is_safe(explicit, use):
    scope = explicit()
    closing = hostile(scope)
    segment = scope.allocate(2**20)
    with pytest.raises(scopes.ScopeClosedError):
        use(scope, segment, closing)
    del scope, segment
    assert closing.scope.closed


def test_a_limit_that_closes_other_scopes_is_harmless(explicit, kind):
    other = explicit()
    made = kind(limit=Closing(other, 5))
    assert (made.statistics().limit, other.closed) == (5, True)
    getattr(made, "close", bool)()


@pytest.mark.parametrize("function", [scopes.set_limit, scopes.set_cache_limit])
def test_a_limit_of_the_process_that_closes_scopes_is_harmless(explicit, function):
    scope = explicit()
    segment = scope.allocate(2**20)
    function(Closing(scope, 2**30))
    assert scope.closed
    with pytest.raises(scopes.ScopeClosedError):
        segment[0]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ZeroDivisionError])
def test_what_an_argument_raises_propagates(scope, error):
    class Raising:
        def __index__(self):
            raise error

    segment = scope.allocate(16)
    raising = Raising()
    for use in (
        lambda: scope.allocate(raising),
        lambda: scope.allocate(1, align=raising),
        lambda: scope.adopt(raising, 1),
        lambda: segment[raising],
        lambda: segment[raising:],
        lambda: segment.__setitem__(raising, 1),
        lambda: segment.__setitem__(0, raising),
        lambda: segment.fill(raising),
        lambda: segment.copy_from(b"", raising),
    ):
        with pytest.raises(error):
            use()
    assert (bytes(segment), scope.statistics().exports) == (bytes(16), 0)


class ClosingBuffer:
    """A buffer that closes a scope when it is taken (CPython 3.12 and later)."""

    def __init__(self, scope):
        self.scope = scope

    def __buffer__(self, flags):
        self.scope.close()
        scopes.trim()
        return memoryview(b"abc")


BUFFERS = {
    "copy_from": lambda segment, buffer: segment.copy_from(buffer),
    "slice": lambda segment, buffer: segment.__setitem__(slice(0, 3), buffer),
    "==": lambda segment, buffer: segment == buffer,
    "!=": lambda segment, buffer: segment != buffer,
}


@pytest.mark.parametrize("use", BUFFERS.values(), ids=BUFFERS)
def test_a_buffer_that_closes_the_scope_gets_the_error(explicit, use):
    import sys

    if sys.version_info < (3, 12):
        pytest.skip("Python classes export buffers from 3.12 on")
    scope = explicit()
    segment = scope.allocate(2**20)
    with pytest.raises(scopes.ScopeClosedError):
        use(segment, ClosingBuffer(scope))


def test_a_truth_value_that_closes_the_scope_is_seen_by_the_inner_allocate(explicit):
    from scopes import _core

    class Zeroed:
        def __bool__(self):
            scope.close()
            return True

    scope = explicit()
    with pytest.raises(scopes.ScopeClosedError):
        _core.allocate(scope, 16, 64, Zeroed())
