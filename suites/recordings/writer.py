"""Writes the files of a recording, each under another name until it is whole."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.lib import format as npy

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


def make_folder(path: Path) -> None:
    """Make the folder of a recording. RecordingError where it exists or can't be made."""
    try:
        path.mkdir()
    except FileExistsError:
        raise RecordingError(f"{path} exists: expected a name for a new folder") from None
    except OSError as error:
        raise RecordingError(f"{path} can't be made ({error.strerror})") from None


def write_json(path: Path, value: Any) -> None:
    """Write the file at once: it is the old one or the new one, never a part."""
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(value, indent=1, allow_nan=False) + "\n")
    part.replace(path)


def read_json(path: Path, kind: type, missing: Any = None) -> Any:
    """What is in the file, or `missing` without one. RecordingError unless it is of that kind."""
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        if missing is not None:
            return missing
        raise RecordingError(f"{path.parent}: expected a file {path.name}, found none") from None
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path}: {error}") from None
    if not isinstance(found, kind):
        raise RecordingError(f"{path}: expected a {kind.__name__}, found {type(found).__name__}")
    return found


class Writer:
    """Appends blocks of operations; `finish` makes them the recording in the folder.

    Without `finish`, as after an exception, the folder is left as it was.
    """

    def __init__(self, folder: Path, timed: bool) -> None:
        self.dtype = TIMED if timed else UNTIMED
        self.count = 0
        self._folder = folder
        self._part = folder / (OPERATIONS + ".part")
        self._file: BinaryIO = self._part.open("wb")
        self._begin = self._write_header()

    def append(self, operations: Operations) -> None:
        """Add operations of the writer's dtype, in order."""
        if operations.dtype != self.dtype:
            raise TypeError(f"expected operations of {self.dtype}, found {operations.dtype}")
        self._file.write(np.ascontiguousarray(operations).data)
        self.count += len(operations)

    def finish(self, threads: Sequence[dict[str, Any]], info: Info) -> None:
        """Put the files in place, info.json the last one: with it the recording is complete."""
        if self._write_header() != self._begin:
            raise AssertionError("the header of a .npy file has changed its size")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        write_json(self._folder / THREADS, list(threads))
        self._part.replace(self._folder / OPERATIONS)
        known = {"format": FORMAT, "operations": self.count, "threads": len(threads)}
        write_json(self._folder / INFO, known | info)

    def _write_header(self) -> int:
        """Its size. NumPy leaves room in it for a length that is not known yet."""
        self._file.seek(0)
        descr = npy.dtype_to_descr(self.dtype)
        header = {"descr": descr, "fortran_order": False, "shape": (self.count,)}
        npy.write_array_header_1_0(self._file, header)
        return self._file.tell()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()
        self._part.unlink(missing_ok=True)
