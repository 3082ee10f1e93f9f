"""Opening scopes, and what is done with an open one, while memory runs out."""

import ctypes
import errno
import os
from functools import partial

import pytest

import scopes
from scopes import ConfinedScope, ImplicitScope, SharedScope

MEMORY = ctypes.create_string_buffer(b"foreign", 16)

CONSTRUCTORS = {
    "confined": ConfinedScope,
    "shared": SharedScope,
    "implicit": ImplicitScope,
    "limit": partial(ConfinedScope, limit=10_000),
    "exports": partial(SharedScope, exports="defer"),
    "both": partial(ConfinedScope, exports="raise", limit=10_000),
    "implicit limit": partial(ImplicitScope, limit=10_000),
    "by hand": partial(SharedScope.__new__, SharedScope),
    "by hand with names": partial(ImplicitScope.__new__, ImplicitScope, limit=10_000),
}

CONSTRUCTOR_MISUSE = {
    "abstract": (TypeError, scopes.Scope),
    "positional": (TypeError, partial(ConfinedScope, 5)),
    "unknown": (TypeError, partial(SharedScope, owner=1)),
    "negative limit": (ValueError, partial(ImplicitScope, limit=-1)),
    "limit of a wrong type": (TypeError, partial(ConfinedScope, limit="10")),
    "exports": (ValueError, partial(SharedScope, exports="wait")),
    "exports of a wrong type": (ValueError, partial(ConfinedScope, exports=5)),
    "owner without weak references": (TypeError, partial(ImplicitScope, owner=5)),
}

OPERATIONS = {
    "allocate": lambda scope: scope.allocate(100),
    "allocate nothing": lambda scope: scope.allocate(0),
    "allocate by name": lambda scope: scope.allocate(nbytes=100, align=256),
    "allocate past the slots": lambda scope: scope.allocate(20_000),
    "allocate much": lambda scope: scope.allocate(2**20),
    "adopt": lambda scope: scope.adopt(ctypes.addressof(MEMORY), 16),
    "adopt with release": lambda scope: scope.adopt(ctypes.addressof(MEMORY), 16, bool),
    "callback": lambda scope: scope.callback(bool, 1),
    "callback with names": lambda scope: scope.callback(dict, one=1),
    "repr": repr,
    "kind": lambda scope: scope.kind,
    "owner": lambda scope: scope.owner,
    "closed": lambda scope: scope.closed,
}

ARRAYS = {
    "zeros": lambda scope: scope.zeros(10),
    "empty": lambda scope: scope.empty((2, 3), dtype="i4"),
    "array": lambda scope: scope.array([1, 2, 3]),
}

MISUSE = {
    "no size": (TypeError, lambda scope: scope.allocate()),
    "negative size": (ValueError, lambda scope: scope.allocate(-1)),
    "size of a wrong type": (TypeError, lambda scope: scope.allocate("1")),
    "too many arguments": (TypeError, lambda scope: scope.allocate(1, 2)),
    "unknown name": (TypeError, lambda scope: scope.allocate(1, size=2)),
    "given twice": (TypeError, lambda scope: scope.allocate(1, nbytes=2)),
    "no alignment": (ValueError, lambda scope: scope.allocate(1, align=3)),
    "alignment of a wrong type": (TypeError, lambda scope: scope.allocate(1, align="3")),
    "past an address space": (scopes.ScopeMemoryError, lambda scope: scope.allocate(2**60)),
    "past the limit": (scopes.ScopeMemoryError, lambda scope: scope.allocate(100_000)),
    "nothing to call": (TypeError, lambda scope: scope.callback()),
    "not callable": (TypeError, lambda scope: scope.callback(5)),
    "address 0": (ValueError, lambda scope: scope.adopt(0, 1)),
    "address of a wrong type": (TypeError, lambda scope: scope.adopt("1", 1)),
    "past the end of memory": (ValueError, lambda scope: scope.adopt(2**64 - 1, 2)),
    "release not callable": (TypeError, lambda scope: scope.adopt(4096, 0, release=5)),
    "too many for an array": (TypeError, lambda scope: scope.zeros(1, 2, 3, 4, 5)),
    "not in a with statement": (TypeError, lambda scope: scope(1)),
}


