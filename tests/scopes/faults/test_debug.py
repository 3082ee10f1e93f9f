"""Debugging help, while memory runs out."""

import warnings

import pytest

import scopes
from scopes import _core

#: A slot of a slab, and a range of its own with pages that are not touched.
SIZES = (100, 2**20)


@pytest.fixture
def survives_debugging(survives):
    """survives(), with debugging help on in each life: not between them, where scopes are held."""

    def check(scenario, **rules):
        def life():
            scopes.debug(True)
            yield from scenario()
            scopes.debug(False)

        survives(life, **rules)

    yield check
    scopes.debug(False)


def listed():
    return _core.snapshot()["scopes"]


@pytest.mark.parametrize("on", [True, False])
def test_turning_it_on_and_off(survives, on):
    def life():
        yield None, lambda: scopes.debug(on)
        scopes.debug(False)

    survives(life)


def test_opening_a_scope(survives_debugging, kind):
    def life():
        outcome = yield None, kind
        assert len(listed()) == (outcome.value is not None)
        getattr(outcome.value, "close", bool)()

    survives_debugging(life, effects=True)


def test_opening_a_scope_wrongly(survives_debugging, kind):
    def life():
        yield None, lambda: kind(limit=-1)
        assert listed() == []

    survives_debugging(life, raises=(ValueError,))


def open_while_off(kind):
    scopes.debug(False)
    scope = kind()
    scopes.debug(True)
    return scope


@pytest.mark.parametrize("opened", [lambda kind: kind(), open_while_off], ids=["on", "off"])
@pytest.mark.parametrize(
    "take", [memoryview, lambda segment: segment.pin().__enter__()], ids=["view", "pin"]
)
def test_taking_an_export(survives_debugging, kind, opened, take):
    def life():
        scope = opened(kind)
        segment = scope.allocate(16)
        outcome = yield scope, lambda: take(segment)
        outcome.value = None
        assert scope.statistics().exports == 0

    survives_debugging(life)


def test_taking_an_export_of_a_closed_scope(survives_debugging, explicit):
    def life():
        scope = explicit()
        segment = scope.allocate(16)
        scope.close()
        yield scope, lambda: memoryview(segment)

    survives_debugging(life, raises=(scopes.ScopeClosedError,))


def test_entering_a_pin_twice(survives_debugging, explicit):
    def life():
        scope = explicit()
        pin = scope.allocate(16).pin()
        pin.__enter__()
        yield scope, pin.__enter__
        assert scope.statistics().exports == 1
        pin.__exit__()

    survives_debugging(life, raises=(scopes.ScopeError,))


def test_closing_a_scope_in_use(survives_debugging, explicit):
    def life():
        scopes.debug(False)
        scope = explicit()
        segment = scope.allocate(16)
        views = [memoryview(segment)]
        scopes.debug(True)
        views += [memoryview(segment), *map(memoryview, [segment] * 2)]
        views.append(memoryview(segment))
        views.append(memoryview(segment))
        yield scope, scope.close
        assert not scope.closed
        del views

    survives_debugging(life, raises=(scopes.ScopeInUseError,))


def test_closing_a_scope_in_use_that_no_python_code_holds(survives_debugging, without_frames):
    def life():
        scope = scopes.SharedScope()
        view = without_frames(memoryview, scope.allocate(16))
        yield scope, scope.close
        assert not scope.closed
        view.release()

    survives_debugging(life, raises=(scopes.ScopeInUseError,))


@pytest.mark.parametrize("nbytes", SIZES)
def test_overwriting_memory_at_close(survives_debugging, explicit, nbytes):
    def life():
        scope = explicit()
        scope.allocate(nbytes)[5] = 7
        outcome = yield scope, scope.close
        assert outcome.error is None
        assert scope.closed

    survives_debugging(life, effects=True)


@pytest.mark.parametrize("nbytes", SIZES)
def test_overwriting_memory_with_its_last_export(survives_debugging, explicit, nbytes):
    def life():
        scope = explicit(exports="defer")
        views = [memoryview(scope.allocate(nbytes))]
        scope.close()
        outcome = yield scope, views.clear
        assert outcome.error is None
        assert scopes.statistics().deferred_bytes == 0

    survives_debugging(life, effects=True)


def test_dropping_an_open_scope(survives_debugging, kind, unraisable):
    def life():
        box = [kind()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            outcome = yield None, box.clear
        assert (outcome.error, unraisable, listed()) == (None, [], [])

    survives_debugging(life, effects=True)


def test_taking_a_snapshot(survives_debugging, kind):
    def life():
        owner = {1}
        scopes_open = [scopes.ImplicitScope(owner=owner), scopes.SharedScope(exports="defer")]
        views = [memoryview(scopes_open[-1].allocate(10))]
        scopes_open[-1].close()
        scope = kind(limit=10_000)
        scope.callback(bool)
        views += [memoryview(scope.allocate(16)), memoryview(scope.allocate(8))]
        outcome = yield scope, _core.snapshot
        assert outcome.value is None or len(outcome.value["scopes"]) == 3
        del views, owner, scopes_open, outcome

    survives_debugging(life)


def test_taking_a_snapshot_while_it_is_off(survives):
    def life():
        yield None, _core.snapshot

    survives(life)
