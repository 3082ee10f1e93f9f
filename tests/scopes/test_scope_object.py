"""Scopes as objects: attributes, repr, identity, classes and constructors."""

import re

import pytest

import scopes


def test_kind_is_a_word():
    with scopes.ConfinedScope() as confined, scopes.SharedScope() as shared:
        kinds = [confined.kind, shared.kind, scopes.ImplicitScope().kind]
    assert kinds == ["confined", "shared", "implicit"]


def test_repr_shows_kind_state_and_bytes(explicit, whole):
    scope = explicit()
    scope.allocate(100)
    opened = repr(scope)
    seen = []
    scope.callback(lambda: seen.append(repr(scope)))
    scope.close()
    expected = [("open", 100), ("closing", 100), ("closed", 0)]
    for shown, (state, nbytes) in zip([opened, *seen, repr(scope)], expected, strict=True):
        pattern = whole(f"<{explicit.__name__} {state}, {nbytes} bytes, at ADDRESS>")
        assert re.match(pattern, shown)


def test_scopes_are_equal_to_themselves_only_and_hashable(explicit):
    with explicit() as one, explicit() as other:
        assert one == one
        assert one != other
        assert len({one, other, one}) == 2


def test_the_base_class_is_abstract(whole):
    message = "Scope is abstract: use ConfinedScope, SharedScope or ImplicitScope"
    with pytest.raises(TypeError, match=whole(message)):
        scopes.Scope()


def test_every_scope_is_a_scope(scope):
    assert isinstance(scope, scopes.Scope)


@pytest.mark.parametrize(
    "base",
    [scopes.Scope, scopes.ConfinedScope, scopes.SharedScope, scopes.ImplicitScope, scopes.Segment],
)
def test_no_class_can_be_derived_from(whole, base):
    message = f"type 'scopes.{base.__name__}' is not an acceptable base type"
    with pytest.raises(TypeError, match=whole(message)):
        type("Derived", (base,), {})


def test_a_scope_opens_through_new_as_well(kind):
    scope = kind.__new__(kind, limit=5)
    assert (type(scope), scope.statistics().limit) == (kind, 5)
    getattr(scope, "close", bool)()


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((1,), {}, "{}() takes at most 0 positional arguments, found 1"),
        ((), {"size": 1}, "{}() got an unexpected keyword argument 'size'"),
    ],
)
def test_bad_arguments_of_a_constructor_are_named(kind, whole, args, kwargs, message):
    before = scopes.statistics().open_scopes
    with pytest.raises(TypeError, match=whole(message.format(kind.__name__))):
        kind(*args, **kwargs)
    assert scopes.statistics().open_scopes == before


def test_an_implicit_scope_takes_no_exports(whole):
    message = "ImplicitScope() got an unexpected keyword argument 'exports'"
    with pytest.raises(TypeError, match=whole(message)):
        scopes.ImplicitScope(exports="defer")
