"""A table of events in CSV, as other recorders can be brought to write it.

The first line names the columns, in any order:

    operation   allocate, reallocate, free, open, adopt, export, unexport, closing, close, drop,
                drop_scope, or part (of a segment)
    object      its address, or any other word; it may be used again after its end
    scope       the same, of open, allocate (if any), adopt, closing, close, drop_scope
    becomes     of reallocate: its new address; empty if it is the same
    of          of part: the segment
    size        bytes
    thread      a name or a number; the first one is the main thread
    kind        malloc, calloc, aligned, mmap, python or scope; of open: confined, shared, implicit;
                of close: call or finalizer
    align       bytes, a power of two
    time_ns     all of them, and then none before the previous one; or no such column

`operation` and `object` or `scope` are needed, all else may be missing or empty.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from suites.recordings.format import (
    EVENT,
    EVENTS,
    PART,
    Allocator,
    Closing,
    Events,
    Info,
    Operation,
    RecordingError,
    ScopeKind,
)

COLUMNS = (
    "operation",
    "object",
    "scope",
    "becomes",
    "of",
    "size",
    "thread",
    "kind",
    "align",
    "time_ns",
)
BLOCK = 1 << 16
"""Lines that are taken at once."""

_KINDS: dict[int, type[IntEnum]] = {Operation.OPEN: ScopeKind, Operation.CLOSE: Closing}


@dataclass
class Table:
    """A CSV file. `timed` is known once it has been opened, `threads` once all has been read."""

    path: Path
    timed: bool = False
    _numbers: dict[str, int] = field(default_factory=dict)
    _threads: dict[str, int] = field(default_factory=dict)
    _time_ns: int = 0

    def __post_init__(self) -> None:
        with self._open() as file:
            columns = next(csv.reader(file), [])
        for name in columns:
            if name not in COLUMNS:
                raise RecordingError(
                    f"{self.path}, line 1: expected columns of {', '.join(COLUMNS)}; found {name!r}"
                )
        if "operation" not in columns:
            raise RecordingError(
                f"{self.path}, line 1: expected the names of the columns, operation among them; "
                f"found {columns!r}"
            )
        self.timed = "time_ns" in columns

    def blocks(self) -> Iterator[Events]:
        """The events, line by line. RecordingError that names the line where one makes no sense."""
        with self._open() as file:
            rows = csv.DictReader(file, restval="")
            events = (self._event(row, rows.line_num) for row in rows)
            while block := list(islice(events, BLOCK)):
                yield np.array(block, EVENT)

    def threads(self) -> dict[int, dict[str, Any]]:
        """What is known of the threads, by their number in the events."""
        return {n: {"name": name, "main": n == 0} for name, n in self._threads.items()}

    def info(self) -> Info:
        return {}

    def _open(self) -> Any:
        try:
            return self.path.open(newline="", encoding="utf-8")
        except OSError as error:
            raise RecordingError(f"{self.path}: {error.strerror}") from None

    def _event(self, row: dict[str, str], line: int) -> tuple[int, ...]:
        try:
            return self._parsed(row)
        except ValueError as error:
            raise RecordingError(f"{self.path}, line {line}: {error}") from None

    def _parsed(self, row: dict[str, str]) -> tuple[int, ...]:
        name = row.get("operation", "")
        operation = _chosen("operation", name, EVENTS)
        address = self._address(row.get("object", ""))
        other = self._address(row.get("scope", ""))
        if operation == Operation.REALLOCATE:
            other = self._address(row.get("becomes", "")) or address
        elif operation == PART:
            other = self._address(row.get("of", ""))
        elif operation == Operation.ALLOCATE and row.get("size", "") == "":
            raise ValueError("expected a size of allocate, found none")
        kinds = {member.name.lower(): int(member) for member in _KINDS.get(operation, Allocator)}
        kind = row.get("kind", "")
        thread = row.get("thread", "")
        return (
            0,
            self._time(row.get("time_ns", "")),
            _number("size", row.get("size", "") or "0"),
            address,
            other,
            self._threads.setdefault(thread, len(self._threads)),
            operation,
            _chosen("kind", kind, kinds) if kind else 0,
            _power("align", row.get("align", "") or "1"),
            0,
        )

    def _address(self, word: str) -> int:
        """A number for the word, 0 for none: they are only told from each other."""
        return self._numbers.setdefault(word, len(self._numbers) + 1) if word else 0

    def _time(self, text: str) -> int:
        if not self.timed:
            return 0
        time = _number("time_ns", text)
        if time < self._time_ns:
            raise ValueError(
                f"expected a time_ns of at least {self._time_ns}, as before, found {time}"
            )
        self._time_ns = time
        return time


def _chosen(column: str, word: str, words: dict[str, int]) -> int:
    if word not in words:
        raise ValueError(f"expected as {column} one of {', '.join(words)}; found {word!r}")
    return words[word]


def _number(column: str, text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**63:
        raise ValueError(f"expected as {column} a whole number, 0 or more; found {text!r}")
    return int(text)


def _power(column: str, text: str) -> int:
    number = _number(column, text)
    if number == 0 or number & (number - 1):
        raise ValueError(f"expected as {column} a power of two, found {text!r}")
    return number.bit_length() - 1
