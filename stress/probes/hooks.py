"""The probes as hooks of pyperf, for benchmarks that are not ours.

python -m pyperf timeit --hook scopestress_gc --hook scopestress_rss ...

pyperf makes new hooks for the warm-ups and again for the values, enters them around each value, and
at the end of either tears them down into the metadata of the run. The hooks of one such round share
one window, so that a dear probe is not measured by a cheap one. Each writes one key, over the one
of the round before: the values come last, so theirs remain.
"""

import gc
import json
from time import perf_counter
from types import TracebackType
from typing import Any, ClassVar

from stress.probes import MetricRecord, Probe, create
from stress.probes.rss import RSSProbe
from stress.probes.window import ForgivingWindow

SCHEMA_KEY = "scopestress_schema"
SCHEMA = 1
METRICS_KEY = "scopestress_metrics"
"""A hook's key is this one, a dot and the name of its probe."""

COMMAND_KEY = "command"
"""What pyperf's metadata hold if the benchmark is a command."""
OF_A_COMMAND = "the benchmark is a command, which runs in a process of its own"

PER_OPERATION = "/op"


class Round:
    """The hooks that are in use together, from their making to their teardown."""

    latest: ClassVar["Round | None"] = None

    def __init__(self) -> None:
        self._names: dict[str, None] = {}
        self._probes: dict[str, Probe] = {}
        self._window: ForgivingWindow | None = None
        self._is_open = False
        self._started_s = 0.0
        self._values = 0

    @classmethod
    def join(cls, name: str) -> "Round":
        """The round that a new hook belongs to: the latest, unless it has begun."""
        if cls.latest is None or cls.latest._window is not None:
            cls.latest = cls()
        cls.latest._names[name] = None
        return cls.latest

    def begin(self) -> None:
        """Open the window, by whichever hook is entered first."""
        if self._is_open:
            return
        if self._window is None:
            self._probes = {name: create([name])[0] for name in self._names}
            self._window = ForgivingWindow(self._probes.values())
        if gc.isenabled():  # a benchmark that has it off wants no collection
            gc.collect()  # else the garbage of one value is in the figures of the next
        self._is_open = True
        self._window.open()
        self._started_s = perf_counter()

    def end(self, succeeded: bool) -> None:
        """Close the window, by whichever hook is left first."""
        ended_s = perf_counter()
        if not self._is_open or self._window is None:
            return
        self._is_open = False
        self._window.close()
        if succeeded:
            # pyperf does not tell a hook the number of loops: one operation is the whole value.
            self._window.record(ended_s - self._started_s, operations=1)
            self._values += 1

    def metrics(self, name: str) -> dict[str, MetricRecord]:
        """The figures of one probe in all values of the round."""
        if self._window is None:
            return {}
        names = {metric.name for metric in self._probes[name].metrics}
        found = self._window.metrics(self._values)
        return {metric: record for metric, record in found.items() if metric in names}

    def process_peak_rss(self) -> int | None:
        """The process's highest resident bytes, which a window lowers for pyperf as well."""
        probe = self._probes.get(RSSProbe.name)
        return probe.process_peak_rss() if isinstance(probe, RSSProbe) else None


class ProbeHook:
    """One probe around every value; whatever goes wrong is recorded as unsupported.

    pyperf ends the run for a hook that raises.
    """

    probe: ClassVar[str]

    def __init__(self) -> None:
        self._round = Round.join(self.probe)

    def __enter__(self) -> None:
        self._round.begin()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._round.end(succeeded=kind is None)

    def teardown(self, metadata: dict[str, Any]) -> None:
        """Write the figures as one line of JSON, in place of what is there from warm-ups."""
        found = self._round.metrics(self.probe)
        if not found:
            return
        if COMMAND_KEY in metadata:
            records: dict[str, MetricRecord] = {
                name: {"unsupported": OF_A_COMMAND} for name in found
            }
        else:
            records = {name: whole_value(record) for name, record in found.items()}
        metadata[SCHEMA_KEY] = SCHEMA
        metadata[f"{METRICS_KEY}.{self.probe}"] = json.dumps(records, allow_nan=False)
        if peak := self._round.process_peak_rss():
            metadata["mem_max_rss"] = peak


def whole_value(record: MetricRecord) -> MetricRecord:
    """The record of a figure per operation, as one of all operations that readers are to divide.

    They know from the run how many there were.
    """
    unit = str(record.get("unit", ""))
    if not unit.endswith(PER_OPERATION):
        return record
    return {**record, "unit": unit.removesuffix(PER_OPERATION), "per": "op"}


class GCHook(ProbeHook):
    """`--hook scopestress_gc`: time, number and longest pause of collections."""

    probe = "gc"


class RSSHook(ProbeHook):
    """`--hook scopestress_rss`: resident memory at its highest, and its growth."""

    probe = "rss"


class NativeHook(ProbeHook):
    """`--hook scopestress_native`: live bytes of the scopes at their highest."""

    probe = "native"


class CPUHook(ProbeHook):
    """`--hook scopestress_cpu`: CPU time of the thread that runs the benchmark."""

    probe = "cpu"


class AllocHook(ProbeHook):
    """`--hook scopestress_alloc`: what Python's allocators hand out; slows what allocates."""

    probe = "alloc"
