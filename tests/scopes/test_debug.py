"""Debugging help: errors and warnings name lines, and what is released comes off the books."""

import contextlib
import ctypes
import gc
import inspect
import io
import sys
import tracemalloc
import warnings
import weakref

import pytest

import scopes

pytestmark = pytest.mark.usefixtures("debugging")


def enter_pin(segment):
    pin = segment.pin()
    pin.__enter__()
    return pin


def pin_on_stack(segment):
    stack = contextlib.ExitStack()
    stack.enter_context(segment.pin())
    return stack


def frombuffer(segment):
    import numpy as np

    return np.frombuffer(segment, "u1")


#: Each takes an export in its last line.
HOLDERS = {
    "memoryview": lambda segment: memoryview(segment),
    "view of a part": lambda segment: memoryview(segment[4:8]),
    "readonly view": lambda segment: memoryview(segment.toreadonly()),
    "frombuffer": frombuffer,
    "zeros": lambda segment: segment.scope.zeros(3),
    "empty": lambda segment: segment.scope.empty(3),
    "array": lambda segment: segment.scope.array([1, 2]),
    "__array__": lambda segment: segment.__array__(),
    "cdata": lambda segment: segment.cdata("char[]"),
    "ctypes": lambda segment: (ctypes.c_char * 4).from_buffer(segment),
    "pin": enter_pin,
    "pin on a stack": pin_on_stack,
}
NEEDS = dict.fromkeys(["frombuffer", "zeros", "empty", "array", "__array__"], "numpy")
NEEDS["cdata"] = "cffi"
#: Which of them do so in the line before the last.
EARLIER = {"pin", "pin on a stack"}


def last_line(name, function):
    lines, first = inspect.getsourcelines(function)
    at = first + len(lines) - (2 if name in EARLIER else 1)
    return f"{__file__}:{at} in {function.__qualname__}"


def here(back=0):
    """The line that calls this, less back, as messages name it."""
    caller = sys._getframe(1)
    return f"{__file__}:{caller.f_lineno - back} in {caller.f_code.co_qualname}"


def held(scope):
    """What the message of close() says of the exports."""
    with pytest.raises(scopes.ScopeInUseError) as caught:
        scope.close()
    return str(caught.value).split("(", 1)[1].rsplit(")", 1)[0]


