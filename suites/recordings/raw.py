"""The raw file of scopes.record(): events with addresses and times, as the core wrote them.

Without the GIL, threads take turns in it. It may end anywhere, since processes are killed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suites.recordings.format import EVENT, THREADS, Events, Info
from suites.recordings.writer import read_json

BLOCK = 1 << 20
"""Events that are taken at once."""


@dataclass(frozen=True)
class Raw:
    """A raw file, and what lies beside it."""

    path: Path
    timed = True

    def blocks(self) -> Iterator[Events]:
        """The events by sequence: all those before the first one that is missing."""
        if self._is_in_order():
            return self._as_they_lie(self.path)
        return self._sorted()

    def threads(self) -> dict[int, dict[str, Any]]:
        """What is known of the threads, by their number in the events."""
        found = read_json(self.path.with_name(THREADS), list, missing=[])
        return {thread.pop("id"): thread for thread in found}

    def info(self) -> Info:
        return {}

    def _is_in_order(self) -> bool:
        start = 0
        for block in self._as_they_lie(self.path):
            if not np.array_equal(block["sequence"], np.arange(start, start + len(block))):
                return False
            start += len(block)
        return True

    def _sorted(self) -> Iterator[Events]:
        count = 1 + max(int(block["sequence"].max()) for block in self._as_they_lie(self.path))
        path = self.path.with_name(self.path.name + ".part")
        try:
            # Each event has its place, so they need not be sorted; what is missing stays zero.
            with path.open("wb") as file:
                file.truncate(count * EVENT.itemsize)
            events = np.memmap(path, EVENT, "r+")
            for block in self._as_they_lie(self.path):
                events[block["sequence"]] = block
            del events
            for block in self._as_they_lie(path):
                missing = np.flatnonzero(block["operation"] == 0)
                yield block[: missing[0]] if len(missing) else block
                if len(missing):
                    return
        finally:
            path.unlink(missing_ok=True)

    @staticmethod
    def _as_they_lie(path: Path) -> Iterator[Events]:
        """A part of an event at the end is left out."""
        left = path.stat().st_size // EVENT.itemsize
        with path.open("rb") as file:
            while left > 0:
                block = np.fromfile(file, EVENT, min(BLOCK, left))
                yield block
                left -= len(block)
