"""The capture of memray as events.

memray tells a reallocation as a free and an allocation by the same thread, one after the other;
they are joined here. So a free that a realloc(NULL, n) of the same thread follows at once is taken
for a reallocation: the bytes are the same. It sees no mremap(), and no realloc(p, 0), whose block
counts as live until its address is seen again. Alignments and times are not in a capture.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from suites.recordings.format import EVENT, Allocator, Events, Info, Operation, RecordingError
from suites.recordings.mappings import Mappings

BLOCK = 1 << 16
"""Records that are taken at once: a Python object each."""

_HINT = "recording a program needs memray: pip install 'scopestress[record]'"

_ALLOCATIONS = {
    "MALLOC": Allocator.MALLOC,
    "CALLOC": Allocator.CALLOC,
    "REALLOC": Allocator.MALLOC,
    "POSIX_MEMALIGN": Allocator.ALIGNED,
    "ALIGNED_ALLOC": Allocator.ALIGNED,
    "MEMALIGN": Allocator.ALIGNED,
    "VALLOC": Allocator.ALIGNED,
    "PVALLOC": Allocator.ALIGNED,
    "PYMALLOC_MALLOC": Allocator.PYTHON,
    "PYMALLOC_CALLOC": Allocator.PYTHON,
    "PYMALLOC_REALLOC": Allocator.PYTHON,
}
_FREES = {"FREE": Allocator.MALLOC, "PYMALLOC_FREE": Allocator.PYTHON}
_JOINED = {"REALLOC": "FREE", "PYMALLOC_REALLOC": "PYMALLOC_FREE"}

# Address, size, other address, thread, operation, kind.
_Event = tuple[int, int, int, int, int, int]


def memray() -> ModuleType:
    """The package. RecordingError that says how to get it where it is missing."""
    try:
        import memray
    except ImportError as error:
        raise RecordingError(f"{_HINT} ({error})") from None
    found: ModuleType = memray
    return found


@dataclass
class Capture:
    """A capture file, whose second thread to be seen is the one that watches its size."""

    path: Path
    timed = False

    def __post_init__(self) -> None:
        self._memray = memray()
        self._last: dict[int, Any] = {}
        self._main = 0
        self._info: Info = {}

    def blocks(self) -> Iterator[Events]:
        """The events, in order. RecordingError where memray can't read the file."""
        try:
            with self._memray.FileReader(os.fspath(self.path)) as reader:
                self._main = reader.metadata.main_thread_id
                self._info = {
                    "python_allocator": reader.metadata.python_allocator,
                    "python_allocators_traced": reader.metadata.trace_python_allocators,
                }
                records = self._program(reader.get_allocation_records())
                events = _Translation(self._memray.AllocatorType).events(records)
                while block := list(islice(events, BLOCK)):
                    yield _array(block)
        except OSError as error:
            raise RecordingError(f"{self.path}: {error}") from None

    def threads(self) -> dict[int, dict[str, Any]]:
        """What is known of the threads, by their number in the events."""
        return {tid: self._thread(tid, record.thread_name) for tid, record in self._last.items()}

    def info(self) -> Info:
        """About the capture as a whole."""
        return self._info

    def _thread(self, tid: int, name: str) -> dict[str, Any]:
        is_main = tid == self._main
        return {"name": name or ("MainThread" if is_main else ""), "main": is_main}

    def _program(self, records: Iterator[Any]) -> Iterator[tuple[int, int, int, int]]:
        """Allocator, address, size and thread of all that the program did itself."""
        first = watch = None
        ours = set()
        for record in records:
            tid, address, size = record.tid, record.address, record.size
            if first is None:
                first = tid
            elif watch is None and tid != first:
                watch = tid
            if tid == watch:
                if size:
                    ours.add(address)
                    continue
                tid = first  # it may have freed what the first one made
            if address in ours:
                ours.discard(address)
                continue
            self._last[tid] = record
            yield record.allocator, address, size, tid


class _Translation:
    """From memray's records to events."""

    def __init__(self, types: Any) -> None:
        by_name = {name: int(member) for name, member in types.__members__.items()}
        self._allocations = {by_name[n]: int(kind) for n, kind in _ALLOCATIONS.items()}
        self._frees = {by_name[n]: int(kind) for n, kind in _FREES.items()}
        self._joined = {by_name[n]: by_name[free] for n, free in _JOINED.items()}
        self._mmap, self._munmap = by_name["MMAP"], by_name["MUNMAP"]
        self._mappings = Mappings()

    def events(self, records: Iterator[tuple[int, int, int, int]]) -> Iterator[_Event]:
        free = None  # (allocator, address, thread): may be the first half of a reallocation
        for allocator, address, size, thread in records:
            if free is not None:
                if thread == free[2] and self._joined.get(allocator) == free[0]:
                    kind = self._allocations[allocator]
                    yield free[1], size, address, thread, Operation.REALLOCATE, kind
                    free = None
                    continue
                yield free[1], 0, 0, free[2], Operation.FREE, self._frees[free[0]]
                free = None
            if allocator in self._frees:
                free = allocator, address, thread
            elif allocator in self._allocations:
                if address:  # Python's allocators may have failed
                    kind = self._allocations[allocator]
                    yield address, size, 0, thread, Operation.ALLOCATE, kind
            elif allocator == self._mmap:
                yield from self._unmap(address, size, thread)
                self._mappings.add(address, size)
                yield address, size, 0, thread, Operation.ALLOCATE, Allocator.MMAP
            elif allocator == self._munmap:
                known = list(self._unmap(address, size, thread))
                yield from known
                if not known:  # older than the recording
                    yield address, 0, 0, thread, Operation.FREE, Allocator.MMAP
        if free is not None:
            yield free[1], 0, 0, free[2], Operation.FREE, self._frees[free[0]]

    def _unmap(self, address: int, size: int, thread: int) -> Iterator[_Event]:
        for start, _, left in self._mappings.remove(address, size):
            if not left:
                yield start, 0, 0, thread, Operation.FREE, Allocator.MMAP
                continue
            (first, nbytes), *second = left
            yield start, nbytes, first, thread, Operation.REALLOCATE, Allocator.MMAP
            for part, rest in second:
                yield part, rest, 0, thread, Operation.ALLOCATE, Allocator.MMAP


def _array(block: list[_Event]) -> Events:
    columns = np.array(block, np.uint64).T
    events = np.zeros(len(block), EVENT)
    for name, column in zip(
        ("object", "size", "other", "thread", "operation", "kind"), columns, strict=True
    ):
        events[name] = column
    return events
