"""What the threads of the soak hold, and what they share."""

from __future__ import annotations

import ctypes
import random
from contextlib import suppress
from typing import Any

import scopes

KIB = 1024
SIZES = (0, 1, 16, 100, 1000, 4096, 20_000, 65_536, 65_537, 200_000)
#: Of a scope's live bytes, so that what a thread holds is bounded.
LIMIT = 512 * KIB
#: Things of a sort that a thread holds at once.
MOST = 12


class Owner:
    """Something that can own a scope and be in a cycle."""

    def __init__(self, *held: Any) -> None:
        self.me, self.held = self, held


class Common:
    """What all threads of a round share, and the sums that have to come out even at its end."""

    def __init__(self) -> None:
        self.registered: list[int] = []  # lists count exactly without the GIL, too
        self.ran: list[int] = []
        self.adopted: list[int] = []
        self.released: list[int] = []
        self.slots: list[Piece | None] = [None] * MOST
        self.foreign = ctypes.create_string_buffer(4096)
        self.address = ctypes.addressof(self.foreign)


class Piece:
    """A segment whose bytes all have one value."""

    def __init__(self, segment: scopes.Segment, byte: int) -> None:
        self.segment, self.byte = segment, byte

    def check(self) -> None:
        """Reads its own bytes, or zeros where it is being closed, or is refused."""
        segment = self.segment
        if len(segment):
            with suppress(scopes.ScopeClosedError, scopes.WrongThreadError):
                found = {segment[0], segment[-1]}
                assert found == {self.byte} or (segment.scope.closed and found <= {0, self.byte})


def close(scope: Any) -> str | None:
    """Closes it if it can be closed; what kept it from ending quietly."""
    try:
        getattr(scope, "close", bool)()
    except scopes.ScopeInUseError:
        return "in use"
    except ZeroDivisionError:
        assert scope.closed
        return "a callback raised"
    return None


class Holder:
    """What one thread has, at random but as its seed determines."""

    def __init__(self, common: Common, seed: int) -> None:
        self.common, self.rng = common, random.Random(seed)
        self.scopes: list[Any] = []
        self.pieces: list[Piece] = []
        self.views: list[tuple[Any, int]] = []
        self.uncounted: list[tuple[Any, int]] = []
        self.owners: list[Owner] = []

    def end(self) -> None:
        self.views.clear()
        self.pieces.clear()
        for scope in self.scopes:
            assert close(scope) != "in use"
        for things in (self.scopes, self.uncounted, self.owners):
            things.clear()

    def keep(self, things: list[Any], thing: Any) -> Any:
        if len(things) < MOST:
            things.append(thing)
        else:
            things[self.rng.randrange(MOST)] = thing
        return thing

    def scope(self) -> Any:
        return self.rng.choice(self.scopes) if self.scopes else self.open_shared_scope()

    def piece(self) -> Piece:
        if not self.pieces:
            scope = scopes.ImplicitScope()
            return self.keep(self.pieces, Piece(scope.allocate(100), 0))
        return self.rng.choice(self.pieces)

    def put_scope(self, scope: Any) -> Any:
        if len(self.scopes) >= MOST:
            close(self.scopes.pop(self.rng.randrange(MOST)))
        self.scopes.append(scope)
        return scope

    def exports(self) -> str:
        return self.rng.choice(["raise", "defer"])

    def open_shared_scope(self) -> Any:
        return self.put_scope(scopes.SharedScope(limit=LIMIT, exports=self.exports()))
