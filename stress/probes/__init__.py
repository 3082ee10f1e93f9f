"""The figures beside the score, one probe a file, and the window that reads them together.

window  Window: opens and closes the probes around the measured loop and keeps their figures
probe   Probe: what one measures, before, after, and arithmetic on the two
metric  Metric: name, unit, aggregation, direction, resolution

gc      gc.time, gc.count, gc.pause.max, gc.share
rss     rss.peak, rss.growth
native  native.peak
cpu     score.cpu, cpu.user, cpu.system, cpu.norm; thread_clocks has five ways to read user time
alloc   alloc.rate, alloc.rate.norm, alloc.count.norm; not a default, for it slows what allocates
alloc_live   alloc.live.norm, for suites.thread_alloc
bystander   bystander.rate, of the stress threads
"""

from collections.abc import Iterable

from stress.probes.alloc import AllocProbe
from stress.probes.alloc_live import LiveAllocProbe
from stress.probes.bystander import BystanderProbe
from stress.probes.cpu import CPUProbe
from stress.probes.gc import GCProbe
from stress.probes.metric import Metric
from stress.probes.native import NativeProbe
from stress.probes.probe import Figures, Probe
from stress.probes.rss import RSSProbe
from stress.probes.window import MetricRecord, Window

__all__ = [
    "DEFAULT_PROBES",
    "PROBES",
    "Figures",
    "Metric",
    "MetricRecord",
    "Probe",
    "Window",
    "create",
]

#: Name, as `--probe` takes it -> class.
PROBES: dict[str, type[Probe]] = {
    probe.name: probe
    for probe in (
        *(GCProbe, RSSProbe, NativeProbe, CPUProbe, BystanderProbe),
        *(AllocProbe, LiveAllocProbe),
    )
}
#: On unless a user chooses others.
DEFAULT_PROBES = ("gc", "rss", "native", "cpu", "bystander")


def create(names: Iterable[str] = DEFAULT_PROBES) -> list[Probe]:
    """One new probe a name; ValueError names the probes there are and what was found."""
    chosen = tuple(names)
    for name in chosen:
        if name not in PROBES:
            raise ValueError(f"a probe is one of {', '.join(PROBES)}; found {name!r}")
    return [PROBES[name]() for name in dict.fromkeys(chosen)]
