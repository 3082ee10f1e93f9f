"""The with statement: what it closes, and which exception leaves it."""

# ruff: noqa: PT012 - bodies of with statements that raise are what is tested here

import contextlib
import ctypes
import inspect

import pytest

import scopes


def test_with_gives_the_scope_itself(explicit):
    scope = explicit()
    with scope as entered:
        assert entered is scope


def test_with_closes_at_its_end(explicit):
    with explicit() as scope:
        segment = scope.allocate(1)
        assert not scope.closed
    assert scope.closed
    with pytest.raises(scopes.ScopeClosedError):
        segment[0]


def test_with_closes_when_the_body_returns(explicit):
    made = []

    def body():
        with explicit() as scope:
            made.append(scope)
            return scope.allocate(3).nbytes

    assert (body(), made[0].closed) == (3, True)


def test_a_scope_closed_in_its_body_leaves_quietly(explicit):
    with explicit() as scope:
        scope.close()
    assert scope.closed


def test_the_exception_of_the_body_leaves_and_the_scope_is_closed(explicit):
    error = KeyError("body")
    with pytest.raises(KeyError) as caught, explicit() as scope:
        raise error
    assert (caught.value is error, scope.closed) == (True, True)
    assert not hasattr(error, "__notes__")


def test_an_export_at_the_end_of_a_quiet_body_raises(explicit):
    views = []
    scope = explicit()
    with pytest.raises(scopes.ScopeInUseError), scope:
        views.append(memoryview(scope.allocate(1)))
    assert not scope.closed
    views.clear()
    scope.close()


def test_an_export_does_not_hide_the_exception_of_the_body(explicit):
    views = []
    with pytest.raises(KeyError) as caught, explicit() as scope:
        views.append(memoryview(scope.allocate(4)))
        views[0][:] = b"abcd"
        raise KeyError("body")
    assert (caught.value.__context__, scope.closed) == (None, True)
    scopes.trim()
    assert bytes(views[0]) == b"abcd"


def test_exports_left_by_a_body_that_raised_are_deferred(explicit):
    before = scopes.statistics().deferred_bytes
    views = []
    with pytest.raises(KeyError), explicit() as scope:
        views.append(memoryview(scope.allocate(2**20)))
        raise KeyError
    assert scopes.statistics().deferred_bytes - before == 2**20
    views.clear()
    assert scopes.statistics().deferred_bytes == before


def test_an_export_that_only_the_traceback_of_the_body_holds_goes_with_it(explicit):
    before = scopes.statistics().deferred_bytes

    def body(scope):
        view = memoryview(scope.allocate(2**20))
        raise KeyError(len(view))

    with pytest.raises(KeyError) as caught, explicit() as scope:
        body(scope)
    assert scopes.statistics().deferred_bytes - before == 2**20
    caught.value.with_traceback(None)
    del caught
    assert scopes.statistics().deferred_bytes == before


def test_the_callbacks_run_when_the_body_raised_with_exports(explicit):
    ran = []
    with pytest.raises(KeyError), explicit() as scope:
        scope.callback(ran.append, 1)
        view = memoryview(scope.allocate(4))
        raise KeyError
    assert (ran, len(view)) == ([1], 4)


def fail(error):
    raise error


@pytest.mark.parametrize("callbacks", [1, 2, 3, 5])
def test_what_callbacks_raise_is_a_note_on_the_exception_of_the_body(in_child, callbacks):
    assert (
        in_child(f"""
        import faulthandler
        faulthandler.dump_traceback_later(10, exit=True)
        import scopes
        def fail(error):
            raise error
        for explicit in scopes.ConfinedScope, scopes.SharedScope:
            try:
                with explicit() as scope:
                    for number in range({callbacks}):
                        scope.callback(fail, ValueError(number))
                    raise KeyError("body")
            except KeyError as error:
                assert error.__notes__ == ["while the scope was closed: ValueError(0)"], error
                assert error.__context__ is None, error.__context__
                print("primary")
    """)
        == "primary\nprimary"
    )


def test_the_context_of_the_exception_of_the_body_stays(explicit):
    with pytest.raises(KeyError) as caught, explicit() as scope:
        scope.callback(fail, ValueError("callback"))
        try:
            raise OSError("first")
        except OSError:
            raise KeyError("body")  # noqa: B904
    assert (type(caught.value.__context__), caught.value.__context__.__context__) == (OSError, None)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("body", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exit_stays_primary_too(explicit, body):
    with pytest.raises(body) as caught, explicit() as scope:
        scope.callback(fail, ValueError("callback"))
        raise body
    assert caught.value.__notes__ == ["while the scope was closed: ValueError('callback')"]


def test_an_exception_that_takes_no_notes_still_leaves(explicit):
    class NoNotesError(Exception):
        add_note = None

    error = NoNotesError()
    with pytest.raises(NoNotesError) as caught, explicit() as scope:
        scope.callback(fail, ValueError("callback"))
        raise error
    assert caught.value is error


def test_a_callback_that_raises_at_the_end_of_a_quiet_body_propagates(explicit, whole):
    with pytest.raises(ValueError, match=whole("callback")), explicit() as scope:
        scope.callback(fail, ValueError("callback"))
    assert scope.closed


def test_a_scope_is_entered_once(explicit, whole):
    message = (
        "the {} scope at ADDRESS is already in a with statement, and a scope is single-use: "
        "open one for each with statement"
    )
    with explicit() as scope:
        with pytest.raises(scopes.ScopeError, match=whole(message.format(scope.kind))):
            scope.__enter__()
        assert not scope.closed


def test_a_closed_scope_can_not_be_entered(explicit, whole):
    scope = explicit()
    scope.close()
    message = f"the {scope.kind} scope at ADDRESS is closed"
    with pytest.raises(scopes.ScopeClosedError, match=whole(message)), scope:
        pass


def test_with_makes_no_object_for_the_collector(explicit, no_collections):
    with no_collections():
        for _ in range(5000):
            with explicit() as scope:
                scope.allocate(16)


def test_an_exit_stack_enters_and_closes_scopes(explicit):
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(explicit()) for _ in range(10)]
        made[0].allocate(10)
    assert all(scope.closed for scope in made)


