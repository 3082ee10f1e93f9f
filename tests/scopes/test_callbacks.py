"""Callbacks: their order, what they may do, and how what they raise is chained."""

import contextlib
import itertools
import weakref

import pytest

import scopes


def test_the_last_callback_runs_first(explicit):
    ran = []
    with explicit() as scope:
        for number in range(10):
            scope.callback(ran.append, number)
    assert ran == list(range(10))[::-1]


def test_ten_thousand_callbacks_run_in_order(explicit):
    ran = []
    with explicit() as scope:
        for number in range(10_000):
            scope.callback(ran.append, number)
    assert ran == list(range(10_000))[::-1]


def test_a_callback_gets_its_arguments(explicit):
    seen = []
    with explicit() as scope:
        scope.callback(lambda *args, **kwargs: seen.append((args, kwargs)), 1, [2], fn=3, self=4)
    assert seen == [((1, [2]), {"fn": 3, "self": 4})]


def test_registering_returns_the_function_so_that_it_decorates(explicit):
    ran = []
    with explicit() as scope:

        @scope.callback
        def ended():
            ran.append(1)

        assert ended.__name__ == "ended"
    assert ran == [1]


def test_one_function_registered_twice_runs_twice(explicit):
    ran = []
    with explicit() as scope:
        scope.callback(ran.append, 1)
        scope.callback(ran.append, 1)
    assert ran == [1, 1]


def test_callbacks_are_counted(explicit):
    scope = explicit()
    counts = [scope.statistics().callbacks]
    for _ in range(3):
        scope.callback(bool)
        counts.append(scope.statistics().callbacks)
    scope.close()
    assert [*counts, scope.statistics().callbacks] == [0, 1, 2, 3, 0]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "callback() missing required argument 'fn'"),
        ((), {"fn": print}, "callback() missing required argument 'fn'"),
        ((5,), {}, "callback() takes a callable first, found 5"),
        ((None, print), {}, "callback() takes a callable first, found None"),
    ],
)
def test_what_can_not_be_called_is_refused(scope, whole, args, kwargs, message):
    with pytest.raises(TypeError, match=whole(message)):
        scope.callback(*args, **kwargs)
    assert scope.statistics().callbacks == 0


def test_callbacks_and_their_arguments_are_let_go_after_close(explicit):
    class Thing:
        def method(self, other):
            pass

    things = Thing(), Thing()
    alive = [weakref.ref(thing) for thing in things]
    scope = explicit()
    scope.callback(things[0].method, things[1])
    del things
    assert None not in [reference() for reference in alive]
    scope.close()
    assert [reference() for reference in alive] == [None, None]


