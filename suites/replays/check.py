"""--check: each byte is written and read again, and the end is compared with what was recorded."""

import os
import subprocess
from collections.abc import Iterable, Sequence

from stress.replay import Holdings, Scoping, Totals
from suites.allocators import Allocator
from suites.cells import Cell
from suites.readback import found_here
from suites.replays.players import player
from suites.replays.source import check_end, plan_of, planned
from suites.runner import SuiteRunner

CHECKED_HERE = "SCOPESTRESS_CHECKED_HERE"
"""Set in a process that was started for an allocator."""


def check(runner: SuiteRunner) -> int:
    """Replay each cell of the runner once; 1 if one does not hold what was recorded, else 0."""
    cells = [cell for cell in runner.cells if cell.row.replays and cell.row.replays.touches]
    if os.environ.get(CHECKED_HERE):
        return _check_all(cells, runner)
    status = 0
    for allocator in dict.fromkeys(cell.allocator for cell in cells):
        if allocator.mismatch(found_here()) is None:
            here = [cell for cell in cells if cell.allocator == allocator]
            status |= _check_all(here, runner)
        else:
            status |= _check_there(runner, allocator)
    return status


def _check_there(runner: SuiteRunner, allocator: Allocator) -> int:
    """In a process that has another allocator."""
    environ = {**os.environ, **allocator.environ(), CHECKED_HERE: allocator.name}
    command = [runner.args.python, "-m", "suites.replay", *runner.words]
    return subprocess.run(command, env=environ, check=False).returncode


def _check_all(cells: Iterable[Cell], runner: SuiteRunner) -> int:
    chosen = os.environ.get(CHECKED_HERE)
    wrong = 0
    for cell in cells:
        if chosen and cell.allocator.name != chosen:
            continue
        faults = faults_of(cell)
        wrong += bool(faults)
        print(f"{cell.name}: {'; '.join(faults) or 'holds what was recorded'}", flush=True)
    return 1 if wrong else 0


def faults_of(cell: Cell) -> list[str]:
    """What differs between a replay of the cell and its recording; empty where nothing does."""
    assert cell.row.replays
    assert cell.replay.recording
    recording = cell.replay.recording.recording
    plan = plan_of(recording, cell.replay, cell.row.replays)
    for _ in planned(plan, recording):
        pass
    check_end(plan, recording)
    replayed = player(cell.row.replays, plan, touch="none", checked=True)
    try:
        for _ in planned(plan, recording):
            replayed.run(plan)
        scoping = Scoping.RECORDED if plan.scoping is Scoping.RECORDED else Scoping.FLAT
        return list(_faults(plan.totals, replayed.holdings, scoping))
    finally:
        replayed.close()
        plan.close()


def _faults(totals: Totals, found: Holdings, scoping: Scoping) -> Iterable[str]:
    """With recorded scopes, what they say they have is compared; else what the table has."""
    if scoping is Scoping.RECORDED:
        held = found.scope_objects, found.scope_bytes
    else:
        held = found.objects, found.bytes
    expected = totals.held_objects, totals.held_bytes
    if held != expected:
        yield f"expected {_live(expected)} live at the end, found {_live(held)}"
    if found.differing:
        yield f"{found.differing} bytes were not what had been written"


def _live(held: Sequence[int]) -> str:
    return f"{held[0]} objects of {held[1]} bytes"