@pytest.mark.parametrize("construct", CONSTRUCTORS.values(), ids=CONSTRUCTORS)
def test_opening_a_scope(survives, construct):
    def life():
        outcome = yield None, construct
        if outcome.value is not None:
            assert bytes(outcome.value.allocate(5)) == bytes(5)
            getattr(outcome.value, "close", bool)()

    survives(life)


def test_opening_a_scope_with_an_owner(survives):
    def life():
        owner = {1}
        outcome = yield None, lambda: ImplicitScope(owner=owner, limit=10_000)
        scope = outcome.value
        if scope is not None:
            assert scope.owner is owner
            assert bytes(scope.allocate(5)) == bytes(5)
            del owner
            assert scope.closed

    survives(life)


@pytest.mark.parametrize(
    ("error", "construct"), CONSTRUCTOR_MISUSE.values(), ids=CONSTRUCTOR_MISUSE
)
def test_opening_a_scope_wrongly(survives, error, construct):
    def life():
        yield None, construct

    survives(life, raises=(error,))


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_using_a_scope(survives, kind, operation):
    def life():
        scope = kind()
        outcome = yield scope, lambda: operation(scope)
        if isinstance(outcome.value, scopes.Segment):
            assert bytes(outcome.value) in (bytes(len(outcome.value)), bytes(MEMORY))

    survives(life)


def test_allocating_once_more(survives, kind):
    def life():
        scope = kind()
        first = scope.allocate(100)
        first.fill(1)
        outcome = yield scope, lambda: scope.allocate(10_000)
        assert outcome.value is None or bytes(outcome.value) == bytes(10_000)
        assert bytes(first) == bytes([1]) * 100

    survives(life)


def test_allocating_at_a_large_alignment(survives, kind):
    def life():
        scope = kind()
        outcome = yield scope, lambda: scope.allocate(100, align=2**21)
        assert outcome.value is None or bytes(outcome.value) == bytes(100)

    survives(life, loses_addresses=True)


@pytest.mark.parametrize("operation", ARRAYS.values(), ids=ARRAYS)
def test_making_arrays(survives, kind, operation):
    pytest.importorskip("numpy")

    def life():
        scope = kind()
        outcome = yield scope, lambda: operation(scope)
        if outcome.value is not None:
            assert scope.statistics().exports == 1

    survives(life)


@pytest.mark.parametrize(("error", "operation"), MISUSE.values(), ids=MISUSE)
def test_using_a_scope_wrongly(survives, explicit, error, operation):
    def life():
        scope = explicit(limit=2**50 if error is not scopes.ScopeMemoryError else 50_000)
        yield scope, lambda: operation(scope)

    survives(life, raises=(error,))


def test_reading_the_statistics_of_a_scope(survives, kind):
    def life():
        scope = kind(limit=1000)
        outcome = yield scope, scope.statistics
        assert outcome.value is None or outcome.value.limit == 1000

    survives(life)


def test_reading_the_owner_of_a_scope(survives):
    def life():
        owner = {1}
        scope = ImplicitScope(owner=owner)
        outcome = yield scope, lambda: scope.owner
        assert outcome.failed or outcome.value is owner

    survives(life)


def test_passing_what_the_system_has(survives, kind):
    def life():
        scope = kind()
        yield scope, lambda: scope.allocate(2**47)

    survives(life, raises=(scopes.ScopeMemoryError,))


def test_what_the_system_refuses_for_another_reason_is_named(faults, kind):
    scope = kind()
    with (
        faults.all_of("mmap", errno.EAGAIN),
        pytest.raises(scopes.ScopeMemoryError, match=os.strerror(errno.EAGAIN)),
    ):
        scope.allocate(100_000)
    getattr(scope, "close", bool)()


def test_passing_the_cap_of_the_process(survives, kind):
    def life():
        scope = kind()
        scopes.set_limit(50)
        outcome = yield scope, lambda: scope.allocate(100)
        scopes.set_limit(None)
        assert outcome.value is None

    survives(life, raises=(scopes.ScopeMemoryError,))