def test_a_callback_that_raises_leaves_the_scope_closed_and_its_memory_free(explicit):
    live = scopes.statistics().live_bytes
    scope = explicit()
    scope.allocate(100)
    scope.callback(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        scope.close()
    assert (scope.closed, scopes.statistics().live_bytes) == (True, live)
    assert scope.close() is None


def test_all_callbacks_run_though_each_raises(explicit):
    ran = []

    def fail(number):
        ran.append(number)
        raise ValueError(number)

    scope = explicit()
    for number in range(4):
        scope.callback(fail, number)
    with pytest.raises(ValueError, match=r"\A0\Z"):
        scope.close()
    assert ran == [3, 2, 1, 0]


# ---- the chain, compared with nested statements and contextlib.ExitStack -------------------------

ONE = OSError("the one that is raised twice")


def raise_plainly(number):
    raise ValueError(number)


def raise_while_handling(number):
    try:
        raise KeyError(number)
    except KeyError:
        raise ValueError(number)  # noqa: B904


def raise_from(number):
    raise ValueError(number) from KeyError(number)


def raise_from_none(number):
    try:
        raise KeyError(number)
    except KeyError:
        raise ValueError(number) from None


def raise_and_handle(number):
    with contextlib.suppress(KeyError):
        raise KeyError(number)


def raise_exit(number):
    raise SystemExit(number)


def raise_the_same(number):
    raise ONE


STEPS = [
    raise_plainly,
    raise_while_handling,
    raise_from,
    raise_from_none,
    raise_and_handle,
    raise_exit,
    raise_the_same,
]


def chain_of(error):
    """The exceptions by context and what each was caused by; ends at a cycle."""
    found, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        found.append((repr(error), repr(error.__cause__), error.__suppress_context__))
        error = error.__context__
    return found, error is not None


def end_nested(steps, first=0):
    """What a stack of callbacks stands for: nested statements, of which the last one ends first."""
    try:
        if first + 1 < len(steps):
            end_nested(steps, first + 1)
    finally:
        steps[first](first)


def end_of(make):
    """The same steps as callbacks of what is made."""

    def end(steps):
        opened = make()
        for number, step in enumerate(steps):
            opened.callback(step, number)
        opened.close()

    return end


def chain_raised_by(end, steps, *, handling=False):
    ONE.__context__ = None
    try:
        if handling:
            try:
                raise LookupError("handled")
            except LookupError:
                end(steps)
        else:
            end(steps)
    except BaseException as error:
        return chain_of(error)
    return None


@pytest.mark.parametrize(
    "steps",
    [
        *itertools.product(STEPS, repeat=1),
        *itertools.product(STEPS, repeat=2),
        *itertools.product(STEPS[:3], repeat=3),
    ],
    ids=lambda steps: "-".join(step.__name__ for step in steps),
)
def test_exceptions_are_chained_as_nested_statements_chain_them(explicit, steps):
    # ExitStack, which stands for them, chains nothing while no exception is handled.
    expected = chain_raised_by(end_nested, steps)
    assert chain_raised_by(end_of(explicit), steps) == expected


@pytest.mark.parametrize("length", [1, 2, 3])
def test_exceptions_are_chained_while_another_is_handled(in_child, length):
    # In a child: a chain that is a cycle can be walked for ever.
    # ExitStack leaves the handled exception out.
    said = in_child(f"""
        import faulthandler
        faulthandler.dump_traceback_later(30, exit=True)
        import importlib.util, itertools, contextlib, scopes
        spec = importlib.util.spec_from_file_location("chains", {__file__!r})
        chains = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(chains)
        handled = ("LookupError('handled')", "None", False)
        for steps in itertools.product(chains.STEPS[:6], repeat={length}):
            ends = [chains.end_of(contextlib.ExitStack), chains.end_nested]
            ends += [chains.end_of(scopes.ConfinedScope), chains.end_of(scopes.SharedScope)]
            found = [chains.chain_raised_by(end, steps, handling=True) for end in ends]
            assert found[1:] == [found[1]] * 3, (steps, found)
            if found[1] is not None:
                links, endless = found[1]
                assert ([link for link in links if link != handled], endless) == found[0], steps
        print("the same")
    """)
    assert said == "the same"


def test_the_handled_exception_keeps_its_context(explicit):
    handled = LookupError("handled")
    scope = explicit()
    scope.callback(raise_plainly, 0)
    with contextlib.suppress(ValueError):
        try:
            raise handled
        except LookupError:
            scope.close()
    assert handled.__context__ is None


def test_the_traceback_of_a_callback_shows_where_it_raised(explicit):
    scope = explicit()
    scope.callback(raise_plainly, 0)
    with pytest.raises(ValueError, match=r"\A0\Z") as caught:
        scope.close()
    assert caught.traceback[-1].name == "raise_plainly"


# ---- callbacks that use scopes -------------------------------------------------------------------


def test_a_callback_may_open_and_close_another_scope(explicit):
    seen = []

    def use():
        with explicit() as inner:
            seen.append(len(inner.allocate(10)))

    with explicit() as scope:
        scope.callback(use)
    assert seen == [10]


def test_scopes_whose_callbacks_close_each_other_both_end(explicit):
    one, other = explicit(), explicit()
    one.callback(other.close)
    other.callback(one.close)
    one.close()
    assert (one.closed, other.closed) == (True, True)


def test_a_callback_may_drop_the_last_reference_to_its_scope(explicit):
    holder = [explicit()]
    live = scopes.statistics().open_scopes
    holder[0].allocate(5)
    holder[0].callback(holder.clear)
    holder[0].close()
    assert (holder, scopes.statistics().open_scopes) == ([], live - 1)


def test_a_callback_may_drop_the_segments_of_its_scope(explicit):
    with explicit() as scope:
        segments = [scope.allocate(n) for n in (1, 100, 2**20)]
        scope.callback(segments.clear)
    assert segments == []


def test_a_chain_of_scopes_that_close_each_other_is_as_long_as_one_likes(in_child):
    assert (
        in_child("""
        import scopes
        last = scopes.ImplicitScope().allocate(8)
        for _ in range(50_000):
            scope = scopes.ImplicitScope()
            scope.callback(bool, last)
            last = scope.allocate(8)
        del scope
        del last
        print(scopes.statistics().open_scopes)
    """)
        == "0"
    )


@pytest.mark.parametrize("method", ["callback", "adopt"])
def test_a_collection_that_closes_the_scope_makes_the_registration_fail_or_run(in_child, method):
    # Registering may need a list, whose making may run the collector, whose finalizers may close.
    assert (
        in_child(f"""
        import gc, scopes

        class Closer:
            def __init__(self, scope):
                self.scope, self.self = scope, self
            def __del__(self):
                self.scope.close()

        gc.disable()
        hoard, wrong = [[] for _ in range(300)], 0
        for number in range(60):
            scope, ran = scopes.SharedScope(), []
            register = ran.append
            gc.collect()
            hoard.append([[] for _ in range(90)])
            Closer(scope)
            gc.set_threshold(max(1, gc.get_count()[0] - 30 + number))
            gc.enable()
            try:
                if {method!r} == "callback":
                    scope.callback(register, 1)
                else:
                    scope.adopt(1, 1, register)
            except scopes.ScopeClosedError:
                gc.disable()
                wrong += ran != []
            else:
                gc.disable()
                scope.close()
                wrong += ran != [1]
        print(wrong)
    """)
        == "0"
    )
