"""What is in a recording, counted a block at a time."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suites.recordings.format import Allocator, Operation, Operations
from suites.recordings.loader import Recording
from suites.recordings.slots import Carried

SMALL = 512
"""Bytes: what Python's own allocator hands out itself."""
SHORT = 1000
"""Operations of all threads."""
BUCKETS = 65
"""Of a histogram: bucket 0 counts zeros, bucket n what is from 2**(n-1) to 2**n - 1."""

Histogram = NDArray[np.int64]

# What begins and what ends it.
_Life = tuple[tuple[Operation, ...], tuple[Operation, ...]]
_OBJECT: _Life = (Operation.ALLOCATE, Operation.ADOPT), (Operation.FREE, Operation.DROP)
_SCOPE: _Life = (Operation.OPEN,), (Operation.CLOSE,)


def _empty() -> Histogram:
    return np.zeros(BUCKETS, np.int64)


@dataclass
class Lifetimes:
    """From the first operation on an object, or a scope, to its end."""

    count: int = 0
    short: int = 0
    small_and_short: int = 0
    operations: Histogram = field(default_factory=_empty)
    ns: Histogram = field(default_factory=_empty)


@dataclass
class Summary:
    """Of a whole recording. Times are since its first operation; None where they are not known."""

    operations: dict[str, int] = field(default_factory=dict)
    allocators: dict[str, int] = field(default_factory=dict)
    threads: list[dict[str, Any]] = field(default_factory=list)
    allocations: int = 0
    allocated_bytes: int = 0
    small: int = 0
    sizes: Histogram = field(default_factory=_empty)
    bytes_by_size: Histogram = field(default_factory=_empty)
    objects: Lifetimes = field(default_factory=Lifetimes)
    scopes: Lifetimes = field(default_factory=Lifetimes)
    live_bytes: int = 0
    peak_bytes: int = 0
    peak_sequence: int = 0
    peak_ns: int | None = None
    duration_ns: int | None = None


def summarize(recording: Recording) -> Summary:
    """Read all of it. The memory it takes is that of a block, and of the tables of slots."""
    counter = _Counter(recording)
    for block in recording.blocks():
        counter.add(block)
    return counter.result()


class _Counter:
    def __init__(self, recording: Recording) -> None:
        self._timed = recording.timed
        self._threads = recording.threads
        self._by_operation = np.zeros(256, np.int64)
        self._by_allocator = np.zeros(256, np.int64)
        self._by_thread = np.zeros((2, len(recording.threads)), np.int64)
        self._begins = {
            "object": Carried(recording.objects, 2),
            "scope": Carried(recording.scopes, 2),
        }
        self._sizes = Carried(recording.objects, 1)
        self._first_ns: int | None = None
        self._summary = Summary()

    def add(self, block: Operations) -> None:
        self._add_counts(block)
        self._add_times(block)
        self._add_lifetimes(self._summary.objects, block, "object", _OBJECT)
        self._add_lifetimes(self._summary.scopes, block, "scope", _SCOPE)
        self._add_live(block)

    def _add_counts(self, block: Operations) -> None:
        found, threads = self._summary, len(self._threads)
        allocated = block[block["operation"] == Operation.ALLOCATE]
        size = allocated["size"].astype(np.int64)
        self._by_operation += np.bincount(block["operation"], minlength=256)
        self._by_allocator += np.bincount(allocated["kind"], minlength=256)
        self._by_thread[0] += np.bincount(block["thread"], minlength=threads)
        by_thread = np.bincount(allocated["thread"], size, minlength=threads)
        self._by_thread[1] += by_thread.astype(np.int64)
        found.allocations += len(size)
        found.allocated_bytes += int(size.sum())
        found.small += int(np.count_nonzero(size <= SMALL))
        found.sizes += _histogram(size)
        found.bytes_by_size += _histogram(size, size)

    def _add_times(self, block: Operations) -> None:
        if self._timed:
            first, last = int(block["time_ns"][0]), int(block["time_ns"][-1])
            self._first_ns = first if self._first_ns is None else self._first_ns
            self._summary.duration_ns = last - self._first_ns

    def _add_lifetimes(self, found: Lifetimes, block: Operations, of: str, life: _Life) -> None:
        begins, ends = life
        rows = block[np.isin(block["operation"], begins + ends)]
        time = rows["time_ns"] if self._timed else np.zeros(len(rows), np.int64)
        sets = np.isin(rows["operation"], begins)
        begun, begun_ns = self._begins[of].before(rows[of], sets, rows["sequence"], time)
        lived = (rows["sequence"].astype(np.int64) - begun)[~sets]
        found.count += len(lived)
        short = lived <= SHORT
        found.short += int(np.count_nonzero(short))
        found.small_and_short += int(np.count_nonzero(short & (rows["size"][~sets] <= SMALL)))
        found.operations += _histogram(lived)
        if self._timed:
            found.ns += _histogram((time.astype(np.int64) - begun_ns)[~sets])

    def _add_live(self, block: Operations) -> None:
        found, operation = self._summary, block["operation"]
        change = block["size"].astype(np.int64)
        sized = np.isin(operation, (Operation.ALLOCATE, Operation.REALLOCATE))
        rows = block[sized]
        (before,) = self._sizes.before(rows["object"], np.ones(len(rows), bool), rows["size"])
        change[sized] -= np.where(rows["operation"] == Operation.REALLOCATE, before, 0)
        gone = np.isin(operation, (Operation.FREE, Operation.CLOSE))
        change[gone] *= -1
        change[~(sized | gone)] = 0
        live = found.live_bytes + np.cumsum(change)
        highest = int(live.argmax())
        found.live_bytes = int(live[-1])
        if live[highest] > found.peak_bytes:
            found.peak_bytes = int(live[highest])
            found.peak_sequence = int(block["sequence"][highest])
            if self._first_ns is not None:
                found.peak_ns = int(block["time_ns"][highest]) - self._first_ns

    def result(self) -> Summary:
        found = self._summary
        found.operations = _named(self._by_operation, Operation)
        found.allocators = _named(self._by_allocator, Allocator)
        found.threads = [
            thread | {"operations": int(count), "allocated_bytes": int(nbytes)}
            for thread, count, nbytes in zip(self._threads, *self._by_thread, strict=True)
        ]
        return found


def _histogram(values: NDArray[np.int64], weights: NDArray[np.int64] | None = None) -> Histogram:
    # The exponent of 0.5 <= m < 1 as a fraction is the number of binary digits.
    bucket = np.frexp(values.astype(np.float64))[1]
    return np.bincount(bucket, weights, minlength=BUCKETS).astype(np.int64)


def _named(counts: Histogram, names: type[IntEnum]) -> dict[str, int]:
    return {name.name.lower(): int(counts[name]) for name in names if counts[name]}
