"""Resident memory over time in the metadata of a run: one line of JSON, a recording for each value.

    {"interval": 0.001, "recordings": [
        {"taken": 148, "cpu": 0.00041, "points": [[0.0, 24981504], [0.001, 25112576], ...]}, ...]}

interval: seconds between two points as they were taken; taken: how many were; cpu: seconds of CPU
time that took; points: seconds and bytes, thinned out so that the lowest and highest stay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from results import schema
from results.errors import ResultsError

TIMELINE_KEY = "scopestress_timeline"
MOST_POINTS = 500
"""Of a run: a chart is not wider than that."""
LEAST_POINTS = 16
"""Of a value, however many a run has."""


@dataclass(frozen=True)
class Recording:
    """Points of one value as (seconds, bytes) in rising time; `cpu` in seconds."""

    points: tuple[tuple[float, int], ...]
    taken: int
    cpu: float

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.points[-1][0]


@dataclass(frozen=True)
class Timeline:
    """The recordings of the values of one process; `interval` in seconds."""

    interval: float
    recordings: tuple[Recording, ...]


def entry(
    interval: float, recordings: Sequence[tuple[Sequence[tuple[float, int]], int, float]]
) -> dict[str, Any]:
    """What is stored: of each recording its points, how many were taken, and their CPU time."""
    return {
        "interval": interval,
        "recordings": [
            {"taken": taken, "cpu": cpu, "points": [[round(time, 6), rss] for time, rss in points]}
            for points, taken, cpu in recordings
        ],
    }


def cost(timelines: Sequence[Timeline]) -> float | None:
    """The CPU time that recording took, as a share of one core; None without recordings."""
    recordings = [one for timeline in timelines for one in timeline.recordings]
    duration = sum(one.duration for one in recordings)
    return sum(one.cpu for one in recordings) / duration if duration else None


def of_runs(runs: Sequence[tuple[Mapping[str, Any], str]]) -> tuple[Timeline, ...]:
    """The timelines of those runs that have one, from their metadata and places."""
    found = [_of_run(metadata, place) for metadata, place in runs]
    return tuple(timeline for timeline in found if timeline is not None)


def _of_run(metadata: Mapping[str, Any], place: str) -> Timeline | None:
    text = schema.own_text(metadata, TIMELINE_KEY, place)
    if text is None:
        return None
    place = f"{place}, {TIMELINE_KEY}"
    found = _object(schema.parse_json(text, place), place)
    recordings = found.get("recordings")
    if not isinstance(recordings, list) or not recordings:
        raise ResultsError(f"{place}: expected a list of recordings, found {recordings!r:.40}")
    return Timeline(
        _number(found, "interval", place), tuple(_recording(one, place) for one in recordings)
    )


def _recording(value: Any, place: str) -> Recording:
    found = _object(value, place)
    points = found.get("points")
    if not isinstance(points, list) or not points or not all(map(_is_point, points)):
        raise ResultsError(f"{place}: expected points of seconds and bytes, found {points!r:.40}")
    if any(later[0] < earlier[0] for earlier, later in pairwise(points)):
        raise ResultsError(f"{place}: expected points in rising time, found others")
    return Recording(
        tuple((float(time), int(rss)) for time, rss in points),
        int(_number(found, "taken", place)),
        _number(found, "cpu", place),
    )


def _is_point(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(schema.is_number(number) and number >= 0 for number in value)
    )


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ResultsError(f"{place}: expected an object, found {type(value).__name__}")
    return value


def _number(found: Mapping[str, Any], key: str, place: str) -> float:
    number = found.get(key)
    if not schema.is_number(number) or number < 0:  # type: ignore[operator]
        raise ResultsError(f"{place}: expected a number from 0 on as {key!r}, found {number!r:.40}")
    return float(number)  # type: ignore[arg-type]
