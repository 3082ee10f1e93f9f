"""What the stress threads get done beside the measured ones: a close has bystanders, too."""

from stress.base import Stress
from stress.probes.metric import Metric
from stress.probes.probe import Figures, Probe


def bystander_figures(turns: int, duration_s: float) -> Figures:
    """Turns of all stress threads a second; a rate over no time is not measurable."""
    return {"bystander.rate": turns / duration_s if duration_s > 0 else None}


class BystanderProbe(Probe):
    """How fast the stress threads spin while a row runs.

    Source: their own count of turns, read while they are parked at either end of the window, so it
    is exact. Rates say something only beside each other, and only for the same kind of spinner: the
    suite makes `bystander.slowdown` of them, the rate beside the `baseline` row over that beside
    this row.
    """

    name = "bystander"
    summary = "THREADS: what the stress threads get done, against what they do beside baseline"
    cost_ns = 700
    metrics = (Metric("bystander.rate", "turns/s", "mean", "higher", 0),)

    def __init__(self) -> None:
        self._stress = Stress()
        self._before = self._after = 0

    def attach(self, stress: Stress, threads: tuple[int, ...]) -> None:
        self._stress = stress

    def before(self) -> None:
        self._before = self._stress.spins()

    def after(self) -> None:
        self._after = self._stress.spins()

    def figures(self, duration_s: float, operations: int) -> Figures:
        return bystander_figures(self._after - self._before, duration_s)
