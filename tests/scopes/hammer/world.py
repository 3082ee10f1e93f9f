"""Scopes, segments and what holds them, and mischief done to them while a call is under way."""

from __future__ import annotations

import array
import ctypes
import gc
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import scopes

#: Things of a sort that are kept; one more replaces one of them.
MOST = 8
#: MischiefError that is called while other mischief is under way goes no deeper than this.
DEPTH = 3
#: Sizes that are allocated, and such that no system has: what lies between would really be mapped.
SIZES = (0, 1, 7, 16, 64, 255, 256, 1000, 4096, 16_384, 16_385, 65_536, 65_537, 2**20)
NO_SIZES = (-1, -(2**63), 2**47, 2**48 + 1, 2**62, 2**63 - 1, 2**63, 2**64, 2**200)
FOREIGN_BYTES = 4096
#: How often mischief that could fork does: it takes a hundred times as long as other mischief.
FORKS = 0.1
#: A child that takes longer hangs.
CHILD_SECONDS = 60


#: What calls of scopes and of callbacks raise for good reason.
USUAL = (scopes.ScopeError, TypeError, ValueError, IndexError, OverflowError, MemoryError)


class MischiefError(Exception):
    """What user code raises in the middle of a call."""


class Escape(BaseException):
    """The same, as KeyboardInterrupt is one that few expect."""


class Owner:
    """Owns scopes. Nothing else holds it, else a scope's callback might keep it alive."""


class Node:
    """What can be in cycles with anything."""

    def __init__(self, *held: Any) -> None:
        self.me, self.held = self, held


def is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