@pytest.mark.parametrize("name", HOLDERS)
def test_close_names_the_line_of_each_kind_of_export(explicit, name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    scope = explicit()
    taken = HOLDERS[name](scope.allocate(64))
    assert held(scope).endswith(f", taken at {last_line(name, HOLDERS[name])}")
    del taken
    gc.collect()  # ctypes has cycles
    scope.close()


def test_the_whole_message_with_lines(explicit, whole):
    scope = explicit()
    view = memoryview(scope.allocate(64))
    line = here(back=1)
    message = (
        f"the {scope.kind} scope at ADDRESS can't be closed while 1 buffers or pins are alive "
        f"(1 of the segment of 64 bytes at ADDRESS, taken at {line}): release them first, or open "
        'the scope with exports="defer"'
    )
    with pytest.raises(scopes.ScopeInUseError, match=whole(message)):
        scope.close()
    view.release()
    scope.close()


def test_exports_of_one_segment_are_named_by_line_and_number(explicit):
    scope = explicit()
    segment = scope.allocate(64)
    views = [memoryview(segment), *map(memoryview, [segment] * 2)]
    first = here(back=1)
    views.append(memoryview(segment))
    second = here(back=1)
    assert held(scope).endswith(f", taken at {first} (3 times) and at {second}")
    del views[:]
    scope.close()


def test_three_lines_are_named_and_the_others_counted(explicit):
    scope = explicit()
    segment = scope.allocate(64)
    views = [memoryview(segment)]
    views.append(memoryview(segment))
    views.append(memoryview(segment))
    third = here(back=1)
    views.append(memoryview(segment))
    views.append(memoryview(segment))
    assert held(scope).endswith(f" and at {third} and elsewhere (2 times)")
    del views[:]
    scope.close()


def test_each_segment_has_its_own_lines(explicit, whole):
    scope = explicit()
    views = [memoryview(scope.allocate(1))]
    views.append(memoryview(scope.allocate(2)))
    second = here(back=1)
    assert held(scope).startswith("1 of the segment of 2 bytes at ")
    assert f", taken at {second}, 1 of the segment of 1 bytes at " in held(scope)
    del views
    scope.close()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_exactly_the_export_that_is_released_goes(explicit, order):
    scope = explicit()
    segment = scope.allocate(64)
    views = {0: memoryview(segment)}
    lines = {0: here(back=1)}
    views[1] = segment.pin()
    views[1].__enter__()
    lines[1] = here(back=1)
    views[2] = memoryview(segment)
    lines[2] = here(back=1)
    for number in order:
        del views[number]
        gone = lines.pop(number)
        named = held(scope) if lines else ""
        assert (gone in named, [line in named for line in lines.values()]) == (
            False,
            [True] * len(lines),
        )
    scope.close()


def test_a_pin_that_is_entered_twice_leaves_the_line_of_the_first(explicit):
    scope = explicit()
    pin = scope.allocate(64).pin()
    pin.__enter__()
    line = here(back=1)
    with pytest.raises(scopes.ScopeError):
        pin.__enter__()
    assert held(scope).startswith("1 of the segment of 64 bytes at ")
    assert held(scope).endswith(f", taken at {line}")
    pin.__exit__(None, None, None)
    scope.close()


def test_a_refused_export_leaves_nothing(explicit):
    scope = explicit()
    segment = scope.allocate(64).toreadonly()
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(b"abc").readinto(segment)
    assert scope.statistics().exports == 0
    scope.close()
    with pytest.raises(scopes.ScopeClosedError):
        memoryview(segment)


def test_exports_taken_while_it_was_off_are_counted(explicit):
    scopes.debug(False)
    scope = explicit()
    segment = scope.allocate(64)
    views = [memoryview(segment), memoryview(segment)]
    scopes.debug(True)
    assert held(scope).endswith(", taken while debug was off (2 times)")
    views.append(memoryview(segment))
    line = here(back=1)
    assert held(scope).endswith(f", taken at {line} and while debug was off (2 times)")
    del views
    scope.close()


def test_turned_off_it_still_ends_what_it_has_seen(explicit):
    scope = explicit()
    segment = scope.allocate(64)
    views = [memoryview(segment), segment.pin()]
    line = here(back=1)
    views[1].__enter__()
    scopes.debug(False)
    views.append(memoryview(segment))
    assert held(scope).count(f"{line} and at ") == 1
    assert held(scope).endswith("and while debug was off")
    del views[:2]
    scopes.debug(True)
    assert held(scope).endswith(", taken while debug was off")
    del views
    scope.close()


def test_off_messages_are_as_ever(explicit):
    scopes.debug(False)
    scope = explicit()
    view = memoryview(scope.allocate(64))
    assert "taken" not in held(scope)
    view.release()
    scope.close()


def test_the_repr_is_as_ever(scope):
    assert repr(scope) == f"<{type(scope).__name__} open, 0 bytes, at {id(scope):#x}>"


def test_the_warning_of_a_scope_that_was_never_closed_says_where_it_was_opened(explicit):
    def open_one():
        return explicit()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        open_one()
        callers = [here(back=1)]
    opened = f"{__file__}:{open_one.__code__.co_firstlineno + 1} in {open_one.__qualname__}"
    (said,) = [str(warning.message) for warning in caught]
    assert f"> was never closed, opened at {opened}, called from {callers[0]}" in said


def test_the_warning_says_nothing_of_a_scope_that_was_opened_while_it_was_off(explicit):
    scopes.debug(False)
    box = [explicit()]
    scopes.debug(True)
    with pytest.warns(ResourceWarning, match=r"at 0x[0-9a-f]+> was never closed$"):
        box.clear()


def test_what_no_python_code_took_is_told_as_that(without_frames):
    scope = scopes.SharedScope()
    view = without_frames(memoryview, scope.allocate(64))
    assert held(scope).endswith(", taken outside of Python code")
    view.release()
    scope.close()


def test_a_scope_that_was_opened_while_it_was_off_has_no_opening_in_its_warning(explicit):
    scopes.debug(False)
    box = [explicit()]
    scopes.debug(True)
    memoryview(box[0].allocate(64)).release()
    with pytest.warns(ResourceWarning, match=r"at 0x[0-9a-f]+> was never closed$"):
        box.clear()


def test_it_keeps_nothing_alive(kind):
    class Local:
        pass

    def hold():
        local = Local()
        scope = kind()
        return scope, memoryview(scope.allocate(64)), weakref.ref(local)

    scope, view, local = hold()
    gone = weakref.ref(scope)
    assert local() is None
    view.release()
    getattr(scope, "close", bool)()
    del scope, view
    assert gone() is None


def test_cycles_are_collected(kind):
    scope = kind()
    view = memoryview(scope.allocate(64))
    scope.callback(lambda *_: None, scope, view)
    gone = weakref.ref(scope)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del scope, view
        gc.collect()
    assert gone() is None


def test_lives_repeated_leave_nothing_behind(kind):
    def live(number):
        options = {} if kind is scopes.ImplicitScope else {"exports": "defer"}
        scopes.debug(number % 5 > 0)
        scope = kind(**options)
        segment = scope.allocate(64)
        views = [memoryview(segment), segment.pin(), memoryview(segment[3:9])]
        views[1].__enter__()
        scopes.debug(number % 3 > 0)
        getattr(scope, "close", bool)()

    tracemalloc.start()
    try:
        for number in range(600):
            live(number)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for number in range(600):
            live(number)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 600 * 8  # one origin a life would be more than 100 bytes each


def test_the_variable_turns_it_on_from_the_start(in_child):
    code = """
        import scopes
        scope = scopes.ConfinedScope(exports="raise")
        view = memoryview(scope.allocate(64))
        try:
            scope.close()
        except scopes.ScopeInUseError as error:
            print("taken at <string>:4 in <module>" in str(error))
        view.release()
        scope.close()
    """
    assert in_child(code, env={"SCOPES_DEBUG": "1"}) == "True"
    assert in_child(code, env={"SCOPES_DEBUG": "0"}) == "False"
    assert in_child(code, env={"SCOPES_DEBUG": ""}) == "False"


def test_another_value_of_the_variable_is_told(in_child):
    said = in_child(
        """
        try:
            import scopes
        except ValueError as error:
            print(error)
    """,
        env={"SCOPES_DEBUG": "yes"},
    )
    assert said == 'SCOPES_DEBUG must be 0 or 1, found "yes"'


def test_the_argument_is_a_truth_value():
    class Broken:
        def __bool__(self):
            raise RuntimeError("neither")

    with pytest.raises(RuntimeError, match="neither"):
        scopes.debug(Broken())
    with pytest.raises(TypeError):
        scopes.debug()


def test_a_source_without_a_name_is_named_as_it_is(explicit):
    names = {"scope": explicit()}
    code = "\n\nview = memoryview(scope.allocate(64))"
    exec(compile(code, "the \udcff source", "exec"), names)
    assert held(names["scope"]).endswith(", taken at the \udcff source:3 in <module>")
    del names["view"]
    names["scope"].close()
