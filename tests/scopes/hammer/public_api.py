"""The names that scopes offers, found in the module and its types: a new one is here by itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import scopes
from scopes import _core

KINDS = (scopes.ConfinedScope, scopes.SharedScope, scopes.ImplicitScope)
RECORDS = (scopes.Statistics, scopes.ScopeStatistics)
#: What debug builds have besides.
INTERNAL = {"check"}

#: In each class, with nothing of ours behind it.
HOUSEKEEPING = {"__doc__", "__module__", "__vectorcalloffset__", "__weaklistoffset__"}


def pin_type() -> type:
    """The class of pins, which has no public name."""
    with scopes.SharedScope() as scope:
        return type(scope.allocate(1).pin())


def types() -> dict[str, type]:
    """The classes whose instances users hold."""
    return {cls.__name__: cls for cls in (*KINDS, scopes.Segment, pin_type(), *RECORDS)}


def functions() -> dict[str, Callable[..., Any]]:
    """Functions and classes of the module, and those that its Python parts call."""
    return {
        name: thing
        for module in (scopes, _core)
        for name, thing in vars(module).items()
        if callable(thing) and not name.startswith("_") and name not in INTERNAL
    }


def own(cls: type) -> set[str]:
    """Names that the class or a base of it, but not of Python's, defines for its instances."""
    ours = [base for base in cls.__mro__ if base not in (object, tuple)]
    return {name for base in ours for name in vars(base)} - HOUSEKEEPING


def names() -> set[str]:
    """All of them: of functions and classes, and Class.attribute."""
    attributes = {f"{name}.{a}" for name, cls in types().items() for a in own(cls)}
    return set(functions()) | attributes


def is_exception(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, BaseException)
