"""Recordings, and plans of them."""

from collections.abc import Iterator

from stress.replay import Plan, PlanError, Scoping
from suites.recordings.format import Operations, RecordingError
from suites.recordings.loader import BLOCK, Recording
from suites.replays.options import ReplayOptions, ScopeBy
from suites.replays.targets import ReplayTarget

_SCOPING = {
    ScopeBy.RECORDED: Scoping.RECORDED,
    ScopeBy.THREAD: Scoping.THREAD,
    ScopeBy.WINDOW: Scoping.WINDOW,
    ScopeBy.NONE: Scoping.NONE,
}


def scoping_of(recording: Recording, options: ReplayOptions, target: ReplayTarget) -> Scoping:
    """Whose memory the objects are when they are replayed there."""
    if not target.scoped:
        return Scoping.FLAT
    if target.engine is None:
        return Scoping.RECORDED
    if options.scope_by is ScopeBy.RECORDED and not recording.scopes:
        return Scoping.WINDOW
    return _SCOPING[options.scope_by]


def plan_of(recording: Recording, options: ReplayOptions, target: ReplayTarget) -> Plan:
    """An empty plan; StressError without memory for it, or where stress._native is not built."""
    return Plan(
        recording.objects,
        recording.scopes,
        len(recording.threads),
        timed=recording.timed,
        merged=target.holds_gil or options.replay_threads == "merged",
        think=recording.timed and target.thinks and options.think == "recorded",
        scoping=scoping_of(recording, options, target),
        window=options.window,
    )


def planned(
    plan: Plan, recording: Recording, buffer: Operations | None = None, cut_at: int = 0
) -> Iterator[int]:
    """Plan the recording from its beginning, as many operations at a time as the buffer holds;
    after each block, the operations so far.

    cut_at: a block ends after so many operations, too. RecordingError for an operation that can't
    be.
    """
    plan.reset()
    done = 0
    for operations in recording.blocks(BLOCK, buffer):
        for part in _parts(operations, cut_at - done):
            try:
                plan.block(part)
            except PlanError as error:
                raise RecordingError(f"{recording.path}: {error}") from None
            done += len(part)
            yield done


def _parts(operations: Operations, cut_at: int) -> tuple[Operations, ...]:
    if 0 < cut_at < len(operations):
        return operations[:cut_at], operations[cut_at:]
    return (operations,)


def check_end(plan: Plan, recording: Recording) -> None:
    """RecordingError unless what is live after the last operation is what info.json says."""
    totals, said = plan.totals, recording.info["end"]
    found = {"live_objects": totals.live_objects, "live_bytes": totals.live_bytes}
    if found != said:
        raise RecordingError(
            f"{recording.path}: expected {_live(said)} live at the end, as info.json says, "
            f"found {_live(found)}"
        )


def _live(end: dict[str, int]) -> str:
    return f"{end['live_objects']} objects of {end['live_bytes']} bytes"
