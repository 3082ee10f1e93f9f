"""Recordings of programs that never ran, of any length, for tests and for measuring the replay.

Each is made a block at a time, so that memory does not grow with its length.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suites.recordings.format import (
    NONE,
    TIMED,
    UNTIMED,
    Allocator,
    Operation,
    Operations,
    ScopeKind,
)
from suites.recordings.loader import BLOCK
from suites.recordings.writer import Writer, make_folder

_SIZES = (16, 32, 48, 64, 96, 128, 256, 512, 1024, 4096)


@dataclass(frozen=True)
class Hot:
    """A table of objects of which a random one is freed and allocated again, or grown and shrunk.

    `live` objects are allocated first; one in eight is left at the end. Of the pairs, the share
    `regrown` is two reallocations. Each object belongs to one of `threads`; the share `crossing`
    of the frees is made by the next one. `operations` is what the length is near to.
    """

    operations: int
    live: int = 1000
    threads: int = 1
    crossing: float = 0.0
    regrown: float = 0.0
    seed: int = 1

    def write(self, folder: Path) -> None:
        """Make the recording. RecordingError where the folder exists."""
        make_folder(folder)
        slots = np.arange(self.live, dtype=np.uint32)
        size = np.random.default_rng(self.seed).choice(_SIZES, self.live)
        left = slots[:: max(1, min(8, self.live))]
        with Writer(folder, timed=False) as writer:
            writer.append(self._singly(0, Operation.ALLOCATE, slots, size))
            for block in self._pairs(size):
                writer.append(block)
            freed = np.setdiff1d(slots, left)
            writer.append(self._singly(writer.count, Operation.FREE, freed, size))
            end = {"live_objects": len(left), "live_bytes": int(size[left].sum())}
            writer.finish(_threads(self.threads), _info(self.live, 0, end))

    def _singly(
        self, start: int, operation: Operation, slots: NDArray[np.uint32], size: NDArray[np.int64]
    ) -> Operations:
        block = _empty(UNTIMED, start, len(slots))
        block["operation"] = operation
        block["object"] = slots
        block["size"] = size[slots]
        block["thread"] = slots % self.threads
        return block

    def _pairs(self, size: NDArray[np.int64]) -> Iterator[Operations]:
        random = np.random.default_rng(self.seed + 1)
        count = max(0, self.operations - 2 * self.live) // 2
        for start in range(0, count, BLOCK // 2):
            pairs = min(BLOCK // 2, count - start)
            slot = random.integers(self.live, size=pairs).repeat(2)
            second = np.arange(2 * pairs) % 2 == 1
            regrown = (random.random(pairs) < self.regrown).repeat(2)
            crossing = (random.random(pairs) < self.crossing).repeat(2) & ~second
            block = _empty(UNTIMED, self.live + 2 * start, 2 * pairs)
            block["object"] = slot
            block["thread"] = (slot + crossing) % self.threads
            block["operation"] = np.where(second, Operation.ALLOCATE, Operation.FREE)
            block["operation"][regrown] = Operation.REALLOCATE
            block["size"] = size[slot] * np.where(regrown & ~second, 2, 1)
            yield block


@dataclass(frozen=True)
class ScopeLives:
    """Scopes that open, allocate `segments` segments, export one, close and are dropped, in turn on
    each of `threads`, an operation every `step_ns`."""

    lives: int
    segments: int = 4
    size: int = 1024
    threads: int = 1
    kind: ScopeKind = ScopeKind.CONFINED
    step_ns: int = 100

    def write(self, folder: Path) -> None:
        """Make the recording. RecordingError where the folder exists."""
        make_folder(folder)
        life = self._life()
        at_once = max(1, BLOCK // len(life))
        with Writer(folder, timed=True) as writer:
            for start in range(0, self.lives, at_once):
                lives = min(at_once, self.lives - start)
                block = np.tile(life, lives)
                block["sequence"] = np.arange(writer.count, writer.count + len(block))
                block["time_ns"] = block["sequence"] * self.step_ns
                thread = (start + np.arange(lives)).repeat(len(life)) % self.threads
                # Each thread has slots of its own.
                block["thread"] = block["scope"] = thread
                owns = block["object"] != NONE
                block["object"][owns] += (thread[owns] * self.segments).astype(np.uint32)
                writer.append(block)
            end = {"live_objects": 0, "live_bytes": 0}
            objects = self.threads * self.segments
            writer.finish(_threads(self.threads), _info(objects, self.threads, end))

    def _life(self) -> Operations:
        n = self.segments
        steps = [Operation.OPEN, *n * [Operation.ALLOCATE], Operation.EXPORT, Operation.UNEXPORT]
        steps += [Operation.CLOSE, *n * [Operation.DROP], Operation.DROP_SCOPE]
        life = _empty(TIMED, 0, len(steps))
        life["operation"] = steps
        life["kind"] = Allocator.UNKNOWN
        life["kind"][0] = self.kind
        life["kind"][1 : n + 1] = Allocator.SCOPE
        life["align"][1 : n + 1] = 4
        for first in (1, n + 4):
            life["object"][first : first + n] = np.arange(n)
            life["size"][first : first + n] = self.size
        life["object"][n + 1 : n + 3] = 0
        life["size"][n + 1 : n + 3] = self.size
        life["size"][n + 3] = n * self.size
        return life


def _empty(dtype: np.dtype[np.void], start: int, count: int) -> Operations:
    block = np.zeros(count, dtype)
    block["sequence"] = np.arange(start, start + count)
    block["object"] = block["scope"] = NONE
    block["kind"] = Allocator.MALLOC
    return block


def _threads(count: int) -> list[dict[str, Any]]:
    return [{"name": f"thread {number}", "main": number == 0} for number in range(count)]


def _info(objects: int, scopes: int, end: dict[str, int]) -> dict[str, Any]:
    return {
        "source": "synthetic",
        "truncated": None,
        "objects": objects,
        "scopes": scopes,
        "end": end,
        "preexisting": {},
        "invalid": {},
    }