class World:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.depth = 0
        self.has_little_room = False  # a thread could not start, and would be waited for
        self.is_child = False  # of a fork in the middle of a call, which it finishes
        self.failed_children: list[int] = []
        self.foreign = ctypes.create_string_buffer(FOREIGN_BYTES)
        self.base = ctypes.addressof(self.foreign)
        self.scopes: list[scopes.Scope] = []
        self.segments: list[scopes.Segment] = []
        self.pins: list[Any] = []
        self.holders: list[Any] = []  # views, arrays, cdata
        self.nodes: list[Node] = []
        self.owners: list[Owner] = []

    def places(self) -> tuple[list[Any], ...]:
        return self.scopes, self.segments, self.pins, self.holders, self.nodes, self.owners

    # ---- things ------------------------------------------------------------------------------

    def keep(self, thing: Any) -> Any:
        """Puts a thing where it will be found and used again."""
        if isinstance(thing, scopes.Segment):
            place: list[Any] = self.segments
        elif isinstance(thing, scopes.Scope):
            place = self.scopes
        elif type(thing).__name__ == "Pin":
            place = self.pins
        elif isinstance(thing, Node):
            place = self.nodes
        elif isinstance(thing, Owner):
            place = self.owners
        else:
            place = self.holders
        if len(place) < MOST:
            place.append(thing)
        else:
            place[self.rng.randrange(len(place))] = thing
        return thing

    def open(self) -> scopes.Scope:
        rng = self.rng
        kind = rng.choice([scopes.ConfinedScope, scopes.SharedScope, scopes.ImplicitScope])
        limit = rng.choice([None, None, None, 0, 100, 2**20])
        if kind is scopes.ImplicitScope:
            owner = rng.choice([None, self.keep(Owner())])
            return self.keep(scopes.ImplicitScope(owner=owner, limit=limit))
        exports = rng.choice(["raise", "defer"])
        if kind is scopes.ConfinedScope and not self.has_little_room and rng.random() < 0.2:
            made: list[scopes.Scope] = []
            other = threading.Thread(target=lambda: made.append(kind(exports=exports)))
            other.start()
            other.join()
            return self.keep(made[0])
        return self.keep(kind(limit=limit, exports=exports))

    def scope(self, of: type = scopes.Scope) -> scopes.Scope:
        found = [scope for scope in self.scopes if isinstance(scope, of)]
        # Closed ones are of less interest, and so are those that keep others alive for long.
        still_open = [scope for scope in found if not scope.closed]
        if still_open and self.rng.random() < 0.8:
            return self.rng.choice(still_open)
        if found and self.rng.random() < 0.3:
            return self.rng.choice(found)
        made = self.open()
        while not isinstance(made, of):
            made = self.open()
        return made

    def segment(self) -> scopes.Segment:
        if self.segments and self.rng.random() < 0.7:
            return self.rng.choice(self.segments)
        while True:
            try:
                return self.keep(self.scope().allocate(self.rng.choice(SIZES)))
            except scopes.ScopeError:  # another thread's, closed by a finalizer, or at a limit
                scopes.set_limit(None)

    def pin(self) -> Any:
        if self.pins and self.rng.random() < 0.7:
            return self.rng.choice(self.pins)
        return self.keep(self.segment().pin())

    def node(self) -> Any:
        if self.nodes and self.rng.random() < 0.7:
            return self.rng.choice(self.nodes)
        return self.keep(Node(self.rng.choice([None, *self.segments, *self.scopes, *self.views()])))

    def views(self) -> list[memoryview]:
        """Holders that the collector looks into: an array in a cycle is never collected."""
        return [holder for holder in self.holders if isinstance(holder, memoryview)]

    def buffer(self) -> Any:
        """Something that exports a buffer, or says so."""
        rng = self.rng
        released = memoryview(b"abc")
        released.release()
        return rng.choice(
            [
                b"",
                bytes(rng.choice([1, 3, 16, 1000])),
                bytearray(16),
                memoryview(bytes(64))[::2],
                memoryview(bytes(64)).cast("d"),
                array.array("i", range(4)),
                (ctypes.c_char * 16)(),
                released,
                *self.segments,
                *self.holders,
            ]
        )

    # ---- mischief ----------------------------------------------------------------------------

    def mischief(self) -> None:
        """Does something to the world that no caller expects, and may raise."""
        if self.depth >= DEPTH:
            return
        self.depth += 1
        try:
            self.rng.choice(MISCHIEF)(self)
        except USUAL:
            pass  # what was done to a closed scope or past a limit, or a callback raised
        finally:
            self.depth -= 1

    def mischief_at(self, address: int) -> None:
        self.mischief()

    @contextmanager
    def little_room(self, calls: int) -> Iterator[None]:
        """Calls that nest deeper than so many from here are at the recursion limit."""
        limit, depth, frame = sys.getrecursionlimit(), 0, sys._getframe(2)
        while frame is not None:
            frame, depth = frame.f_back, depth + 1
        self.has_little_room = True
        try:
            sys.setrecursionlimit(depth + calls)
            yield
        finally:
            sys.setrecursionlimit(limit)
            self.has_little_room = False

    def close(self) -> None:
        if self.scopes:
            scope = self.rng.choice(self.scopes)
            getattr(scope, "close", bool)()

    def close_all(self) -> None:
        for scope in list(self.scopes):
            try:
                getattr(scope, "close", bool)()
            except (*USUAL, MischiefError, Escape):
                continue

    def drop(self) -> None:
        for place in self.places():
            dropped = place[::2]
            del place[::2]
            del dropped

    def release(self) -> None:
        for view in self.views():
            view.release()

    def enter(self) -> None:
        self.pin().__enter__()

    def leave(self) -> None:
        if self.pins:
            self.rng.choice(self.pins).__exit__()

    def allocate(self) -> None:
        self.keep(self.scope().allocate(self.rng.choice(SIZES)))

    def export(self) -> None:
        self.keep(memoryview(self.segment()))

    def register(self) -> None:
        self.scope().callback(self.mischief)

    def adopt(self) -> None:
        self.keep(self.scope().adopt(self.base, 16, self.mischief_at))

    def collect(self) -> None:
        gc.collect(self.rng.randrange(3))

    def knot(self) -> None:
        """Leaves garbage in a cycle for the collector."""
        Node(*self.segments[:2], *self.scopes[:2], *self.holders[:2])

    def elsewhere(self) -> None:
        """MischiefError of another thread, while this one is in the middle of a call."""

        def run() -> None:
            with suppress(MischiefError, Escape):
                self.mischief()

        if not self.has_little_room:
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()

    def fork(self) -> None:
        """Has a child finish the call that is under way, and waits for it."""
        if self.is_child or self.rng.random() > FORKS or not is_main_thread():
            return
        child = os.fork()
        if child == 0:
            self.is_child = True
            signal.alarm(CHILD_SECONDS)
        elif (status := os.waitpid(child, 0)[1]) != 0:
            self.failed_children.append(os.waitstatus_to_exitcode(status))

    def limits(self) -> None:
        rng = self.rng
        scopes.set_limit(rng.choice([None, 0, 2**20]))
        scopes.set_cache_limit(rng.choice([0, 2**16, 2**26]))
        scopes.set_implicit_budget(rng.choice([None, 0, 2**16, 2**26]))

    def raise_(self, *ignored: object) -> None:
        raise self.rng.choice([MischiefError, Escape])("in the middle")

    def quiet(self) -> None:
        """Nothing, so that calls go through as well."""

    def end(self) -> None:
        """Lets everything go and sets limits as they were."""
        scopes.set_limit(None)
        scopes.set_cache_limit(2**26)
        scopes.set_implicit_budget(2**26)
        self.depth = DEPTH  # finalizers do no more mischief, now or later
        while any(self.places()):
            self.release()
            self.close_all()
            self.drop()


MISCHIEF: list[Callable[[World], None]] = [
    World.close,
    World.close_all,
    World.drop,
    World.release,
    World.enter,
    World.leave,
    World.allocate,
    World.export,
    World.register,
    World.adopt,
    World.collect,
    World.knot,
    World.elsewhere,
    World.fork,
    World.limits,
    World.raise_,
    World.open,
    lambda world: scopes.trim(),
    *[World.quiet] * 8,
]
