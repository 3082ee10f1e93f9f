"""Replays scopes through the Python types of `scopes`."""

import scopes
from stress._probe import ScopeReplay
from stress.replay import TOUCHES, Holdings, Plan
from stress.sampler import system_clock
from suites.recordings.format import ScopeKind
from suites.replays.targets import ReplayTarget

_CLOSED = {ScopeKind.CONFINED: scopes.ConfinedScope, ScopeKind.SHARED: scopes.SharedScope}
NOTHING = "nothing"
_BUDGET = scopes.statistics().implicit_budget
"""Of a process that has not changed it."""


class Holder:
    """What is in a reference cycle with an implicit scope, as objects of real programs are."""

    __slots__ = ("myself", "scope")


def _opens(kind: str) -> tuple[tuple[type, bool], ...] | None:
    """What opens a scope of each recorded kind, and whether that has to be closed."""
    if kind == NOTHING:
        return None
    found = []
    for recorded in ScopeKind:
        opened = recorded if kind == "recorded" else ScopeKind[kind.upper()]
        if opened is ScopeKind.UNKNOWN:  # opened before the recording began
            opened = ScopeKind.SHARED
        closes = opened is not ScopeKind.IMPLICIT
        found.append((_CLOSED[opened] if closes else scopes.ImplicitScope, closes))
    return tuple(found)


class ScopePlayer:
    """Executes plans with recorded scopes, in the calling thread.

    Explicit scopes have exports="defer" where a recorded one was closed while something was
    exported. The byte budget of the process is switched on or off, for good.
    """

    idents = ()

    def __init__(
        self, target: ReplayTarget, plan: Plan, *, touch: str, sampled: bool, checked: bool
    ) -> None:
        clock = system_clock()
        totals = plan.totals
        self._replay = ScopeReplay(
            _opens(target.kind),
            plan.objects,
            totals.scopes,
            holder=Holder,
            defer=totals.deferred > 0,
            adopted=totals.adopted,
            touch=TOUCHES[touch],
            checked=checked,
            clock=clock.name if sampled else None,
            hz=clock.hz,
        )
        if target.kind != NOTHING:
            scopes.set_implicit_budget(_BUDGET if target.budget else None)
        self.release = self._replay.release
        self.take = self._replay.take
        self.close = self._replay.release

    def run(self, plan: Plan) -> int:
        return self._replay.run(plan.steps())

    @property
    def holdings(self) -> Holdings:
        """What the open scopes say they have."""
        found = self._replay.open_scopes()
        live = sum(scope.statistics().live_bytes for scope, _ in found)
        segments = sum(allocated for _, allocated in found)
        differing = self._replay.count_differing()
        return Holdings(segments, live, differing, len(found), segments, live)
