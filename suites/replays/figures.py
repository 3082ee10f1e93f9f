"""The probe of what a replay tells beside its score."""

from stress.probes import Figures, Metric, Probe
from suites.replays.survey import PAGE_BYTES, Survey

_AT_PEAK = "when the most was live"


class ReplayProbe(Probe):
    """Memory at the peak of the recording, by a survey, and the share of the replay itself.

    mapped.peak: bytes mapped when the most is live; mapped.overhead: of them what is not live, over
    what is; fragmentation.share: of resident bytes, all written to, those that are not live;
    driver.share: of the measured time, what the same replay takes against an allocator that does
    nothing.
    """

    name = "replay"
    summary = "memory at the peak of the recording, and the share of the replay itself"
    cost_ns = 0
    metrics = (
        Metric("mapped.peak", "bytes", "max", "lower", PAGE_BYTES, _AT_PEAK),
        Metric("mapped.overhead", "ratio", "max", "lower", 0.0, _AT_PEAK),
        Metric("fragmentation.share", "ratio", "max", "lower", 0.0, _AT_PEAK),
        Metric("driver.share", "ratio", "mean", "lower", 0.0),
    )

    def __init__(self, survey: Survey | None, driver_s: float) -> None:
        """driver_s: seconds an operation of the replay itself. survey: None before there is one."""
        self._survey = survey
        self._driver_s = driver_s

    def before(self) -> None:
        pass  # nothing depends on the window

    def after(self) -> None:
        pass

    def figures(self, duration_s: float, operations: int) -> Figures:
        survey = self._survey
        return {
            "mapped.peak": survey.mapped if survey else None,
            "mapped.overhead": survey.overhead if survey else None,
            "fragmentation.share": survey.fragmentation if survey else None,
            "driver.share": self._driver_s * operations / duration_s if duration_s else None,
        }
