"""Closing scopes, and scopes and segments that are dropped, while memory runs out."""

import ctypes
import gc
import warnings
import weakref

import pytest

import scopes


class Endings:
    """What a scope has to run at its end: callbacks and a release, some of which raise."""

    def __init__(self):
        self.ran = []
        self.memory = ctypes.create_string_buffer(16)

    def run(self, name, error=None):
        self.ran.append(name)
        if error is not None:
            raise error(name)

    def release(self, address):
        assert address == ctypes.addressof(self.memory)
        self.run("release")

    def raising_release(self, address):
        self.run("release", ValueError)

    def register(self, scope, *errors, release):
        scope.adopt(ctypes.addressof(self.memory), 16, release)
        for name, error in enumerate(errors):
            scope.callback(self.run, name, error=error)
        self.expected = [*reversed(range(len(errors))), "release"]

    def check(self, failed):
        """All ran, in order; those that could not be called have not, but nothing ran twice."""
        if failed:
            assert [name for name in self.expected if name in self.ran] == self.ran
        else:
            assert self.ran == self.expected


@pytest.fixture(autouse=True)
def reported(unraisable):
    """What was handed to sys.unraisablehook."""
    return unraisable


def test_closing_a_scope_with_segments(survives, explicit):
    def life():
        scope = explicit()
        segments = [scope.allocate(n) for n in (0, 10, 5000, 100_000)]
        outcome = yield scope, scope.close
        assert outcome.error is None
        assert scope.closed
        del segments

    survives(life, effects=True)


def test_closing_a_large_scope(survives, explicit):
    def life():
        scopes.set_cache_limit(0)
        scope = explicit()
        for _ in range(3):
            scope.allocate(2**25)
        outcome = yield scope, scope.close
        assert outcome.error is None
        assert scope.closed

    survives(life, effects=True)


@pytest.mark.parametrize("exports", range(1, 6))
def test_closing_a_scope_in_use(survives, explicit, exports):
    def life():
        scope = explicit()
        ran = []
        scope.callback(ran.append, 1)
        views = [memoryview(scope.allocate(5)) for _ in range(exports)]
        yield scope, scope.close
        assert (scope.closed, ran) == (False, [])
        del views
        scope.close()
        assert ran == [1]

    survives(life, raises=(scopes.ScopeInUseError,))


def test_closing_a_scope_of_another_thread(survives, on_thread):
    def life():
        scope = scopes.ConfinedScope()
        yield scope, lambda: on_thread(scope.close)
        assert not scope.closed

    survives(life, raises=(scopes.WrongThreadError,))


def test_closing_a_scope_that_defers(survives, explicit):
    def life():
        scope = explicit(exports="defer")
        views = [memoryview(scope.allocate(n)) for n in (10, 5000, 100_000)]
        scope.close()
        outcome = yield scope, views.clear
        assert outcome.error is None
        assert scopes.statistics().deferred_bytes == 0

    survives(life, effects=True)


@pytest.mark.parametrize("errors", [(None,), (None, ValueError), (ValueError, None, KeyError)])
def test_closing_a_scope_with_callbacks(survives, explicit, errors):
    def life():
        scope, endings = explicit(), Endings()
        endings.register(scope, *errors, release=endings.release)
        outcome = yield scope, scope.close
        assert scope.closed
        endings.check(outcome.failed)

    survives(life, raises=tuple(filter(None, errors)), effects=True)


def test_closing_a_scope_whose_release_raises(survives, explicit):
    def life():
        scope, endings = explicit(), Endings()
        endings.register(scope, KeyError, release=endings.raising_release)
        outcome = yield scope, scope.close
        assert scope.closed
        endings.check(outcome.failed)
        if not outcome.failed:
            assert isinstance(outcome.error.__context__, KeyError)

    survives(life, raises=(ValueError, KeyError), effects=True)


def test_a_with_statement(survives, explicit):
    def life():
        scope, endings = explicit(), Endings()
        endings.register(scope, None, release=endings.release)

        def statement():
            with scope:
                endings.entered = True
                scope.allocate(10)

        endings.entered = False
        outcome = yield scope, statement
        assert scope.closed == endings.entered
        assert outcome.error is None or outcome.failed

    survives(life, effects=True)


@pytest.mark.parametrize("errors", [(), (KeyError, OSError)], ids=["plain", "callbacks raise"])
def test_a_with_statement_whose_body_raises(survives, explicit, errors):
    def life():
        scope, endings = explicit(), Endings()
        endings.register(scope, *errors, release=endings.release)
        body = ValueError("body")

        def statement():
            with scope:
                raise body

        outcome = yield scope, statement
        assert outcome.error is body
        assert scope.closed
        endings.check(outcome.failed)
        notes = getattr(body, "__notes__", [])
        assert len(notes) <= 1
        if not outcome.failed:
            assert len(notes) == bool(errors)

    survives(life, raises=(ValueError,), effects=True)


