"""Resident memory at its highest, as the kernel saw it and not as a sampler did."""

import os
from typing import NamedTuple

from stress._probe import read_held, write_held
from stress.probes.highwater import HighWater, Mark
from stress.probes.metric import Metric
from stress.probes.probe import Figures, Probe

CLEAR_REFS = "/proc/self/clear_refs"
STATUS = "/proc/self/status"
#: What clear_refs takes to lower VmHWM to the present VmRSS (Linux 4.0 and later, proc(5)).
RESET_PEAK = b"5"


class Resident(NamedTuple):
    """Bytes resident at one moment, and at their highest since the last reset."""

    now: int
    peak: int


def rss_figures(start: int, peak: int) -> Figures:
    """Peak of a window, and by how much it is above the start; both in bytes.

    The kernel sums batches of several CPUs, so a peak can read a little below the start: growth 0.
    """
    return {"rss.peak": peak, "rss.growth": max(0, peak - start)}


def resolution(cpus: int, page_size: int) -> int:
    """Bytes below which RSS says nothing: each CPU holds back up to max(32, 2 x CPUs) pages.

    That is the batch of the kernel's percpu_counter, in which RSS is counted since Linux 6.2.
    """
    return max(32, 2 * cpus) * cpus * page_size


def parse_status(text: bytes) -> Resident:
    """VmRSS and VmHWM of a /proc/PID/status; ValueError names the one that is missing."""
    found = {}
    for line in text.splitlines():
        key, _, rest = line.partition(b":")
        if key in (b"VmRSS", b"VmHWM"):
            found[key] = int(rest.split()[0]) * 1024
    for key in (b"VmRSS", b"VmHWM"):
        if key not in found:
            raise ValueError(f"{STATUS} has no line {key.decode()}")
    return Resident(found[b"VmRSS"], found[b"VmHWM"])


def read_resident() -> Resident:
    """The process's resident bytes: one open, read and close, about 8 us.

    No file is kept open: one that a fork inherits would go on telling of the parent. VmRSS and
    VmHWM come from one read, so that they agree; statm would be quicker and has no peak. The GIL is
    kept, as in lower_peak(): to have it back takes 20 ms beside Python spinners.
    """
    return parse_status(read_held(STATUS))


def lower_peak() -> None:
    """Make VmHWM the present VmRSS; lowers ru_maxrss of getrusage as well. OSError if refused."""
    write_held(CLEAR_REFS, RESET_PEAK)


def _reset() -> int:
    peak = read_resident().peak
    lower_peak()
    return peak


#: One a process, because the kernel keeps one high-water mark a process.
PROCESS = HighWater(read=lambda: read_resident().peak, reset=_reset)


class RSSProbe(Probe):
    """The process's resident memory at its highest in the window, and over the window's start.

    Source: VmHWM of /proc/self/status, after writing 5 to /proc/self/clear_refs at the start. That
    write lowers the process's own maximum (ru_maxrss) too: process_peak_rss() has the true one.
    Windows may nest; what an inner one resets still counts for the outer one.
    """

    name = "rss"
    summary = "resident memory at its highest (kernel's high-water mark), and its growth"
    cost_ns = 50_000
    _floor = resolution(os.cpu_count() or 1, os.sysconf("SC_PAGE_SIZE"))
    metrics = (
        Metric("rss.peak", "bytes", "max", "lower", _floor),
        Metric("rss.growth", "bytes", "max", "lower", _floor),
    )

    def __init__(self, process: HighWater = PROCESS) -> None:
        self._process = process
        self._mark = Mark()
        self._start = self._peak = 0
        self.unsupported = self._try_out()

    def _try_out(self) -> str | None:
        try:
            read_resident()
        except (OSError, ValueError) as error:
            return f"no resident memory to be read: {error}"
        try:
            self._process.close(self._process.open())
        except OSError as error:
            return f"{CLEAR_REFS} is not writable: {error.strerror}"
        return None

    def before(self) -> None:
        self._mark = self._process.open()
        self._start = read_resident().now

    def after(self) -> None:
        self._peak = self._process.close(self._mark)

    def figures(self, duration_s: float, operations: int) -> Figures:
        return rss_figures(self._start, self._peak)

    def process_peak_rss(self) -> int | None:
        """The process's highest resident bytes so far, as pyperf's `mem_max_rss` means it.

        Folded from all windows. None where the probe is unsupported: nothing was lowered then, and
        ru_maxrss, which pyperf reads, is right.
        """
        return None if self.unsupported else self._process.overall()
