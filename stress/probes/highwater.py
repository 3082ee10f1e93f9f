"""High-water marks of which the process has only one, shared by windows that may nest."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock


@dataclass(eq=False)
class Mark:
    """The highest level seen since one window was opened."""

    peak: int = 0


class HighWater:
    """Gives every window its own peak of a counter that a reset lowers for all of them.

    read: the highest level since the last reset. reset: the same, and lowers the mark to the
    present level. What a reset takes away is folded into every open window, and into the peak of
    the process, before it is lost. Threads may use one object at the same time.
    """

    def __init__(self, read: Callable[[], int], reset: Callable[[], int]) -> None:
        self._read = read
        self._reset = reset
        self._lock = Lock()
        self._open: list[Mark] = []
        self._overall = 0

    def open(self) -> Mark:
        """Begin a window at the present level."""
        with self._lock:
            self._fold(self._reset())
            mark = Mark()
            self._open.append(mark)
            return mark

    def close(self, mark: Mark) -> int:
        """End a window; the highest level while it was open."""
        with self._lock:
            try:
                self._fold(self._read())
            finally:
                self._open.remove(mark)
            return mark.peak

    def overall(self) -> int:
        """The highest level ever, whatever was reset meanwhile."""
        with self._lock:
            self._fold(self._read())
            return self._overall

    def _fold(self, level: int) -> None:
        self._overall = max(self._overall, level)
        for mark in self._open:
            mark.peak = max(mark.peak, level)
