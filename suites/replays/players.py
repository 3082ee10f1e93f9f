"""Players: what executes the steps of a plan, natively or through the Python types of `scopes`."""

from typing import Protocol

from stress.replay import Engine, Holdings, Plan
from suites.replays.targets import ReplayTarget


class Player(Protocol):
    """Executes the blocks of one plan, one after the other."""

    @property
    def idents(self) -> tuple[int, ...]:
        """Of its threads beside the calling one, as threading has them."""

    @property
    def holdings(self) -> Holdings:
        """What there is now."""

    def run(self, plan: Plan) -> int:
        """Execute the block the plan holds; ns."""

    def release(self) -> None:
        """Give back what the recording leaves, outside of the clock."""

    def take(self) -> list[tuple[float, int]]:
        """The single operations since the last call: pairs of seconds and how many took that."""

    def close(self) -> None:
        """Give everything back."""


def player(
    target: ReplayTarget, plan: Plan, *, touch: str, sampled: bool = False, checked: bool = False
) -> Player:
    """What replays plans like this one against a target."""
    if target.engine is not None:
        return Engine(
            target.engine,
            plan,
            touch=touch,
            sampled=sampled,
            checked=checked,
            python_heap=target.python_heap,
        )
    from suites.replays.scopes import ScopePlayer

    return ScopePlayer(target, plan, touch=touch, sampled=sampled, checked=checked)
