"""Reads a recording, from its folder or packed."""

from pathlib import Path

import numpy as np

from suites.recordings.finish import finish, is_unfinished
from suites.recordings.format import INFO, OPERATIONS, THREADS, Operations, RecordingError
from suites.recordings.packed import is_packed, load_packed
from suites.recordings.recording import BLOCK, Recording, checked
from suites.recordings.writer import read_json

__all__ = ["BLOCK", "Recording", "load"]


def load(path: str | Path) -> Recording:
    """The recording in a folder, or a packed one. RecordingError where none can be read.

    What a recorder has left is made a recording first, which may take some seconds.
    """
    folder = Path(path)
    if is_packed(folder):
        return load_packed(folder)
    if not folder.is_dir():
        raise RecordingError(f"{folder}: expected the folder of a recording, found no folder")
    if is_unfinished(folder):
        finish(folder)
    info = read_json(folder / INFO, dict)
    threads = read_json(folder / THREADS, list)
    return checked(folder, _operations(folder / OPERATIONS), threads, info)


def _operations(path: Path) -> Operations:
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise RecordingError(f"{path.parent}: expected a file {path.name}, found none") from None
    except (OSError, ValueError) as error:
        raise RecordingError(f"{path}: {error}") from None
    # A plain array over the map: indexing a memmap costs ten times as much.
    operations: Operations = np.asarray(found)
    return operations
