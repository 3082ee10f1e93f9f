"""A recording as one small file, `NAME.tar.xz`: the files of its folder, as tar and xz write them.

Operations repeat what operations before them did, a few numbers further on: as differences between
neighbouring rows they compress to a few bits each.
"""

import io
import json
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from suites.recordings.format import INFO, OPERATIONS, THREADS, Operations, RecordingError
from suites.recordings.recording import Recording, checked

SUFFIX = ".tar.xz"


def is_packed(path: Path) -> bool:
    return path.name.endswith(SUFFIX)


def pack(recording: Recording, file: Path) -> None:
    """Write a recording that lies in a folder to a file. RecordingError where that exists."""
    if is_packed(recording.path):
        raise RecordingError(f"{recording.path}: it is packed already")
    if not is_packed(file):
        raise RecordingError(f"{file}: expected a name that ends with {SUFFIX}")
    if file.exists():
        raise RecordingError(f"{file} exists: expected a name for a new file")
    part = file.with_name(file.name + ".part")
    try:
        _write(recording, part)
        part.replace(file)
    except OSError as error:
        raise RecordingError(f"{file} can't be written ({error.strerror})") from None
    finally:
        part.unlink(missing_ok=True)


def _write(recording: Recording, path: Path) -> None:
    filters = [
        {"id": lzma.FILTER_DELTA, "dist": recording.operations.itemsize},
        {"id": lzma.FILTER_LZMA2, "preset": 9},
    ]
    with (
        lzma.open(path, "wb", filters=filters) as stream,
        tarfile.open(fileobj=stream, mode="w") as tar,
    ):
        for name in (INFO, THREADS, OPERATIONS):
            # Without the owner and the times of the file.
            entry = tarfile.TarInfo(name)
            entry.size = (recording.path / name).stat().st_size
            with (recording.path / name).open("rb") as file:
                tar.addfile(entry, file)


def load_packed(path: Path) -> Recording:
    """The recording in a file, whole in memory. RecordingError where there is none."""
    found: dict[str, Any] = {}
    try:
        with tarfile.open(path, "r:xz") as tar:
            for member in tar:
                file = tar.extractfile(member)
                if member.name in _READERS and file is not None:
                    found[member.name] = _READERS[member.name](file)
    except FileNotFoundError:
        raise RecordingError(f"{path}: expected a recording, found no such file") from None
    except (OSError, EOFError, ValueError, tarfile.TarError, lzma.LZMAError) as error:
        raise RecordingError(f"{path}: not a packed recording, or cut off: {error}") from None
    for name in _READERS:
        if name not in found:
            raise RecordingError(f"{path}: expected a file {name} in it, found none")
    return checked(path, found[OPERATIONS], found[THREADS], found[INFO])


def _array(file: IO[bytes]) -> Operations:
    array: Operations = np.load(io.BytesIO(file.read()), allow_pickle=False)
    return array


_READERS: dict[str, Callable[[IO[bytes]], Any]] = {
    OPERATIONS: _array,
    THREADS: json.load,
    INFO: json.load,
}
