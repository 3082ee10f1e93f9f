"""The heap of MEMORY stress: objects that live as long as the benchmark does."""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat

from stress.base import StressError

#: Bytes that pymalloc rounds an object up to.
ALIGNMENT = 16
#: What else an object costs, as a ratio: list growth (an eighth of the pointers), pool headers.
OVERHEAD = 1.03
POINTER = 8


def _containers(count: int) -> list[object]:
    """Lists of one element: the collector tracks a list always, unlike a tuple or dict of atoms."""
    return [[None] for _ in repeat(None, count)]


def _bytes(count: int) -> list[object]:
    """Two-byte objects as in the seed benchmark; each is an object of its own from two bytes on."""
    return list(map(bytes, repeat(2, count)))


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


#: Kind of heap -> what makes it.
MAKERS: dict[str, Callable[[int], list[object]]] = {"containers": _containers, "bytes": _bytes}
#: Kind of heap -> bytes an object takes, with the pointer that holds it (getsizeof counts the GC's
#: header; a list's elements are a block of their own).
OBJECT_BYTES = {
    "containers": _rounded(sys.getsizeof([])) + _rounded(POINTER) + POINTER,
    "bytes": _rounded(sys.getsizeof(bytes(2))) + POINTER,
}


def needed_bytes(count: int, kind: str) -> int:
    """Bytes of memory that a heap of `count` objects takes, by CPython's own object sizes."""
    return int(count * OBJECT_BYTES[kind] * OVERHEAD)


def check_fits(count: int, kind: str, available: int) -> None:
    """StressError unless a heap of `count` objects fits into `available` bytes."""
    needed = needed_bytes(count, kind)
    if needed > available:
        raise StressError(
            f"a heap of {count:,} {kind} can't fit: it needs {needed:,} bytes and {available:,} are"
            " available; ask for fewer heap objects"
        )


@contextmanager
def live_heap(count: int, kind: str) -> Iterator[list[object]]:
    """Hold `count` objects alive, in the collector's oldest generation, until the block ends.

    The collector is off while they are made (it would scan the growing heap again and again) and
    then left as it was found. Nothing is frozen: that the collector walks the heap is the stress.
    StressError when memory runs out on the way, as under a limit that check_fits() can't know.
    """
    with _collector_off():
        try:
            heap = MAKERS[kind](count)
        except MemoryError as error:
            raise StressError(
                f"memory ran out while a heap of {count:,} {kind} was made, which needs"
                f" {needed_bytes(count, kind):,} bytes; ask for fewer heap objects"
            ) from error
        gc.collect()  # ages the heap, else the first collections of the benchmark would
    try:
        yield heap
    finally:
        heap.clear()  # the caller may still hold the list


@contextmanager
def _collector_off() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
