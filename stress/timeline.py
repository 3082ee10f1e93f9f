"""Resident memory over time, by a native thread that never waits for the GIL (csrc/timeline.c).

timeline = Timeline()
timeline.record()
...  # what is watched
recording = timeline.pause()
decimated(recording.points, most=500)  # [(0.0, 24981504), (0.001, 25112576), ...]
timeline.close()
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stress.base import StressError
from stress.spinners import native_library

if TYPE_CHECKING:
    from stress._native import Timeline as NativeTimeline

INTERVAL_S = 1e-3
CAPACITY = 16_384
"""Points that are kept of a recording, 256 KiB; 16 s by `INTERVAL_S`, thinned out beyond."""

#: Seconds since the recording began, and resident bytes.
Point = tuple[float, int]


@dataclass(frozen=True)
class Recording:
    """Points in rising time, how many were taken, and the CPU time in seconds that took."""

    points: tuple[Point, ...]
    taken: int
    cpu_s: float


class Timeline:
    """The thread, asleep until `record()`. It belongs to no stress: its id is `thread_id`.

    StressError when it can't be started, or when stress._native is not built.
    """

    def __init__(self, interval_s: float = INTERVAL_S) -> None:
        ffi, self._lib = native_library("a timeline needs")
        self._native: NativeTimeline | None = None
        native = self._lib.timeline_start(round(interval_s * 1e9), CAPACITY)
        if native == ffi.NULL:
            raise StressError(f"a timeline can't be recorded: {os.strerror(ffi.errno)}")
        self._native = native
        self.interval_s = interval_s
        self.thread_id = self._lib.timeline_thread_id(native)

    def record(self) -> None:
        """Begin a recording; its first point is taken when this returns. RuntimeError when closed.

        Nothing changes while one goes on.
        """
        self._lib.timeline_record(self._open())

    def pause(self) -> Recording:
        """End the recording with a last point. RuntimeError when closed."""
        native = self._open()
        self._lib.timeline_pause(native)
        points = self._lib.timeline_points(native)
        count = self._lib.timeline_count(native)
        return Recording(
            tuple((points[i].time_ns / 1e9, points[i].bytes) for i in range(count)),
            self._lib.timeline_taken(native),
            self._lib.timeline_cpu_ns(native) / 1e9,
        )

    def close(self) -> None:
        """End the thread and wait until it is gone; once more does nothing."""
        if self._native is not None:
            native, self._native = self._native, None
            self._lib.timeline_stop(native)

    def _open(self) -> NativeTimeline:
        if self._native is None:
            raise RuntimeError("the timeline is closed: its thread is gone")
        return self._native


def decimated(points: Sequence[Point], most: int) -> list[Point]:
    """At most so many of the points (4 or more): the lowest and the highest of each of equal spans
    of time, and the last one, so that no peak and no dip is lost, and the end is what it was."""
    if most < 4:
        raise ValueError(f"expected 4 points or more to keep, found {most}")
    if len(points) <= most:
        return list(points)
    spans = (most - 1) // 2
    start, end = points[0][0], points[-1][0]
    width = (end - start) / spans or 1.0
    found: dict[int, list[Point]] = {}
    for point in points:
        found.setdefault(min(int((point[0] - start) / width), spans - 1), []).append(point)
    kept = {points[-1]}
    for span in found.values():
        kept.update((min(span, key=lambda p: p[1]), max(span, key=lambda p: p[1])))
    return sorted(kept)
