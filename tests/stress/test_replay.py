"""Plans: which step waits for which; and the engine that executes them."""

import numpy as np
import pytest

pytest.importorskip("stress._native")

from stress._native import ffi
from stress.base import StressError
from stress.replay import Engine, Plan, PlanError, Scoping, Target
from suites.recordings.format import NONE, TIMED, UNTIMED, Allocator, Operation

STEP = np.dtype(
    [
        ("size", "<u8"),
        ("object", "<u4"),
        ("scope", "<u4"),
        ("code", "u1"),
        ("align", "u1"),
        ("kind", "u1"),
        ("awaited", "u1"),
        ("operation", "<u4"),
    ]
)
ALLOCATE, REALLOCATE, FREE, OPEN, CLOSE, DROP = 1, 2, 3, 4, 8, 9
WAIT, THINK = 11, 12


def operations(*fields, timed=False):
    """Operations of (operation, object, thread, size, scope), the last ones 0, 8 and none."""
    made = np.zeros(len(fields), TIMED if timed else UNTIMED)
    for number, (row, given) in enumerate(zip(made, fields, strict=True)):
        operation, slot, *rest = given
        thread, size, scope = (*rest, *(0, 8, NONE)[len(rest) :])
        row["sequence"], row["operation"], row["object"] = number, operation, slot
        row["thread"], row["size"], row["scope"] = thread, size, scope
        if timed:
            row["time_ns"] = 1_000 + 50 * number
    return made


def steps(plan, thread=0):
    return np.frombuffer(plan.steps(thread), STEP)


def random_program(threads, length, seed):
    """Objects made, grown and freed by any thread, and scopes used by several."""
    random = np.random.default_rng(seed)
    live, fields = set(), []
    while len(fields) < length:
        slot, thread = int(random.integers(20)), int(random.integers(threads))
        if slot not in live:
            live.add(slot)
            fields.append((Operation.ALLOCATE, slot, thread))
        elif random.random() < 0.3:
            fields.append((Operation.REALLOCATE, slot, thread, int(random.integers(0, 3000))))
        else:
            live.remove(slot)
            fields.append((Operation.FREE, slot, thread))
    return operations(*fields)


def test_a_step_is_what_the_header_says():
    assert STEP.itemsize == ffi.sizeof("replay_step")


@pytest.mark.parametrize("seed", range(5))
def test_an_operation_comes_after_the_one_before_it_on_the_same_object(seed):
    block = random_program(threads=4, length=400, seed=seed)
    plan = Plan(20, 0, 4, timed=False)
    plan.block(block)
    # Vector clocks: for each thread how many steps of every thread are certain to be done.
    lists = [steps(plan, thread) for thread in range(4)]
    clocks, ahead, done_at = [np.zeros(4, int) for _ in lists], [0] * 4, {}
    after = {}  # (thread, steps) -> clock
    while any(ahead[t] < len(lists[t]) for t in range(4)):
        moved = False
        for t in range(4):
            if ahead[t] == len(lists[t]):
                continue
            step = lists[t][ahead[t]]
            if step["code"] == WAIT:
                other, count = int(step["object"]), int(step["size"])
                if ahead[other] < count:
                    continue
                assert lists[other][count - 1]["awaited"]
                clocks[t] = np.maximum(clocks[t], after[other, count])
            else:
                done_at[int(step["operation"])] = t, ahead[t] + 1, clocks[t].copy()
            ahead[t] += 1
            clocks[t][t] = ahead[t]
            after[t, ahead[t]] = clocks[t].copy()
            moved = True
        assert moved, "threads wait for each other"
    last = {}
    for number, row in enumerate(block):
        if row["object"] in last:
            thread, count, _ = done_at[last[row["object"]]]
            mine, _, clock = done_at[number]
            assert mine == thread or clock[thread] >= count
        last[row["object"]] = number
    plan.close()


def test_nothing_waits_where_one_thread_does_all():
    plan = Plan(20, 0, 4, timed=False, merged=True)
    block = random_program(threads=4, length=200, seed=9)
    plan.block(block)
    found = steps(plan)
    assert plan.threads == 1
    assert found["operation"].tolist() == list(range(200))
    assert not found["awaited"].any()


