"""The examples in the docstrings of scopes and of its compiled part."""

import doctest
import inspect

import pytest

import scopes
from scopes import _core

TYPES = [_core.Scope, _core.ConfinedScope, _core.SharedScope, _core.ImplicitScope, _core.Segment]


def documented():
    """Each documented thing once, by the name it is found under."""
    found = {"scopes": scopes, "scopes._core": _core}
    for name, thing in (vars(_core) | {n: getattr(scopes, n) for n in scopes.__all__}).items():
        if callable(thing):
            found[f"scopes.{name}"] = thing
    for cls in TYPES:
        for name in vars(cls):
            if not name.startswith("__") or name == "__array__":
                found[f"scopes.{cls.__name__}.{name}"] = getattr(cls, name)
    return found


def examples():
    finder = doctest.DocTestParser()
    for name, thing in documented().items():
        text = inspect.getdoc(thing)
        test = finder.get_doctest(text or "", {}, name, None, 0)
        if test.examples:
            yield pytest.param(test, id=name)


EXAMPLES = list(examples())


@pytest.mark.parametrize("test", EXAMPLES)
def test_an_example_shows_what_it_says(test):
    if "cdata" in test.name:
        pytest.importorskip("cffi")
    if "record" in test.name and not hasattr(_core, "start_events"):
        pytest.skip("a build without events")
    if any(word in test.docstring for word in ("zeros(", "empty(", "array(", "np.")):
        pytest.importorskip("numpy")
    test.globs = {name: getattr(scopes, name) for name in scopes.__all__}
    said = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
    assert "".join(said) == ""


def test_what_users_call_has_an_example():
    with_example = {parameter.id for parameter in EXAMPLES}
    methods = ["allocate", "adopt", "callback", "zeros", "empty", "array", "close", "statistics"]
    expected = {f"scopes.ConfinedScope.{name}" for name in methods}
    expected |= {f"scopes.Segment.{n}" for n in ("fill", "copy_from", "toreadonly", "pin", "cdata")}
    expected |= {f"scopes.{cls.__name__}" for cls in TYPES[1:]}
    functions = ["debug", "dump", "record", "set_cache_limit", "set_limit", "statistics", "trim"]
    expected |= {f"scopes.{name}" for name in functions}
    assert expected <= with_example
