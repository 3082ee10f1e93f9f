"""Calls all that scopes offers with hostile arguments: only documented exceptions may come out.

    python fuzz.py --seed 1 --calls 4000       the same calls each time
    python fuzz.py --seed 1 --seconds 60
    ... --from 1234 --verbose                  shows each call from there on before it is made

Prints the seed, and at the end how often each name was called, returned and raised, as JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import public_api
from calls import arguments_of
from hostile import Arguments
from world import USUAL, Escape, MischiefError, World

import scopes
from scopes import _core

#: Calls after which the world is let go, and must have left nothing behind.
WORLD_CALLS = 200


class Fuzzer:
    def __init__(self, seed: int, verbose_from: int | None) -> None:
        self.rng = random.Random(seed)
        self.verbose_from = verbose_from
        self.made = 0
        self.names = sorted(public_api.names())
        self.types = public_api.types()
        self.functions = public_api.functions()
        self.counts = {name: {"called": 0, "returned": 0, "raised": 0} for name in self.names}
        self.unraisable: list[str] = []
        sys.unraisablehook = self.see_unraisable

    def see_unraisable(self, seen: Any) -> None:
        """What mischief raises in finalizers and callbacks gets here; nothing else may."""
        if not issubclass(seen.exc_type, (*USUAL, MischiefError, Escape, RecursionError)):
            self.unraisable.append(f"{seen.exc_type.__name__}: {seen.exc_value}")

    def target(self, world: World, name: str) -> Any:
        """An object to call the method of, or to read the attribute of."""
        cls = self.types[name.split(".")[0]]
        if issubclass(cls, scopes.Scope):
            return world.scope(cls)
        if cls is scopes.Segment:
            return world.segment()
        if cls is scopes.Statistics:
            return scopes.statistics()
        if cls is scopes.ScopeStatistics:
            return world.scope().statistics()
        return world.pin()

    def bind(self, world: World, name: str) -> Callable[..., Any]:
        if "." not in name:
            return self.functions[name]
        target, attribute = self.target(world, name), name.split(".")[1]
        if attribute == "__buffer__" and not hasattr(target, attribute):
            return lambda *args: memoryview(target)  # before Python 3.12 the slot has no name
        # Reading is the call where what is read is no method.
        if not callable(getattr(type(target), attribute, None)):
            return lambda *args, **kwargs: touch(target, attribute, args)
        return getattr(target, attribute)

    def call(self, world: World, arguments: Arguments, name: str) -> None:
        try:
            function = self.bind(world, name)
            args, kwargs, documented = arguments_of(name, arguments)
        except (MischiefError, Escape):
            return  # a finalizer or a hostile key did it while the call was prepared
        count = self.counts[name]
        count["called"] += 1
        self.made += 1
        if self.verbose_from is not None and self.made >= self.verbose_from:
            print(self.made, name, [*map(type, args)], [*kwargs], file=sys.stderr, flush=True)
        try:
            if self.rng.random() < 0.1:
                documented = (*documented, RecursionError)
                with world.little_room(self.rng.randrange(2, 10)):
                    result = function(*args, **kwargs)
            else:
                result = function(*args, **kwargs)
        except (*documented, MischiefError, Escape):
            count["raised"] += 1
        except BaseException as error:
            if world.is_child and isinstance(error, scopes.ScopeError):
                return  # what it inherited takes nothing new
            error.add_note(f"call {self.made}: {name} with {[*map(type, args)]} {[*kwargs]}")
            raise
        else:
            count["returned"] += 1
            world.keep(result)

    def live(self) -> None:
        """One world, from its beginning to its end."""
        world = World(self.rng)
        arguments = Arguments(world)
        order = self.rng.choices(self.names, k=WORLD_CALLS)
        for name in order:
            self.call(world, arguments, name)
            if world.is_child:
                end_child(world)
        if world.failed_children:
            raise AssertionError(f"children up to call {self.made}: {world.failed_children}")
        world.end()
        del world, arguments
        self.nothing_is_left()

    def nothing_is_left(self) -> None:
        for _ in range(4):  # a finalizer may bring forth what the next collection takes
            gc.collect()
        now = scopes.statistics()
        left = (now.live_bytes, now.open_scopes, now.deferred_bytes, now.retired_bytes)
        if left != (0, 0, 0, 0) or now.implicit_bytes != 0:
            raise AssertionError(f"after call {self.made} there is left {now}")
        if self.unraisable:
            raise AssertionError(f"unraisable up to call {self.made}: {self.unraisable}")
        if hasattr(_core, "check"):
            _core.check()


def end_child(world: World) -> NoReturn:
    """Lets go of what was inherited, and ends."""
    world.end()
    gc.collect()
    now = scopes.statistics()
    os._exit(0 if (now.live_bytes, now.open_scopes) == (0, 0) else 2)


def touch(target: Any, attribute: str, args: tuple[Any, ...]) -> Any:
    """Reads an attribute; one that came with a value can't be set to it, or deleted."""
    if not args:
        return getattr(target, attribute)
    try:
        setattr(target, attribute, args[0])
    except (AttributeError, TypeError):
        pass
    else:
        raise AssertionError(f"{attribute} of {type(target)} was set")
    try:
        delattr(target, attribute)
    except (AttributeError, TypeError):
        return getattr(target, attribute)
    raise AssertionError(f"{attribute} of {type(target)} was deleted")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=sys.maxsize)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--from", dest="verbose_from", type=int)
    given = parser.parse_args()
    print(f"seed {given.seed}", file=sys.stderr, flush=True)
    warnings.simplefilter("ignore")
    fuzzer = Fuzzer(given.seed, given.verbose_from)
    end = time.monotonic() + given.seconds
    parent = os.getpid()
    while fuzzer.made < given.calls and time.monotonic() < end:
        try:
            fuzzer.live()
        except BaseException:
            if os.getpid() == parent:
                raise
            traceback.print_exc()
            os._exit(1)
    print(f"{fuzzer.made} calls, seed {given.seed}", file=sys.stderr)
    print(json.dumps(fuzzer.counts))


if __name__ == "__main__":
    main()
