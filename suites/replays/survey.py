"""What the memory looks like when the most is live: an untimed replay in a process of its own.

The heap of a process that has read a recording, or replayed one, is not the one that a program
would find, and bytes that nobody has written are not resident; so a new process replays, once, and
writes to all bytes.
"""

import json
import mmap
import os
import resource
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stress.base import StressError
from stress.replay import Plan
from suites.cells import Cell
from suites.recordings.format import TIMED, UNTIMED
from suites.recordings.loader import load
from suites.recordings.recording import Recording
from suites.replays.options import ReplayOptions, ScopeBy
from suites.replays.players import player
from suites.replays.source import check_end, plan_of, planned
from suites.replays.targets import BY_NAME
from suites.watchers import WATCHERS

PAGE_BYTES = resource.getpagesize()
STATM_RESIDENT, STATM_DATA = 1, 5

LEAST_BYTES = 1 << 20
"""Live at the peak: below, the pages that the process itself needs are as many."""


class SurveyError(StressError):
    """The process did not tell; the text says how it ended."""


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


def survey(cell: Cell, recording: Recording, peak_at: int) -> Survey:
    """Look at the memory when the most is live, after so many operations. SurveyError where the
    process that does ends early."""
    options = {name: str(getattr(cell.replay, name)) for name in ("replay_threads", "scope_by")}
    told: dict[str, Any] = {
        "row": cell.row.name,
        "under": cell.under,
        "peak_at": peak_at,
        "window": cell.replay.window,
        **options,
    }
    if recording.path.is_dir():
        return _ask(told | {"path": str(recording.path)})
    file = os.memfd_create("recording")
    try:
        with os.fdopen(os.dup(file), "wb") as stream:
            stream.write(np.ascontiguousarray(recording.operations).data)
        shape = {
            "objects": recording.objects,
            "scopes": recording.scopes,
            "end": recording.info["end"],
        }
        threads, timed = len(recording.threads), recording.timed
        return _ask(told | {"file": file, "timed": timed, "threads": threads, "info": shape}, file)
    finally:
        os.close(file)


def _ask(told: dict[str, Any], *files: int) -> Survey:
    command = [sys.executable, "-m", "suites.replays.survey"]
    done = subprocess.run(
        command, input=json.dumps(told), capture_output=True, text=True, pass_fds=files, check=False
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"it ended with status {done.returncode}"]
        raise SurveyError(f"the replay that looks at the memory failed: {last[0]}")
    return Survey(**json.loads(done.stdout))


# ---- in that process -----------------------------------------------------------------------------


def _recording(told: dict[str, Any]) -> Recording:
    """As it lies in a file, so that the heap never held it."""
    if "path" in told:
        return load(told["path"])
    bytes_ = mmap.mmap(told["file"], 0, prot=mmap.PROT_READ)
    operations = np.frombuffer(bytes_, TIMED if told["timed"] else UNTIMED)
    threads: tuple[dict[str, Any], ...] = ({},) * told["threads"]
    return Recording(Path("packed"), operations, threads, told["info"])


def _look(told: dict[str, Any]) -> Survey:
    recording, target = _recording(told), BY_NAME[told["row"]].replays
    assert target
    options = ReplayOptions(
        replay_threads=told["replay_threads"],
        scope_by=ScopeBy(told["scope_by"]),
        window=told["window"],
    )
    plan = plan_of(recording, options, target)
    if target.engine is None:
        peak_of(recording, plan)  # what the Python types are told of the whole
    with WATCHERS[told["under"]].watching():
        replayed = player(target, plan, touch="all")
        mapped = resident = 0
        for done in planned(plan, recording, cut_at=told["peak_at"]):
            before = memory()
            replayed.run(plan)
            after = memory()
            mapped += after[0] - before[0]
            resident += after[1] - before[1]
            if done == told["peak_at"]:
                break
        found = Survey(plan.totals.live_bytes, mapped, resident)
        with suppress(StressError):
            replayed.close()
    return found


if __name__ == "__main__":
    print(json.dumps(asdict(_look(json.load(sys.stdin)))))
