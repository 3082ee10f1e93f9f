"""Steps through the Python types of scopes, made by plans of hand-written operations."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

pytest.importorskip("stress._native")

import scopes
from stress._probe import ScopeReplay
from stress.replay import Plan, Scoping
from suites.recordings.format import NONE, Operation
from tests.stress.test_replay import SCOPED, STEP, operations

CLOSED = tuple((kind, True) for kind in 2 * (scopes.ConfinedScope, scopes.SharedScope))
OF_KINDS = tuple(
    (kind, True)
    for kind in (scopes.SharedScope, scopes.ConfinedScope, scopes.SharedScope, scopes.SharedScope)
)
IMPLICIT = 4 * ((scopes.ImplicitScope, False),)
EXPORT, UNEXPORT = (Operation.EXPORT, 0, 0, 8, 0), (Operation.UNEXPORT, 0, 0, 8, 0)
OPEN, MADE, CLOSE = SCOPED[0], SCOPED[1], (Operation.CLOSE, NONE, 0, 8, 0)
DROP, DROP_SCOPE = (Operation.DROP, 0, 0, 8, 0), (Operation.DROP_SCOPE, NONE, 0, 0, 0)


class Holder:
    __slots__ = ("__weakref__", "myself", "scope")


def plan_of(*fields):
    plan = Plan(2, 1, 1, timed=False, merged=True, scoping=Scoping.RECORDED)
    plan.block(operations(*fields))
    return plan


def run(*fields, opens=CLOSED, **options):
    """The replay after these operations."""
    replay = ScopeReplay(opens, 2, 1, **options)
    assert replay.run(plan_of(*fields).steps()) > 0
    return replay


@pytest.fixture
def unraisable(monkeypatch):
    """The types of exceptions that nobody could catch."""
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: seen.append(told.exc_type))
    return seen


@pytest.fixture
def live_bytes():
    gc.collect()
    before = scopes.statistics().live_bytes
    return lambda: scopes.statistics().live_bytes - before


@pytest.mark.parametrize("opens", [CLOSED, IMPLICIT], ids=["closed", "implicit"])
def test_a_whole_life_leaves_nothing(opens, live_bytes):
    replay = run(*SCOPED, opens=opens)
    assert replay.open_scopes() == []
    assert live_bytes() == 0


def test_open_scopes_have_what_was_allocated_in_them(live_bytes):
    replay = run(OPEN, MADE, (Operation.ALLOCATE, 1, 0, 100, 0), (Operation.DROP, 1, 0, 100, 0))
    ((scope, allocated),) = replay.open_scopes()
    assert (scope.kind, allocated, scope.statistics().live_bytes) == ("confined", 2, 108)
    del scope
    replay.release()
    assert replay.open_scopes() == []
    assert live_bytes() == 0


def test_scopes_of_the_recorded_kind_are_opened():
    block = operations(OPEN, MADE)
    block["kind"][0] = 3
    plan = Plan(2, 1, 1, timed=False, merged=True, scoping=Scoping.RECORDED)
    plan.block(block)
    replay = ScopeReplay((*CLOSED[:3], IMPLICIT[0]), 2, 1)
    replay.run(plan.steps())
    assert [scope.kind for scope, _ in replay.open_scopes()] == ["implicit"]


def test_an_export_holds_a_scope_open_until_it_is_given_back():
    replay = ScopeReplay(CLOSED, 2, 1)
    with pytest.raises(scopes.ScopeInUseError) as told:
        replay.run(plan_of(OPEN, MADE, EXPORT, CLOSE).steps())
    assert "in the replay, at step 3" in told.value.__notes__[0]
    replay.release()
    run(OPEN, MADE, EXPORT, UNEXPORT, CLOSE, DROP, DROP_SCOPE)


def test_a_recorded_close_before_the_last_export_is_one_that_is_deferred(live_bytes):
    replay = run(OPEN, MADE, EXPORT, CLOSE, UNEXPORT, DROP, DROP_SCOPE, defer=True)
    replay.release()
    assert live_bytes() == 0


def opened_by_another_thread():
    """The replay of a confined scope, and a shared one after it, that another thread opened."""
    block = operations(OPEN, (Operation.OPEN, NONE, 0, 0, 1))
    block["kind"] = [1, 2]
    plan = Plan(1, 2, 1, timed=False, merged=True, scoping=Scoping.RECORDED)
    plan.block(block)
    replay = ScopeReplay(OF_KINDS, 1, 2)
    other = threading.Thread(target=replay.run, args=(plan.steps(),))
    other.start()
    other.join()
    return replay


def test_a_scope_that_can_t_be_closed_here_is_told_and_the_others_are_closed(unraisable):
    replay = opened_by_another_thread()
    (_, (shared, _)) = replay.open_scopes()
    with pytest.raises(scopes.WrongThreadError):
        replay.release()
    assert shared.closed
    assert replay.open_scopes() == []
    assert unraisable == [ResourceWarning]  # the confined scope was dropped while it was open


def test_a_replay_that_ends_with_an_exception_leaves_that_one(unraisable):
    def fail():
        replay = opened_by_another_thread()
        raise KeyError(len(replay.open_scopes()))

    with pytest.raises(KeyError, match="2") as told:
        fail()
    told.value.__traceback__ = None
    del told
    gc.collect()
    assert scopes.WrongThreadError in unraisable


def test_an_implicit_scope_in_a_cycle_is_left_to_the_collector(live_bytes):
    gc.disable()
    try:
        replay = run(*SCOPED, opens=IMPLICIT, holder=Holder)
        assert live_bytes() > 0
        del replay
        gc.collect()
        assert live_bytes() == 0
    finally:
        gc.enable()


def test_adopted_memory_is_let_go_with_its_scope(live_bytes):
    replay = run(OPEN, (Operation.ADOPT, 0, 0, 4096, 0), DROP, CLOSE, DROP_SCOPE, adopted=4096)
    replay.release()
    assert live_bytes() == 0


def test_more_adopted_memory_than_there_is_is_refused():
    replay = ScopeReplay(CLOSED, 2, 1, adopted=10)
    with pytest.raises(ValueError, match="at most 10 bytes, found 11"):
        replay.run(plan_of(OPEN, (Operation.ADOPT, 0, 0, 11, 0)).steps())


def test_what_is_written_is_read_again():
    class Scope:
        """Whose memory can be reached."""

        def allocate(self, nbytes):
            self.memory = bytearray(nbytes)
            return self.memory

        def close(self):
            pass

    replay = run(
        OPEN, (Operation.ALLOCATE, 1, 0, 9000, 0), opens=4 * ((Scope, True),), checked=True
    )
    assert replay.count_differing() == 0
    ((scope, _),) = replay.open_scopes()
    for place in (0, 8999):
        scope.memory[place] ^= 255
    assert replay.count_differing() == 2


@pytest.mark.parametrize("touch", [0, 1, 2])
def test_memory_is_touched_as_asked(touch):
    replay = run(OPEN, (Operation.ALLOCATE, 0, 0, 10_000, 0), EXPORT, touch=touch)
    ((scope, _),) = replay.open_scopes()
    assert scope.statistics().live_bytes == 10_000
    replay.release()


def test_single_steps_are_timed():
    replay = run(*SCOPED, clock="clock_gettime", hz=1e9)
    assert sum(count for _, count in replay.take()) == len(SCOPED)
    assert replay.take() == []


def test_a_limit_that_is_hit_is_told_with_the_step():
    opens = 4 * ((lambda: scopes.ConfinedScope(limit=10), True),)
    replay = ScopeReplay(opens, 2, 1)
    with pytest.raises(scopes.ScopeMemoryError) as told:
        replay.run(plan_of(OPEN, (Operation.ALLOCATE, 0, 0, 11, 0)).steps())
    assert "at step 1: code 1, object 0, scope 0, 11 bytes" in told.value.__notes__[0]


def test_the_same_steps_on_nothing_make_no_scope(live_bytes):
    replay = run(OPEN, MADE, EXPORT, opens=None)
    assert live_bytes() == 0
    replay.release()


@pytest.mark.parametrize(
    ("field", "value"), [("code", 99), ("code", 11), ("code", 3), ("object", 2), ("scope", 1)]
)
def test_steps_that_no_plan_makes_are_refused(field, value):
    steps = np.frombuffer(plan_of(OPEN, MADE).steps(), STEP).copy()
    steps[field][1] = value
    replay = ScopeReplay(CLOSED, 2, 1)
    with pytest.raises(ValueError, match="step 1 can't be executed"):
        replay.run(steps)


def test_a_part_of_a_step_is_refused():
    with pytest.raises(ValueError, match="expected steps of 24 bytes each, found 23 bytes"):
        ScopeReplay(CLOSED, 2, 1).run(bytes(23))


@pytest.mark.parametrize(
    "wrong",
    [{"touch": 3}, {"adopted": -1}, {"opens": ()}, {"opens": 4 * (1,)}, {"opens": 4 * ((1,),)}],
    ids=str,
)
def test_what_it_can_not_be_made_of_is_an_error(wrong):
    options = {"opens": CLOSED} | wrong
    with pytest.raises((TypeError, ValueError, SystemError)):
        ScopeReplay(options.pop("opens"), 2, 1, **options)


def test_a_replay_in_a_cycle_with_what_it_opens_is_collected():
    class Opener:
        def __call__(self):
            return scopes.SharedScope()

    opener = Opener()
    replay = ScopeReplay(4 * ((opener, True),), 2, 1)
    replay.run(plan_of(OPEN, MADE).steps())
    opener.replay = replay
    gone = weakref.ref(opener)
    del opener, replay
    gc.collect()
    assert gone() is None
