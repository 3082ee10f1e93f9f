"""The exceptions and how they are related."""

import inspect

import pytest

import scopes

BASES = {
    scopes.ScopeError: (Exception,),
    scopes.ScopeClosedError: (scopes.ScopeError, ValueError),
    scopes.WrongThreadError: (scopes.ScopeError, RuntimeError),
    scopes.ScopeInUseError: (scopes.ScopeError, BufferError),
    scopes.ScopeMemoryError: (scopes.ScopeError, MemoryError),
}


@pytest.mark.parametrize(
    ("error", "bases"), BASES.items(), ids=lambda x: getattr(x, "__name__", "")
)
def test_each_error_is_one_of_ours_and_one_of_pythons(error, bases):
    assert error.__bases__ == bases


@pytest.mark.parametrize("error", BASES, ids=lambda error: error.__name__)
def test_errors_come_from_scopes_and_say_when(error):
    assert error.__module__ == "scopes"
    assert len(inspect.getdoc(error)) > 20


@pytest.mark.parametrize("name", scopes.__all__)
def test_each_public_name_lives_in_scopes(name):
    thing = getattr(scopes, name)
    python = {"dump": "scopes._debug", "record": "scopes._record"}
    expected = "scopes" if inspect.isclass(thing) else python.get(name, "scopes._core")
    assert (thing.__module__, thing.__name__) == (expected, name)


@pytest.mark.parametrize("name", scopes.__all__)
def test_each_public_name_is_documented(name):
    assert inspect.getdoc(getattr(scopes, name))


PUBLIC = [
    (cls, name)
    for cls in (scopes.ConfinedScope, scopes.SharedScope, scopes.ImplicitScope, scopes.Segment)
    for name in dir(cls)
    if not name.startswith("_")
]


@pytest.mark.parametrize(("cls", "name"), PUBLIC, ids=lambda x: getattr(x, "__name__", x))
def test_each_public_method_and_attribute_is_documented(cls, name):
    assert inspect.getdoc(getattr(cls, name))


@pytest.mark.parametrize(("cls", "name"), PUBLIC, ids=lambda x: getattr(x, "__name__", x))
def test_each_public_method_has_a_signature(cls, name):
    if callable(getattr(cls, name)):
        assert next(iter(inspect.signature(getattr(cls, name)).parameters)) == "self"


@pytest.mark.parametrize(
    "cls",
    [scopes.ConfinedScope, scopes.SharedScope, scopes.ImplicitScope],
    ids=lambda c: c.__name__,
)
def test_each_scope_has_a_signature(cls):
    parameters = list(inspect.signature(cls).parameters.values())
    assert {parameter.kind for parameter in parameters} == {inspect.Parameter.KEYWORD_ONLY}
    assert "limit" in [parameter.name for parameter in parameters]