def test_a_with_statement_in_another(survives, explicit):
    def life():
        scope = explicit()

        def statement():
            with scope:
                pass

        scope.__enter__()
        yield scope, statement
        assert not scope.closed

    survives(life, raises=(scopes.ScopeError,))


CONTEXT_MISUSE = {
    "no scope": lambda scope: type(scope).__enter__(),
    "something else": lambda scope: type(scope).__exit__(5, None, None, None),
    "too much": lambda scope: type(scope).__enter__(scope, 1),
    "by name": lambda scope: type(scope).__enter__(scope, x=1),
}


@pytest.mark.parametrize("operation", CONTEXT_MISUSE.values(), ids=CONTEXT_MISUSE)
def test_entering_and_exiting_wrongly(survives, explicit, operation):
    def life():
        scope = explicit()
        yield scope, lambda: operation(scope)

    survives(life, raises=(TypeError,))


def test_showing_a_method_of_the_with_statement(survives, explicit):
    def life():
        yield None, lambda: repr(explicit.__enter__)

    survives(life)


# ---- what is dropped ----------------------------------------------------------------------------


def test_dropping_an_open_scope(survives, kind, reported):
    def life():
        before = scopes.statistics()
        box = [kind()]
        box[0].allocate(100)
        box[0].allocate(100_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            outcome = yield None, box.clear
        assert (outcome.error, reported) == (None, [])
        after = scopes.statistics()
        assert (after.open_scopes, after.live_bytes) == (before.open_scopes, before.live_bytes)

    survives(life, effects=True)


@pytest.mark.parametrize("error", [None, ValueError])
def test_dropping_an_open_scope_with_callbacks(survives, kind, reported, error):
    def life():
        box, endings = [kind()], Endings()
        endings.register(box[0], None, error, release=endings.release)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            outcome = yield None, box.clear
        assert outcome.error is None
        endings.check(outcome.failed)
        told = [kind for kind, _ in reported]
        assert told.count(ValueError) == (error is not None and 1 in endings.ran)
        assert told.count(MemoryError) == len(told) - told.count(ValueError)
        assert len(told) - told.count(ValueError) == 3 - len(endings.ran)
        reported.clear()

    survives(life, effects=True)


def test_collecting_a_cycle_of_a_scope_and_its_callback(survives, kind, reported):
    def life():
        ran, scope = [], kind()
        scope.callback(lambda *_: ran.append(1), scope, scope.allocate(100))
        box = [scope]
        del scope
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            outcome = yield None, lambda: (box.clear(), gc.collect())
        assert outcome.error is None
        assert len(ran) + len(reported) == 1
        assert outcome.failed or ran
        reported.clear()

    survives(life, effects=True)


def test_an_owner_dies(survives, reported):
    def life():
        owners, ran = [{1}], []
        scope = scopes.ImplicitScope(owner=owners[0])
        segment = scope.allocate(100)
        scope.callback(ran.append, 1)
        outcome = yield scope, owners.clear
        assert outcome.error is None
        assert scope.closed
        assert len(ran) + len(reported) == 1
        assert outcome.failed or ran
        del segment
        reported.clear()

    survives(life, effects=True)


def test_what_was_accounted_dies(survives, reported):
    def life():
        before = scopes.statistics().implicit_bytes
        box = [{1}]
        scopes.account(box[0], 1000)
        outcome = yield None, box.clear
        assert (outcome.error, reported) == (None, [])
        assert scopes.statistics().implicit_bytes == before

    survives(life, effects=True)


def test_the_last_segment_of_exported_adopted_memory_is_dropped(survives, explicit, reported):
    def life():
        endings, scope = Endings(), explicit(exports="defer")
        box = [scope.adopt(ctypes.addressof(endings.memory), 16, endings.release)]
        memoryview(box[0]).release()
        scope.close()
        assert endings.ran == []
        outcome = yield scope, box.clear
        assert outcome.error is None
        assert len(endings.ran) + len(reported) == 1
        assert outcome.failed or endings.ran
        reported.clear()

    survives(life, effects=True)


def test_adopted_memory_is_dropped_with_its_scope(survives, reported):
    def life():
        endings, scope = Endings(), scopes.ImplicitScope()
        box = [scope.adopt(ctypes.addressof(endings.memory), 16, endings.raising_release)]
        del scope
        outcome = yield None, box.clear
        assert outcome.error is None
        assert (len(endings.ran), len(reported)) in ([(1, 1)] + [(0, 1)] * outcome.failed)
        reported.clear()

    survives(life, effects=True)


def test_a_segment_with_a_weak_reference_is_dropped(survives, kind):
    def life():
        scope = kind()
        box, died = [scope.allocate(10)], []
        reference = weakref.ref(box[0], died.append)
        outcome = yield scope, box.clear
        assert outcome.error is None
        assert died == [reference]

    survives(life, effects=True)
