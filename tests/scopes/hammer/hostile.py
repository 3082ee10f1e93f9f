"""Arguments that do mischief when they are converted, lie about what they are, or are nonsense."""

from __future__ import annotations

import array
import math
import os
from typing import Any

from world import FOREIGN_BYTES, NO_SIZES, SIZES, Escape, MischiefError, Owner, World

#: No integer, since one might be taken for an address, and nothing that can own a scope for ever.
WRONG = (None, 1.5, math.nan, math.inf, 1j, "x", b"x", (), [], {}, ..., NotImplemented)
NULL_DEVICE = os.open(os.devnull, os.O_WRONLY)


class Hostile:
    """Answers each question that Python asks with mischief, and then with a value or nonsense."""

    def __init__(self, world: World, value: Any) -> None:
        self._world, self._value = world, value

    def _answer(self, right: Any) -> Any:
        self._world.mischief()
        return self._world.rng.choice(WRONG) if self._world.rng.random() < 0.1 else right

    def __index__(self) -> Any:
        return self._answer(self._value if isinstance(self._value, int) else 1)

    __int__ = __len__ = __index__

    def __float__(self) -> Any:
        return self._answer(1.0)

    def __bool__(self) -> Any:
        return self._answer(True)

    def __hash__(self) -> Any:
        return self._answer(1)

    def __eq__(self, other: object) -> Any:
        return self._answer(True)

    def __repr__(self) -> Any:
        return self._answer("hostile")

    __str__ = __repr__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._answer(None)

    def __iter__(self) -> Any:
        return self._answer(iter([self._value, 1]))

    def __getitem__(self, key: Any) -> Any:
        return self._answer(self._value)

    def __del__(self) -> None:
        self._world.mischief()


class HostileBuffer(Hostile):
    """A buffer (from Python 3.12 on) of another length each time, of ours, or none at all."""

    def __buffer__(self, flags: int) -> Any:
        world = self._world
        view: Any = world.buffer()
        if not isinstance(view, (HostileBuffer, memoryview)):
            try:
                view = memoryview(view)
            except Exception:
                view = memoryview(b"other")
        return self._answer(view)

    def __release_buffer__(self, view: memoryview) -> None:
        self._world.mischief()


class HostileFile(Hostile):
    """A file of another descriptor each time it is asked."""

    def fileno(self) -> Any:
        return self._answer(self._value)


class HostileWord(str):
    """A string that is compared by its own rules, in which mischief is done."""

    world: World

    def __eq__(self, other: object) -> Any:
        self.world.mischief()
        return True

    def __hash__(self) -> int:
        self.world.mischief()
        return str.__hash__(self)

    def __str__(self) -> str:
        self.world.mischief()
        return "word"


