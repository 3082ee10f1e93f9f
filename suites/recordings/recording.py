"""A recording in memory: its operations as a map of the file, so that size does not matter."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path
from typing import Any

import numpy as np

from suites.recordings.format import (
    FORMAT,
    INFO,
    OPERATIONS,
    TIMED,
    UNTIMED,
    Info,
    Operations,
    RecordingError,
)

BLOCK = 1 << 20
"""Operations that are taken at once."""


@dataclass(frozen=True)
class Recording:
    """What a program did with memory, in order. `operations` is a map of the file."""

    path: Path
    operations: Operations
    threads: tuple[dict[str, Any], ...]
    info: Info

    @property
    def timed(self) -> bool:
        """Whether the operations have the field `time_ns`."""
        return self.operations.dtype == TIMED

    @property
    def objects(self) -> int:
        """The size of a table of all objects: the most that were alive at once."""
        return int(self.info["objects"])

    @property
    def scopes(self) -> int:
        """The size of a table of all scopes."""
        return int(self.info["scopes"])

    def buffer(self, size: int = BLOCK) -> Operations:
        """Memory for `blocks`, of at most so many operations."""
        return np.empty(min(size, len(self.operations)), self.operations.dtype)

    def blocks(self, size: int = BLOCK, buffer: Operations | None = None) -> Iterator[Operations]:
        """The operations, so many at a time; each block is valid until the next one.

        Read into one piece of memory, the buffer or a new one, and not mapped: pages of a map that
        were touched count as resident. One that is packed is in memory already.
        """
        left = len(self.operations)
        if not self.path.is_dir():
            yield from (self.operations[at : at + size] for at in range(0, left, size))
            return
        block = self.buffer(size) if buffer is None else buffer
        with (self.path / OPERATIONS).open("rb", buffering=0) as file:
            file.seek(-left * self.operations.itemsize, os.SEEK_END)
            while left > 0:
                part = block[:left]
                _fill(part, file)
                yield part
                left -= len(part)


def _fill(block: Operations, file: RawIOBase) -> None:
    rest = block.data.cast("B")
    while len(rest):
        count = file.readinto(rest)  # the kernel gives 2 GiB at most
        if not count:
            raise RecordingError("the file of operations became shorter while it was read")
        rest = rest[count:]


def checked(path: Path, operations: Operations, threads: Any, info: Any) -> Recording:
    """The recording of what was found at a path; RecordingError where that is none."""
    if not isinstance(info, dict) or info.get("format") != FORMAT:
        found = info.get("format") if isinstance(info, dict) else type(info).__name__
        raise RecordingError(f"{path}, {INFO}: expected format {FORMAT}, found {found!r}")
    if operations.dtype not in (TIMED, UNTIMED) or operations.ndim != 1:
        raise RecordingError(
            f"{path}, {OPERATIONS}: expected a list of operations with the fields "
            f"{', '.join(TIMED.names or ())} (time_ns may be absent), found an array of "
            f"{operations.dtype} with shape {operations.shape}"
        )
    if len(operations) != info.get("operations"):
        raise RecordingError(
            f"{path}, {OPERATIONS}: expected {info.get('operations')} operations, "
            f"as {INFO} says, found {len(operations)}"
        )
    return Recording(path, operations, tuple(threads), info)
