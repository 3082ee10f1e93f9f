"""The functions of the module, and the budget, while memory runs out."""

import gc

import pytest

import scopes
from scopes import _core

OPERATIONS = {
    "statistics": scopes.statistics,
    "trim": scopes.trim,
    "set_cache_limit": lambda: scopes.set_cache_limit(0),
    "set_limit": lambda: scopes.set_limit(2**40),
    "set_limit to none": lambda: scopes.set_limit(None),
    "set_implicit_budget": lambda: scopes.set_implicit_budget(2**26, when_gc_disabled=False),
    "window_peak_bytes": lambda: _core.window_peak_bytes(True),
}

MISUSE = {
    "cache limit": (ValueError, lambda: scopes.set_cache_limit(-1)),
    "limit": (TypeError, lambda: scopes.set_limit("1")),
    "budget": (OverflowError, lambda: scopes.set_implicit_budget(2**70)),
    "budget that is missing": (TypeError, lambda: scopes.set_implicit_budget()),
    "account of something without weak references": (TypeError, lambda: scopes.account(5, 1)),
    "account of too much": (ValueError, lambda: scopes.account({1}, 2**60)),
    "account of nothing": (TypeError, lambda: scopes.account()),
    "allocate without a scope": (TypeError, lambda: _core.allocate(5, 1, 1, True)),
    "allocate without anything": (TypeError, lambda: _core.allocate()),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_the_functions_of_the_module(survives, operation):
    def life():
        yield None, operation

    survives(life)


@pytest.mark.parametrize(("error", "operation"), MISUSE.values(), ids=MISUSE)
def test_the_functions_of_the_module_misused(survives, error, operation):
    def life():
        yield None, operation

    survives(life, raises=(error,))


def test_accounting_for_an_object(survives):
    def life():
        things, before = [{1}], scopes.statistics().implicit_bytes
        outcome = yield None, lambda: scopes.account(things[0], 1000)
        expected = before if outcome.error else before + 1000
        assert scopes.statistics().implicit_bytes == expected
        things.clear()
        assert scopes.statistics().implicit_bytes == before

    survives(life, effects=True)


@pytest.fixture
def small_budget(unraisable):
    """A callback that can't be called, as there is no memory for it, is handed to the hook."""
    scopes.set_implicit_budget(1000)
    yield unraisable
    scopes.set_implicit_budget(2**26)


def cycle_of_implicit_memory():
    scope = scopes.ImplicitScope()
    scope.allocate(1000)
    scope.callback(bool, scope)


def test_a_collection_for_the_budget(survives, small_budget):
    def life():
        cycle_of_implicit_memory()
        scope = scopes.ImplicitScope()
        before = scopes.statistics().implicit_bytes
        outcome = yield scope, lambda: scope.allocate(500)
        after = scopes.statistics().implicit_bytes
        assert outcome.failed or after < before
        gc.collect()
        small_budget.clear()

    survives(life, effects=True)


def test_a_collection_for_accounted_memory(survives, small_budget):
    def life():
        cycle_of_implicit_memory()
        thing = {1}
        before = scopes.statistics().implicit_bytes
        outcome = yield None, lambda: scopes.account(thing, 500)
        after = scopes.statistics().implicit_bytes
        assert outcome.failed or after < before
        gc.collect()
        small_budget.clear()

    survives(life, effects=True)
