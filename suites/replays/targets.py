"""What the operations of a recording are replayed against: the rows of the suite.

A row is measured only where it has a meaning for the recording: the Python types want recorded
scopes.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from stress.probes.gc import GCProbe
from stress.probes.native import NativeProbe
from stress.replay import Target
from suites.rows import Row

if TYPE_CHECKING:
    from suites.recordings.loader import Recording


@dataclass(frozen=True)
class ReplayTarget:
    """What a row replays against: an engine, or where that is None the Python types of `scopes`."""

    engine: Target | None = None
    python_heap: bool = False
    """Python's own allocator of objects."""
    kind: str = ""
    """Of the Python types: which scopes are opened, "recorded" for those that were."""
    budget: bool = False
    """Whether the byte budget of implicit scopes is on."""

    @property
    def holds_gil(self) -> bool:
        """Whether one thread does all: the GIL would let no two of them run."""
        return self.python_heap or self.engine is None

    @property
    def thinks(self) -> bool:
        """Whether it can wait for the time of an operation; not while it holds the GIL."""
        return not self.python_heap

    @property
    def scoped(self) -> bool:
        """Whether it knows scopes."""
        return self.engine in (None, Target.ARENA)

    @property
    def nothing(self) -> "ReplayTarget":
        """The same replay against an allocator, or types, that do nothing."""
        if self.engine is None:
            return ReplayTarget(kind="nothing")
        return ReplayTarget(Target.NULL)

    def fits(self, recording: "Recording") -> bool:
        """Whether it can replay that: Python's scopes want recorded ones."""
        return self.engine is not None or recording.scopes > 0

    @property
    def touches(self) -> bool:
        """Whether there is memory to write to."""
        return self.engine is not Target.NULL


_BODY = "replay(operations)  # in C, the clock runs in there"


def _row(name: str, summary: str, target: ReplayTarget) -> Row:
    probes = () if target.engine is not None else (GCProbe, NativeProbe)
    return Row(name, summary, body=_BODY, sized=False, replays=target, probes=probes)


NOTHING = _row(
    "baseline",
    "an allocator that does nothing: the cost of the replay itself",
    ReplayTarget(Target.NULL),
)
TARGETS = (
    _row("malloc", "malloc of the C library, or of --allocator", ReplayTarget(Target.HEAP)),
    _row("mmap", "a private map an object", ReplayTarget(Target.MMAP)),
    _row("arena", "the scopes' arena in C, without Python objects", ReplayTarget(Target.ARENA)),
    _row(
        "pymalloc",
        "Python's allocator of objects, one thread with the GIL",
        ReplayTarget(Target.HEAP, python_heap=True),
    ),
)
KINDS = (
    _row("recorded", "the Python types, scopes as recorded", ReplayTarget(kind="recorded")),
    _row("confined", "the Python types, all scopes confined", ReplayTarget(kind="confined")),
    _row("shared", "the Python types, all scopes shared", ReplayTarget(kind="shared")),
    _row(
        "implicit",
        "the Python types, all scopes implicit, in reference cycles",
        ReplayTarget(kind="implicit"),
    ),
    _row(
        "implicit+budget",
        "the same with the byte budget",
        ReplayTarget(kind="implicit", budget=True),
    ),
)
BY_NAME = {row.name: row for row in (NOTHING, *TARGETS, *KINDS)}
