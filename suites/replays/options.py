"""What can be varied in a replay."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suites.recordings.loader import Recording


_NAME = re.compile(r"[^\s\[\],=:]+")


class ScopeBy(StrEnum):
    """Which scopes the arena's memory is in."""

    RECORDED = "recorded"
    THREAD = "thread"
    WINDOW = "window"
    NONE = "none"


THREADS = ("recorded", "merged")
THINK = ("none", "recorded")


@dataclass(frozen=True, order=True)
class Source:
    """A recording by its place; in tables by the name of that."""

    path: Path

    @classmethod
    def parse(cls, text: str) -> "Source":
        """ValueError for a name that can't stand in that of a benchmark."""
        source = cls(Path(text))
        if not _NAME.fullmatch(str(source)):
            raise ValueError(
                f"expected a recording whose name has no space and none of [ ] , = : in it, as that"
                f" is a part of the benchmark's name; found {text!r}"
            )
        return source

    @property
    def recording(self) -> "Recording":
        """Loaded once; RecordingError where it can't be."""
        return _loaded(self.path)

    def __str__(self) -> str:
        return self.path.name.removesuffix(".tar.xz")


@dataclass(frozen=True)
class ReplayOptions:
    """How a recording is replayed."""

    recording: Source | None = None
    replay_threads: str = "recorded"
    """One of `THREADS`: a thread for each recorded one, or one for all."""
    think: str = "none"
    """One of `THINK`: whether an operation waits for the time it was recorded at."""
    scope_by: ScopeBy = ScopeBy.RECORDED
    """RECORDED is WINDOW where the recording has no scopes."""
    window: int = 1024
    """Allocations to a scope, for WINDOW."""

    def facts(self) -> dict[str, object]:
        """What a reader of the figures should know of the recording; nothing without one."""
        if self.recording is None:
            return {}
        recording = self.recording.recording
        return {
            "recording": str(self.recording),
            "recording_operations": len(recording.operations),
            "recording_threads": len(recording.threads),
            "recording_source": recording.info["source"],
            "recording_truncated": recording.info["truncated"] or "no",
            "recording_left_out": sum(
                sum(recording.info[key].values()) for key in ("preexisting", "invalid")
            ),
        }


@cache
def _loaded(path: Path) -> "Recording":
    # Imported here: other suites have these options, too, and need no NumPy.
    from suites.recordings.loader import load

    return load(path)
