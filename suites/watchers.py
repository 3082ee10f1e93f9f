"""What watches a worker's memory while it is measured: the price of a tracker is the difference.

A watcher is on for the whole life of the worker, around everything that is measured.
"""

import os
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from stress.probes.alloc import counting

NONE = "none"


@dataclass(frozen=True)
class Watcher:
    """Something that watches, as a context manager, and whether it sees scopes alone."""

    watching: Callable[[], AbstractContextManager[object]]
    summary: str
    of_scopes: bool = False


@contextmanager
def _tracemalloc() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


@contextmanager
def _events(path: str | None) -> Iterator[None]:
    """The scopes' events, made and dropped, or written to a file."""
    import threading

    from scopes import _core

    file = None if path is None else os.open(path, os.O_WRONLY)
    try:
        _core.start_events(file, 2**63 - 1, threading._active)  # type: ignore[attr-defined]
        try:
            yield
        finally:
            _core.stop_events()
    finally:
        if file is not None:
            os.close(file)


@contextmanager
def _debug() -> Iterator[None]:
    import scopes

    scopes.debug(True)
    try:
        yield
    finally:
        scopes.debug(False)


WATCHERS = {
    NONE: Watcher(nullcontext, "nothing"),
    "tracemalloc": Watcher(_tracemalloc, "tracemalloc, one frame"),
    "alloc-probe": Watcher(counting, "the counters of --probe alloc"),
    "events": Watcher(lambda: _events(None), "the events of scopes, to a ring", of_scopes=True),
    "listener": Watcher(
        lambda: _events(os.devnull), "the events of scopes, written to /dev/null", of_scopes=True
    ),
    "debug": Watcher(_debug, "scopes.debug()", of_scopes=True),
}
"""By name, as --under takes it."""