def test_an_exit_stack_passes_the_exception_of_the_body_to_the_scope(explicit):
    views = []
    with pytest.raises(KeyError) as caught, contextlib.ExitStack() as stack:
        scope = stack.enter_context(explicit())
        views.append(memoryview(scope.allocate(1)))
        raise KeyError("body")
    assert (caught.value.__context__, scope.closed) == (None, True)


def test_an_exit_stack_takes_the_exit_of_a_scope(explicit):
    scope = explicit()
    with contextlib.ExitStack() as stack:
        stack.push(scope)
    assert scope.closed


def test_contextlib_closing_closes(explicit):
    with contextlib.closing(explicit()) as scope:
        scope.allocate(1)
    assert scope.closed


def test_scopes_nest(explicit):
    with explicit() as outer:
        kept = outer.allocate(1)
        with explicit() as inner:
            inner.allocate(1)
        assert (inner.closed, outer.closed, kept[0]) == (True, False, 0)


def test_exit_returns_false(explicit):
    scope = explicit()
    scope.__enter__()
    assert scope.__exit__(None, None, None) is False
    assert scope.__exit__(None, None, None) is False


def test_inspect_understands_the_methods_of_the_with_statement(explicit):
    signatures = [str(inspect.signature(getattr(explicit, n))) for n in ("__enter__", "__exit__")]
    assert signatures == ["(self, /)", "(self, exc_type, exc_value, traceback, /)"]


def test_the_methods_of_the_with_statement_are_documented(explicit):
    docs = [inspect.getdoc(getattr(explicit, name)) for name in ("__enter__", "__exit__")]
    assert all(docs)


def test_the_methods_of_the_class_take_the_scope(explicit):
    scope = explicit()
    assert explicit.__enter__(scope) is scope
    assert explicit.__exit__(scope, None, None, None) is False
    assert scope.closed


@pytest.mark.parametrize("args", [(1,), (1, 2), (1, 2, 3, 4)])
def test_no_other_call_of_a_scope_works(explicit_scope, whole, args):
    message = (
        "a scope is called by the with statement alone: expected 0 arguments (__enter__) "
        f"or 3 (__exit__), found {len(args)}"
    )
    with pytest.raises(TypeError, match=whole(message)):
        explicit_scope(*args)


def test_keyword_arguments_of_a_call_are_refused(explicit_scope, whole):
    message = (
        "a scope is called by the with statement alone: expected 0 arguments (__enter__) "
        "or 3 (__exit__), found 3"
    )
    with pytest.raises(TypeError, match=whole(message)):
        explicit_scope.__exit__(exc_type=None, exc_value=None, traceback=None)


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("__enter__", (), "__enter__() needs a ConfinedScope or SharedScope, found nothing"),
        (
            "__enter__",
            (5,),
            "__enter__() needs a ConfinedScope or SharedScope, found an object of type int",
        ),
        ("__exit__", (), "__exit__() needs a ConfinedScope or SharedScope, found nothing"),
    ],
)
def test_the_methods_of_the_class_need_a_scope(explicit, whole, name, args, message):
    with pytest.raises(TypeError, match=whole(message)):
        getattr(explicit, name)(*args)


@pytest.mark.parametrize(("name", "count"), [("__enter__", 0), ("__exit__", 3)])
def test_the_methods_of_the_class_count_their_arguments(explicit_scope, whole, name, count):
    message = f"{name}() takes {count} arguments, found 1"
    with pytest.raises(TypeError, match=whole(message)):
        getattr(type(explicit_scope), name)(explicit_scope, None)


def test_an_exit_for_the_type_of_an_exception_alone_closes_quietly(explicit):
    scope = explicit()
    scope.callback(lambda: 1 / 0)
    assert scope.__exit__(ValueError, None, None) is False
    assert scope.closed


def test_a_caller_in_c_may_give_no_names_as_an_empty_tuple(explicit):
    call = ctypes.pythonapi.PyObject_Vectorcall
    call.restype = ctypes.py_object
    call.argtypes = (ctypes.py_object, ctypes.c_void_p, ctypes.c_size_t, ctypes.py_object)
    scope, other = explicit(), explicit()
    arguments = (ctypes.py_object * 1)(scope)
    assert call(explicit.__enter__, arguments, 1, ()) is scope
    assert call(other.__enter__, None, 0, ()) is other
    scope.close()
    other.close()


def test_leaving_on_another_thread_keeps_the_exception_of_the_body(on_thread):
    scope = scopes.ConfinedScope()
    scope.__enter__()
    error = KeyError("body")
    on_thread(scope.__exit__, KeyError, error, None)
    scope.close()
    assert len(error.__notes__) == 1
    assert error.__notes__[0].startswith("while the scope was closed: WrongThreadError(")


def test_an_implicit_scope_is_no_context_manager():
    with pytest.raises((TypeError, AttributeError)), scopes.ImplicitScope():
        pass