def test_a_thread_waits_once_for_what_another_did():
    plan = Plan(2, 0, 2, timed=False)
    plan.block(
        operations(
            (Operation.ALLOCATE, 0, 0),
            (Operation.ALLOCATE, 1, 0),
            (Operation.FREE, 1, 1),
            (Operation.FREE, 0, 1),
        )
    )
    assert steps(plan, 0)["awaited"].tolist() == [0, 1]
    assert steps(plan, 1)["code"].tolist() == [WAIT, FREE, FREE]


def test_an_operation_waits_for_the_previous_one_in_its_scope():
    plan = Plan(1, 1, 2, timed=False, scoping=Scoping.RECORDED)
    plan.block(
        operations(
            (Operation.OPEN, NONE, 0, 0, 0),
            (Operation.ALLOCATE, 0, 1, 8, 0),
            (Operation.CLOSE, NONE, 0, 8, 0),
            (Operation.DROP, 0, 0, 8, 0),
        )
    )
    assert steps(plan, 0)["code"].tolist() == [OPEN, WAIT, CLOSE, DROP]
    assert steps(plan, 1)["code"].tolist() == [WAIT, ALLOCATE]


def test_what_an_earlier_block_did_is_done():
    plan = Plan(1, 0, 2, timed=False)
    plan.block(operations((Operation.ALLOCATE, 0, 0)))
    plan.block(operations((Operation.FREE, 0, 1)))
    assert steps(plan, 0).size == 0
    assert steps(plan, 1)["code"].tolist() == [FREE]


def test_recorded_times_become_waits_from_the_first_operation_on():
    plan = Plan(1, 0, 1, timed=True, think=True)
    plan.block(operations((Operation.ALLOCATE, 0), (Operation.FREE, 0), timed=True))
    found = steps(plan)
    assert found["code"].tolist() == [THINK, ALLOCATE, THINK, FREE]
    assert found["size"][found["code"] == THINK].tolist() == [0, 50]


SCOPED = (
    (Operation.OPEN, NONE, 0, 0, 0),
    (Operation.ALLOCATE, 0, 0, 8, 0),
    (Operation.ALLOCATE, 1, 0, 8, 0),
    (Operation.DROP, 1, 0, 8, 0),
    (Operation.CLOSE, NONE, 0, 16, 0),
    (Operation.DROP, 0, 0, 8, 0),
    (Operation.DROP_SCOPE, NONE, 0, 0, 0),
)


def test_without_scopes_an_object_is_freed_with_its_last_reference_or_its_scope():
    plan = Plan(2, 1, 1, timed=False)
    plan.block(operations(*SCOPED))
    found = steps(plan)
    assert found[["code", "object"]].tolist() == [
        (ALLOCATE, 0),
        (ALLOCATE, 1),
        (FREE, 1),
        (FREE, 0),
    ]


def test_windows_close_with_the_last_of_their_objects():
    plan = Plan(3, 0, 1, timed=False, scoping=Scoping.WINDOW, window=2)
    made = [(Operation.ALLOCATE, slot) for slot in range(3)]
    freed = [(Operation.FREE, slot) for slot in (1, 2, 0)]
    plan.block(operations(*made, *freed))
    found = steps(plan)
    assert found[["code", "scope"]].tolist() == [
        *((OPEN, 0), (ALLOCATE, 0), (ALLOCATE, 0)),
        *((OPEN, 1), (ALLOCATE, 1)),
        *((DROP, 0), (DROP, 1), (DROP, 0), (CLOSE, 0)),
    ]


def test_what_is_closed_while_something_is_exported_is_counted():
    plan = Plan(1, 1, 1, timed=False, scoping=Scoping.RECORDED)
    export = (Operation.EXPORT, 0, 0, 8, 0)
    plan.block(operations(SCOPED[0], SCOPED[1], export, (Operation.CLOSE, NONE, 0, 8, 0)))
    assert plan.totals.deferred == 1


def test_an_operation_that_cannot_be_is_named():
    plan = Plan(1, 0, 1, timed=False)
    block = operations((Operation.ALLOCATE, 0), (Operation.FREE, 0), (Operation.FREE, 0))
    expected = "^operation 2 is of an object that does not exist$"
    with pytest.raises(PlanError, match=expected) as told:
        plan.block(block)
    assert told.value.index == 2


