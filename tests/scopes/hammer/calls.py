"""For each name: arguments that get through often enough, and which exceptions are documented."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from hostile import Arguments
from world import USUAL

import scopes

try:
    import cffi
except ImportError:  # free-threaded interpreters may have none
    cffi = None

#: What Python itself raises of a wrong number, type or value of arguments.
ARGUMENTS = (TypeError, ValueError, OverflowError)
USE = (scopes.ScopeClosedError, scopes.WrongThreadError)
ALLOCATE = (*ARGUMENTS, *USE, scopes.ScopeMemoryError)
#: What close() passes on of callbacks and releases: those of the world call scopes.
CALLBACKS = USUAL
CDATA = (
    (cffi.FFIError, cffi.CDefError, AttributeError, NotImplementedError) if cffi else (ImportError,)
)

Maker = Callable[[Arguments], tuple[Any, ...]]
Exceptions = tuple[type[BaseException], ...]


def nothing(a: Arguments) -> tuple[Any, ...]:
    return ()


def adoption(a: Arguments) -> tuple[Any, ...]:
    return (*a.address(), a.release())


def callback(a: Arguments) -> tuple[Any, ...]:
    return (a.function(), *[a.anything() for _ in range(a.rng.choice([0, 0, 0, 1, 3]))])


def array(a: Arguments) -> tuple[Any, ...]:
    return (a.items(), *a.rng.choice([(), (a.dtype(),)]))


def shaped(a: Arguments) -> tuple[Any, ...]:
    return (a.shape(), *a.rng.choice([(), (a.dtype(),)]))


def as_array(a: Arguments) -> tuple[Any, ...]:
    return a.rng.choice([(), (None,), (a.dtype(),), (a.dtype(), a.hostile(False))])


def ctype(a: Arguments) -> tuple[Any, ...]:
    known = [
        "char[]",
        "double[]",
        "int *",
        "int[2]",
        "char[9999]",
        "nothing[]",
        "",
        a.word("char[]"),
    ]
    return (a.rng.choice([*known, a.anything()]), *a.rng.choice([(), (None,), (a.anything(),)]))


def inner(a: Arguments) -> tuple[Any, ...]:
    scope = a.rng.choice([a.world.scope(), a.world.scope(), a.anything()])
    return scope, a.size(), a.align(), a.hostile(a.rng.choice([True, False]))


def fields(a: Arguments) -> tuple[Any, ...]:
    return ([a.anything() for _ in range(a.rng.choice([5, 14, 3]))],)


#: Arguments and exceptions by the last part of a name.
CALLS: dict[str, tuple[Maker, Exceptions]] = {
    # functions and classes
    "account": (lambda a: (a.owner(), a.size()), ARGUMENTS),
    "set_cache_limit": (lambda a: (a.size(),), ARGUMENTS),
    "set_limit": (lambda a: (a.limit(),), ARGUMENTS),
    "set_implicit_budget": (lambda a: (a.limit(),), ARGUMENTS),
    "trim": (nothing, ()),
    "debug": (lambda a: (a.hostile(True),), ARGUMENTS),
    "dump": (
        lambda a: (a.rng.choice([io.StringIO(), a.anything()]),),
        (*ARGUMENTS, AttributeError),
    ),
    "snapshot": (nothing, ()),
    "record": (lambda a: (a.anything(),), ARGUMENTS),
    "start_events": (
        lambda a: (a.descriptor(), a.size(), a.rng.choice([{}, {}, a.anything()])),
        (*ARGUMENTS, RuntimeError),
    ),
    "stop_events": (nothing, ()),
    "window_peak_bytes": (lambda a: (a.hostile(True),), ARGUMENTS),
    "ConfinedScope": (nothing, ARGUMENTS),
    "SharedScope": (nothing, ARGUMENTS),
    "ImplicitScope": (nothing, ARGUMENTS),
    "Scope": (nothing, (TypeError,)),
    "Segment": (nothing, (TypeError,)),
    "Statistics": (fields, (TypeError,)),
    "ScopeStatistics": (fields, (TypeError,)),
    # scopes
    "__call__": (lambda a: a.rng.choice([(), a.exception()]), (*CALLBACKS, *USE)),
    "__del__": (nothing, ()),
    "__enter__": (nothing, (*USE, scopes.ScopeError)),
    "__exit__": (lambda a: a.exception(), CALLBACKS),
    "__new__": (lambda a: (a.rng.choice([scopes.SharedScope, a.anything()]),), (TypeError, *USE)),
    "adopt": (adoption, (*ARGUMENTS, *USE)),
    "allocate": (lambda a: (a.size(),), ALLOCATE),
    "array": (array, (*ALLOCATE, IndexError, AttributeError, MemoryError)),
    "callback": (callback, (TypeError, *USE)),
    "close": (nothing, CALLBACKS),
    "empty": (shaped, (*ALLOCATE, AttributeError)),
    "zeros": (shaped, (*ALLOCATE, AttributeError)),
    # segments and pins
    "__array__": (as_array, (*ARGUMENTS, *USE, AttributeError)),
    "__buffer__": (
        lambda a: (a.rng.choice([0, 1, 2**31, a.index()]),),
        (*ARGUMENTS, *USE, BufferError),
    ),
    "__delitem__": (lambda a: (a.key(),), (TypeError,)),
    "__eq__": (lambda a: (a.buffer(),), (*ARGUMENTS, *USE, BufferError)),
    "__ne__": (lambda a: (a.buffer(),), (*ARGUMENTS, *USE, BufferError)),
    "__getitem__": (lambda a: (a.key(),), (*ARGUMENTS, *USE, IndexError)),
    "__hash__": (nothing, (TypeError,)),
    "__release_buffer__": (lambda a: (a.buffer(),), ARGUMENTS),
    "__setitem__": (lambda a: a.item(), (*ARGUMENTS, *USE, IndexError, BufferError)),
    "cdata": (ctype, (*ARGUMENTS, *USE, BufferError, *CDATA)),
    "copy_from": (
        lambda a: (a.buffer(), *a.rng.choice([(), (a.hostile(0),), (a.index(),)])),
        (*ARGUMENTS, *USE, BufferError),
    ),
    "fill": (lambda a: (a.byte(),), (*ARGUMENTS, *USE)),
    "pin": (nothing, ()),
    "toreadonly": (nothing, USE),
}

#: What is called by more than its last part tells.
BY_NAME: dict[str, tuple[Maker, Exceptions]] = {
    "allocate": (inner, ALLOCATE),
    "Statistics.__new__": (lambda a: (scopes.Statistics, *fields(a)), (TypeError,)),
    "ScopeStatistics.__new__": (lambda a: (scopes.ScopeStatistics, *fields(a)), (TypeError,)),
}

KEYWORDS: dict[str, Callable[[Arguments], Any]] = {
    "align": Arguments.align,
    "exports": Arguments.exports,
    "limit": Arguments.limit,
    "owner": Arguments.owner,
    "when_gc_disabled": lambda a: a.hostile(False),
}


def entry(name: str) -> tuple[Maker, Exceptions]:
    return BY_NAME.get(name) or CALLS.get(name.split(".")[-1]) or (nothing, (TypeError,))


def takes(name: str) -> tuple[str, ...]:
    """Keywords that the name takes."""
    if name.endswith("Scope"):
        return ("owner", "limit") if name == "ImplicitScope" else ("exports", "limit")
    if name.endswith(".allocate"):
        return ("align",)
    return ("when_gc_disabled",) if name == "set_implicit_budget" else ()


def arguments_of(name: str, a: Arguments) -> tuple[tuple[Any, ...], dict[str, Any], Exceptions]:
    """Arguments for a call and what it may raise.

    One in ten has one argument too many or too few, or a keyword that is none.
    """
    make, documented = entry(name)
    args, kwargs = make(a), {w: KEYWORDS[w](a) for w in takes(name) if a.rng.random() < 0.5}
    wrong = a.rng.random()
    if wrong > 0.1:
        return args, kwargs, documented
    if wrong < 0.04 and "adopt" not in name:
        args = (*args, a.anything())
    elif wrong < 0.07:
        args = args[:-1]
    else:
        kwargs[a.rng.choice(["nonsense", "nbytes", a.word("align")])] = a.anything()
    return args, kwargs, (*documented, *ARGUMENTS)
