"""Recording what scopes do: the files around the events that the compiled part writes.

docs/recording.md tells what is in the folder. The raw file has addresses in place of small numbers,
and, without the GIL, threads in turn; `suites.recordings` sorts that out when it is read first.
"""

from __future__ import annotations

import atexit
import errno
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from scopes import _core

RAW, INFO, THREADS = "operations.raw", "info.json", "threads.json"
FORMAT = 1
RECORD_BYTES = 48
UNBOUNDED = 2**63 - 1


class _Recording:
    """One that has begun: its folder, and the raw file in it as a file descriptor."""

    def __init__(self, folder: str, raw: int, limit: str) -> None:
        self.folder = folder
        self.info = _info()
        self.pid = os.getpid()
        self.count: int | None = None  # of events; None until it has ended
        self._raw = raw
        self._limit = limit

    def stop(self) -> None:
        """Ends it, once; one without an event is removed. In a child of fork nothing happens."""
        atexit.unregister(self.stop)
        if self.count is not None or os.getpid() != self.pid:
            return
        found = _core.stop_events()
        assert found is not None
        os.close(self._raw)
        self.count = found["records"]
        if self.count == 0:
            self.remove()
            return
        threads = [_describe(token, thread) for token, thread in found["threads"].items()]
        _write_json(self.folder, THREADS, threads)
        self.info |= {
            "stopped": True,
            "truncated": self._why_truncated(found["error"]),
            "overhead": _overhead(found),
        }
        _write_json(self.folder, INFO, self.info)

    def _why_truncated(self, error: int) -> str | None:
        if error == 0:
            return None
        if error == errno.ERANGE:
            return self._limit
        reason = os.strerror(error)
        warnings.warn(f"the recording {self.folder} is truncated: {reason}", RuntimeWarning, 4)
        return reason

    def remove(self) -> None:
        for name in (RAW, INFO):
            os.unlink(os.path.join(self.folder, name))
        os.rmdir(self.folder)


@contextmanager
def record(
    directory: str | os.PathLike[str],
    *,
    max_events: int | None = None,
    max_bytes: int | None = None,
) -> Iterator[None]:
    """Records what the scopes of all threads do, while the with statement runs, to a new folder.

    Opening, allocating, adopting, exporting, closing and dropping, each with its time, 48 bytes an
    event. `python -m suites.record info DIRECTORY` tells what is in it, `python -m suites.replay`
    plays it again. It can be read even where the process was killed, but for the last 1,365 events
    or, without the GIL, as many of each thread.

    It ends early after max_events, or at max_bytes of the raw file, and, with a RuntimeWarning,
    where the disk is full; the program goes on, and the recording says that it is truncated.
    A child of fork records nothing. FileExistsError where the folder exists; RuntimeError within
    another recording, and at the end if there was not one event: the folder is gone then.

    >>> import tempfile, os
    >>> folder = os.path.join(tempfile.mkdtemp(), "recording")
    >>> with record(folder):
    ...     ConfinedScope().close()
    >>> sorted(os.listdir(folder))
    ['info.json', 'operations.raw', 'threads.json']
    """
    recording = _start(directory, max_events, max_bytes)
    try:
        yield
    finally:
        recording.stop()
    if recording.count == 0:
        raise RuntimeError(f"{recording.folder}: nothing was recorded: no scope was used meanwhile")


def record_from_environment() -> None:
    """Records to the folder that SCOPES_RECORD names, up to the end of the process.

    A process that can't, such as one that was started by the recorded one, warns and goes on.
    """
    directory = os.environ.get("SCOPES_RECORD", "").replace("%p", str(os.getpid()))
    if not directory:
        return
    try:
        _start(directory, None, None)
    except (OSError, RuntimeError) as error:
        warnings.warn(f"SCOPES_RECORD: nothing is recorded: {error}", RuntimeWarning, 3)


def _start(
    directory: str | os.PathLike[str], max_events: int | None, max_bytes: int | None
) -> _Recording:
    if not hasattr(_core, "start_events"):
        raise RuntimeError("this build of scopes has no events: it was made with SCOPES_EVENTS=0")
    most, limit = _bound(max_events, max_bytes)
    folder = os.fspath(directory)
    try:
        os.mkdir(folder)
    except FileExistsError:
        raise FileExistsError(
            errno.EEXIST, "expected a name for a new folder, found one that exists", folder
        ) from None
    raw = os.open(os.path.join(folder, RAW), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    recording = _Recording(folder, raw, limit)
    try:
        _lock(raw)
        _write_json(folder, INFO, recording.info)
        _core.start_events(raw, most, threading._active)  # type: ignore[attr-defined]
    except BaseException:
        os.close(raw)
        recording.remove()
        raise
    atexit.register(recording.stop)
    return recording


def _bound(max_events: int | None, max_bytes: int | None) -> tuple[int, str]:
    """The most events, and what to say when they are reached."""
    bounds = {}
    for name, value, unit in (
        ("max_events", max_events, 1),
        ("max_bytes", max_bytes, RECORD_BYTES),
    ):
        if value is not None:
            if value < unit:
                raise ValueError(f"{name} must be at least {unit}, found {value}")
            bounds[value // unit] = f"{name}={value} was reached"
    most = min(bounds, default=UNBOUNDED)
    return most, bounds.get(most, "")


def _lock(raw: int) -> None:
    """Tells readers in other processes that this one is still writing; a dead one holds no lock."""
    import fcntl

    # Of the process, and not of the open file: a child of fork that lives on does not hold it.
    with suppress(OSError):  # a file system without locks
        fcntl.lockf(raw, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _info() -> dict[str, Any]:
    import platform

    return {
        "format": FORMAT,
        "source": "scopes",
        "stopped": False,
        "pid": os.getpid(),
        "command": sys.orig_argv,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "clock": "CLOCK_MONOTONIC",
        "fork": "a child of fork is not recorded",
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def _overhead(found: dict[str, Any]) -> dict[str, Any]:
    per_event = found["event_ns"] + found["listening_ns"] / found["records"]
    return {
        "ns_per_operation": round(per_event, 1),
        "how": "making a record, timed before the recording; writing it, timed during it",
    }


def _describe(token: int, thread: threading.Thread | None) -> dict[str, Any]:
    return {
        "id": token,
        "name": thread.name if thread is not None else "",
        "main": thread is threading.main_thread(),
    }


def _write_json(folder: str, name: str, value: Any) -> None:
    import json

    path = os.path.join(folder, name)
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
    os.replace(path + ".part", path)