def test_more_threads_than_there_can_be_are_refused_with_what_helps():
    with pytest.raises(StressError, match="merge them with --replay-threads merged"):
        Plan(1, 0, 5000, timed=False)
    Plan(1, 0, 5000, timed=False, merged=True).close()


def test_a_plan_of_more_threads_than_are_watched_waits_every_time():
    plan = Plan(1, 0, 1100, timed=False)
    plan.block(operations((Operation.ALLOCATE, 0, 0), (Operation.FREE, 0, 1099)))
    assert steps(plan, 1099)["code"].tolist() == [WAIT, FREE]


@pytest.mark.parametrize("target", Target)
def test_what_is_live_at_the_end_is_held(target):
    scoping = Scoping.WINDOW if target is Target.ARENA else Scoping.FLAT
    plan = Plan(20, 0, 3, timed=False, scoping=scoping)
    block = random_program(threads=3, length=500, seed=3)
    with Engine(target, plan, checked=True) as engine:
        plan.block(block)
        assert engine.run(plan) > 0
        assert (engine.holdings.objects, engine.holdings.bytes) == (
            plan.totals.live_objects,
            plan.totals.live_bytes,
        )
        assert engine.holdings.differing == 0
        engine.release()
        assert engine.holdings.objects == 0


@pytest.mark.parametrize("target", [Target.HEAP, Target.MMAP, Target.ARENA])
def test_a_reallocation_to_nothing_leaves_an_object_that_can_be_freed(target):
    scoping = Scoping.NONE if target is Target.ARENA else Scoping.FLAT
    plan = Plan(1, 0, 1, timed=False, scoping=scoping)
    plan.block(
        operations(
            (Operation.ALLOCATE, 0, 0, 0),
            (Operation.REALLOCATE, 0, 0, 0),
            (Operation.REALLOCATE, 0, 0, 5000),
            (Operation.REALLOCATE, 0, 0, 0),
            (Operation.FREE, 0),
        )
    )
    with Engine(target, plan, checked=True) as engine:
        engine.run(plan)
        assert engine.holdings.objects == engine.holdings.differing == 0


def test_python_allocates_with_the_gil_held():
    plan = Plan(20, 0, 3, timed=False, merged=True)
    plan.block(random_program(threads=3, length=500, seed=4))
    with Engine(Target.HEAP, plan, python_heap=True, checked=True) as engine:
        engine.run(plan)
        assert engine.holdings.objects == plan.totals.live_objects
        assert engine.holdings.differing == 0


def test_python_allocates_in_one_thread_only():
    plan = Plan(1, 0, 2, timed=False)
    with pytest.raises(ValueError, match="for 1 list of steps, found 2"):
        Engine(Target.HEAP, plan, python_heap=True)


def test_each_operation_is_a_sample():
    plan = Plan(20, 0, 3, timed=False)
    plan.block(random_program(threads=3, length=500, seed=5))
    with Engine(Target.HEAP, plan, sampled=True) as engine:
        engine.run(plan)
        taken = engine.take()
        assert sum(count for _, count in taken) == 500
        assert all(seconds >= 0 for seconds, _ in taken)
        assert engine.take() == []


def test_memory_that_ends_is_told_with_the_step():
    plan = Plan(1, 0, 1, timed=False)
    plan.block(operations((Operation.ALLOCATE, 0, 0, 1 << 62)))
    with (
        Engine(Target.HEAP, plan) as engine,
        pytest.raises(StressError, match=f"failed at {1 << 62} bytes for object 0"),
    ):
        engine.run(plan)


def test_kinds_of_allocation_are_kept():
    block = operations((Operation.ALLOCATE, 0, 0, 64), (Operation.FREE, 0))
    block["kind"], block["align"] = Allocator.ALIGNED, 12
    plan = Plan(1, 0, 1, timed=False)
    plan.block(block)
    assert steps(plan)[0][["kind", "align"]].tolist() == (Allocator.ALIGNED, 12)
    with Engine(Target.HEAP, plan) as engine:
        engine.run(plan)
