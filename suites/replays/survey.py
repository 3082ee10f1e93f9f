"""What the memory looks like when the most is live: an untimed replay in a child process.

The heap of a process that has replayed before is not the one that a program would find, and bytes
that nobody has written are not resident; so a child replays, once, and writes to all bytes.
"""

import ctypes
import json
import os
import resource
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass

from stress.base import StressError
from stress.replay import Plan
from suites.recordings.loader import Recording
from suites.replays.players import Player
from suites.replays.source import check_end, planned

PAGE_BYTES = resource.getpagesize()
STATM_RESIDENT, STATM_DATA = 1, 5

LEAST_BYTES = 1 << 20
"""Live at the peak: below, the pages that the process itself needs are as many."""


class SurveyError(StressError):
    """The child did not tell; the text says how it ended."""


@dataclass(frozen=True)
class Survey:
    """When the most was live: bytes live, and by what the replay's runs had changed the process,
    the bytes mapped writable and those resident."""

    live: int
    mapped: int
    resident: int

    @property
    def overhead(self) -> float | None:
        """Mapped beyond what was live, as a share of that; None where that is too little."""
        return self.mapped / self.live - 1 if self.live >= LEAST_BYTES else None

    @property
    def fragmentation(self) -> float | None:
        """The share of what was resident that was not live."""
        if self.live < LEAST_BYTES or not self.resident:
            return None
        return max(1 - self.live / self.resident, 0.0)


def memory() -> tuple[int, int]:
    """Bytes of this process: mapped private and writable, and resident."""
    with open("/proc/self/statm") as file:
        fields = file.read().split()
    return int(fields[STATM_DATA]) * PAGE_BYTES, int(fields[STATM_RESIDENT]) * PAGE_BYTES


def peak_of(recording: Recording, plan: Plan) -> int:
    """The number of operations after which the most is live for the first time.

    RecordingError where an operation can't be replayed, or the end is not what was recorded.
    """
    for _ in planned(plan, recording):
        pass
    check_end(plan, recording)
    return plan.totals.peak_at


def survey(recording: Recording, plan: Plan, peak_at: int, make: Callable[[], Player]) -> Survey:
    """Look at the memory when the most is live, after `peak_at` operations.

    make: called in the child, for a player that writes to all bytes. SurveyError where the child
    ends early.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _report(writer, lambda: _look(recording, plan, peak_at, make))
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        text = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    told = json.loads(text) if text else {"error": f"it ended with status {status}"}
    if "error" in told:
        raise SurveyError(f"the replay that looks at the memory failed: {told['error']}")
    return Survey(**told)


def _report(writer: int, look: Callable[[], Survey]) -> None:
    """In the child: tell, and end it."""
    try:
        told = asdict(look())
    except BaseException as error:
        told = {"error": str(error) or type(error).__name__}
    with suppress(BaseException), os.fdopen(writer, "w") as file:
        json.dump(told, file)
    os._exit(0)


def _look(recording: Recording, plan: Plan, peak_at: int, make: Callable[[], Player]) -> Survey:
    player = make()
    # What the process has freed and not given back would be used first, and not be seen.
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    mapped = resident = 0
    for done in planned(plan, recording, cut_at=peak_at):
        before = memory()
        player.run(plan)
        after = memory()
        mapped += after[0] - before[0]
        resident += after[1] - before[1]
        if done == peak_at:
            break
    return Survey(plan.totals.live_bytes, mapped, resident)
