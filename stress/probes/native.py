"""The scopes' own memory at its highest."""

from functools import cache

from stress.probes.highwater import HighWater, Mark
from stress.probes.metric import Metric
from stress.probes.probe import Figures, Probe


@cache
def process_high_water() -> HighWater:
    """The mark over all scopes of the process; ImportError where scopes._core is not built."""
    from scopes._core import window_peak_bytes

    return HighWater(read=lambda: window_peak_bytes(False), reset=lambda: window_peak_bytes(True))


class NativeProbe(Probe):
    """Live bytes of all scopes in the process at their highest in the window.

    Source: the scopes' own account, exact to the byte with the GIL; without it a thread may hold
    back up to 64 KiB. Live at the start counts, cached and closed memory does not.
    """

    name = "native"
    summary = "live bytes of the scopes at their highest"
    cost_ns = 2_000
    metrics = (Metric("native.peak", "bytes", "max", "lower", 1),)

    def __init__(self, high_water: HighWater | None = None) -> None:
        self._mark = Mark()
        self._peak = 0
        try:
            self._high_water = high_water or process_high_water()
        except ImportError as error:
            self.unsupported = f"scopes._core can't be imported: {error}"

    def before(self) -> None:
        self._mark = self._high_water.open()

    def after(self) -> None:
        self._peak = self._high_water.close(self._mark)

    def figures(self, duration_s: float, operations: int) -> Figures:
        return {"native.peak": self._peak}