class Arguments:
    """Makes arguments out of a world."""

    def __init__(self, world: World) -> None:
        self.world, self.rng = world, world.rng

    def hostile(self, value: Any) -> Any:
        """The value as it is, or one that does mischief when it is used."""
        return Hostile(self.world, value) if self.rng.random() < 0.3 else value

    def size(self) -> Any:
        return self.hostile(self.rng.choice(SIZES if self.rng.random() < 0.8 else NO_SIZES))

    def align(self) -> Any:
        return self.hostile(self.rng.choice([1, 2, 16, 64, 4096, 2**21, 0, -1, 3, 2**22, 2**64]))

    def limit(self) -> Any:
        return self.rng.choice([None, self.size()])

    def descriptor(self) -> Any:
        """Of no file but the null device: another's would be written to, as our own output's."""
        files = [None, NULL_DEVICE, HostileFile(self.world, NULL_DEVICE)]
        no_files = [-1, 2**31, 2**64, Hostile(self.world, NULL_DEVICE), *WRONG]
        return self.rng.choice(files if self.rng.random() < 0.8 else no_files)

    def byte(self) -> Any:
        return self.hostile(self.rng.choice([0, 1, 255, 256, -1, 2**64]))

    def index(self) -> Any:
        return self.hostile(self.rng.choice([0, 1, 5, -1, -5, 15, 16, 2**62, -(2**63), 2**64]))

    def slice(self) -> Any:
        ends = [None, self.index(), self.index()]
        self.rng.shuffle(ends)
        step = self.rng.choice([None, None, 1, self.hostile(1), 2, -1, 0])
        return slice(*ends[:2], step)

    def key(self) -> Any:
        return self.rng.choice([self.index(), self.slice(), self.slice(), self.anything()])

    def buffer(self) -> Any:
        rng = self.rng
        return rng.choice([self.world.buffer(), b"", b"abc", self.lying(), self.anything()])

    def item(self) -> tuple[Any, Any]:
        """A key and what is assigned to it, which fits it now and then."""
        start = self.rng.choice([0, 1, 5])
        fitting = self.hostile(start), self.hostile(7)
        fitting_slice = (
            slice(self.hostile(start), start + 3),
            self.rng.choice([bytes(3), self.lying()]),
        )
        return self.rng.choice([fitting, fitting_slice, (self.key(), self.buffer())])

    def lying(self) -> HostileBuffer:
        return HostileBuffer(self.world, 3)

    def shape(self) -> Any:
        rng = self.rng
        lengths = [self.hostile(rng.choice([0, 1, 2, 5, 16, -1, 2**47, 2**64])) for _ in range(3)]
        return rng.choice([lengths[0], tuple(lengths[:2]), lengths[:1], (), self.anything()])

    def dtype(self) -> Any:
        return self.rng.choice(
            ["u1", "f8", "i4", "O", "M8[s]", "S3", "U2", "u1,f4", "nonsense", float, None, object]
        )

    def items(self) -> Any:
        rng = self.rng
        return rng.choice(
            [[1, 2, 3], [[1], [2]], 5, "text", [self.hostile(1)], self.buffer(), self.anything()]
        )

    def function(self) -> Any:
        """Something to be called later, or nothing of the sort."""
        world, rng = self.world, self.rng
        return rng.choice(
            [
                world.mischief,
                Hostile(world, None),
                bool,
                world.scope().allocate,
                getattr(world.scope(), "close", len),
                world.segment().fill,
                world.pin().__enter__,
                world.raise_,
                self.anything(),
            ]
        )

    def release(self) -> Any:
        """What an adoption calls. One that was exported keeps what its release refers to."""
        world = self.world
        return self.rng.choice([None, world.mischief_at, world.raise_, Hostile(world, 1), 5, "x"])

    def address(self) -> tuple[Any, Any]:
        """An address and a number of bytes that may be read there, or that nobody takes."""
        rng, base = self.rng, self.world.base
        if rng.random() < 0.2:
            return rng.choice([0, -1, 2**64 - 1, 2**64, -(2**70), "x", None]), rng.choice([1, -1])
        start = rng.choice([0, 8, 100])
        nbytes = rng.choice([0, 1, 64, FOREIGN_BYTES - start, -1, 2**63, 2**64, 1.5])
        return self.hostile(base + start), self.hostile(nbytes)

    def exception(self) -> tuple[Any, Any, Any]:
        """What __exit__ gets, or should not."""
        rng = self.rng
        error = rng.choice(
            [MischiefError("body"), Escape("body"), MischiefError, None, self.anything()]
        )
        return rng.choice([None, type(error)]), error, rng.choice([None, self.anything()])

    def owner(self) -> Any:
        """What owns a scope, or can't. Never what a callback of the scope might hold."""
        fresh = [self.world.keep(Owner()), Hostile(self.world, 1)]
        return self.rng.choice([None, *fresh, *WRONG])

    def exports(self) -> Any:
        return self.rng.choice(["raise", "defer", "defer", self.word("raise"), self.anything()])

    def word(self, text: str) -> HostileWord:
        made = HostileWord(text)
        made.world = self.world
        return made

    def anything(self) -> Any:
        """Whatever: plain, hostile, or a thing of the world in a place that is not its own."""
        world, rng = self.world, self.rng
        return rng.choice(
            [
                *WRONG,
                *NO_SIZES,
                0,
                5,
                True,
                array.array("d", [1.0]),
                Hostile(world, rng.choice(SIZES)),
                HostileBuffer(world, 3),
                self.word("defer"),
                *world.scopes[:2],
                *world.segments[:2],
                *world.pins[:1],
                *world.views()[:2],
                *world.nodes[:1],
            ]
        )
