"""What is mapped, so that unmapping a part of it is told from unmapping all of it."""

import mmap
from bisect import bisect_left, insort
from collections.abc import Iterator


class Mappings:
    """Ranges of addresses, in whole pages, none of which overlap."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: dict[int, int] = {}

    def add(self, start: int, nbytes: int) -> None:
        """A range that overlaps none. What it covers has to be removed before."""
        insort(self._starts, start)
        self._ends[start] = _page_end(start + nbytes)

    def remove(self, start: int, nbytes: int) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
        """Unmap a range. For each mapping that lies in it, even in part: its start, its size, and
        the start and size of each part that is left of it: none, one or two."""
        end = _page_end(start + nbytes)
        for first in self._within(start, end):
            last = self._ends.pop(first)
            self._starts.remove(first)
            left = [(a, b - a) for a, b in ((first, min(start, last)), (end, last)) if a < b]
            for part, size in left:
                self.add(part, size)
            yield first, last - first, left

    def _within(self, start: int, end: int) -> list[int]:
        at = max(0, bisect_left(self._starts, start + 1) - 1)
        found = []
        for first in self._starts[at:]:
            if first >= end:
                break
            if self._ends[first] > start:
                found.append(first)
        return found


def _page_end(address: int) -> int:
    return -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
