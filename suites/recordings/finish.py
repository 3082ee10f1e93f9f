"""Makes a recording of what a recorder left, when it is read first.

Recorders write what costs the recorded process least. Their file is there while it runs, and stays
when it is killed; info.json, which they write first, has a `stopped` that is false until they end.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from suites.recordings.format import (
    CAPTURE,
    INFO,
    RAW,
    TRUNCATED,
    Events,
    Info,
    NothingRecordedError,
    RecordingError,
)
from suites.recordings.memray_capture import Capture
from suites.recordings.raw import Raw
from suites.recordings.resolve import UNBOUNDED, Resolver
from suites.recordings.writer import Writer, read_json

KILLED = "the process was ended while it was recorded"


class Source(Protocol):
    """What recorders leave: events, and what is known besides once all of them were taken."""

    @property
    def timed(self) -> bool: ...
    def blocks(self) -> Iterator[Events]: ...
    def threads(self) -> dict[int, dict[str, Any]]: ...
    def info(self) -> Info: ...


def is_unfinished(folder: Path) -> bool:
    """Whether a recorder's file is there and no recording was made of it yet."""
    return any((folder / name).exists() for name in (RAW, CAPTURE))


def finish(folder: Path) -> None:
    """Put the recording in the place of the recorder's file. RecordingError where that can't be:
    while it is recorded, where nothing was, where the folder can't be written to."""
    path = folder / (RAW if (folder / RAW).exists() else CAPTURE)
    if not path.exists():
        raise NothingRecordedError(f"{folder}: nothing was recorded, found no {RAW} or {CAPTURE}")
    with _locked(path):
        info = read_json(folder / INFO, dict, missing={})
        if not info.pop("stopped", False):
            info["truncated"] = info.get("truncated") or KILLED
        why = path.with_name(path.name + TRUNCATED)
        if why.exists():
            info["truncated"] = why.read_text()
        write(folder, Raw(path) if path.name == RAW else Capture(path), info)
        path.unlink()
        why.unlink(missing_ok=True)


def write(folder: Path, source: Source, info: Info) -> None:
    """Make the recording in the folder of all events, or of as many as the `max_operations` and the
    `max_bytes` of `info` allow."""
    resolver = Resolver(source.timed)
    with Writer(folder, source.timed) as writer:
        most, why = _bound(info, writer.dtype.itemsize)
        for block in source.blocks():
            writer.append(resolver.run(block, most - writer.count))
            if writer.count >= most:
                info["truncated"] = why
                break
        if writer.count == 0:
            raise NothingRecordedError(f"{folder}: nothing was recorded")
        known = source.threads()
        unknown = {"name": "", "main": False}
        threads = [known.get(number, unknown) for number in resolver.threads()]
        writer.finish(threads, {"truncated": None} | info | source.info() | resolver.info())


def _bound(info: Info, itemsize: int) -> tuple[int, str]:
    """The most operations, and what to say when they are reached."""
    bounds = [(UNBOUNDED, "")]
    for name, unit in (("max_operations", 1), ("max_bytes", itemsize)):
        value = info.get(name)
        if value is not None:
            bounds.append((max(1, value // unit), f"{name}={value} was reached"))
    return min(bounds)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock that a recording process holds while it writes the file."""
    try:
        with path.open("r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RecordingError(f"{path.parent}: it is still being recorded") from None
            # A lock is of the process, and this one may be the one that records.
            info = read_json(path.with_name(INFO), dict, missing={})
            if info.get("pid") == os.getpid() and not info.get("stopped", True):
                raise RecordingError(f"{path.parent}: it is still being recorded")
            yield
    except OSError as error:
        raise RecordingError(
            f"{path}: it is made a recording when it is read first, and that can't be done here "
            f"({error.strerror})"
        ) from None
