"""Reads a recording: its operations as a map of the file, so that size does not matter."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path
from typing import Any

import numpy as np

from suites.recordings.finish import finish, is_unfinished
from suites.recordings.format import (
    FORMAT,
    INFO,
    OPERATIONS,
    THREADS,
    TIMED,
    UNTIMED,
    Info,
    Operations,
    RecordingError,
)
from suites.recordings.writer import read_json

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
        were touched count as resident.
        """
        left = len(self.operations)
        block = self.buffer(size) if buffer is None else buffer
        with (self.path / OPERATIONS).open("rb", buffering=0) as file:
            file.seek(-left * self.operations.itemsize, os.SEEK_END)
            while left > 0:
                part = block[:left]
                _fill(part, file)
                yield part
                left -= len(part)


def load(path: str | Path) -> Recording:
    """The recording in a folder. RecordingError where there is none that can be read.

    What a recorder has left is made a recording first, which may take some seconds.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise RecordingError(f"{folder}: expected the folder of a recording, found no folder")
    if is_unfinished(folder):
        finish(folder)
    info = read_json(folder / INFO, dict)
    if info.get("format") != FORMAT:
        raise RecordingError(
            f"{folder / INFO}: expected format {FORMAT}, found {info.get('format')!r}"
        )
    threads = read_json(folder / THREADS, list)
    operations = _operations(folder / OPERATIONS)
    if len(operations) != info.get("operations"):
        raise RecordingError(
            f"{folder / OPERATIONS}: expected {info.get('operations')} operations, "
            f"as {INFO} says, found {len(operations)}"
        )
    return Recording(folder, operations, tuple(threads), info)


def _fill(block: Operations, file: RawIOBase) -> None:
    rest = block.data.cast("B")
    while len(rest):
        count = file.readinto(rest)  # the kernel gives 2 GiB at most
        if not count:
            raise RecordingError("the file of operations became shorter while it was read")
        rest = rest[count:]


def _operations(path: Path) -> Operations:
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise RecordingError(f"{path.parent}: expected a file {path.name}, found none") from None
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path}: {error}") from None
    if found.dtype not in (TIMED, UNTIMED) or found.ndim != 1:
        raise RecordingError(
            f"{path}: expected a list of operations with the fields {', '.join(TIMED.names or ())} "
            f"(time_ns may be absent), found an array of {found.dtype} with shape {found.shape}"
        )
    # A plain array over the map: indexing a memmap costs ten times as much.
    operations: Operations = np.asarray(found)
    return operations
