"""Times single calls: a sampler drives the loop in place of `itertools.repeat`.

sampler = create()
for _ in sampler.arm(1000):
    call()
sampler.take()  # [(4.1e-08, 612), (4.2e-08, 301), ... (1.8e-05, 1)]

The clock is the processor's counter where the kernel keeps its own time by it, and the kernel's
elsewhere. Every sample holds what the sampler itself takes, see `overhead()`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from pathlib import Path
from time import clock_getres, perf_counter

from stress._probe import Sampler, tsc_hz

__all__ = ["Clock", "Sampler", "create", "overhead", "system_clock"]

CLOCKSOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
CALIBRATION_S = 0.02
"""Both clocks are read within 100 ns of each other at its ends, so the rate is known to 5 ppm."""
KERNEL_HZ = 1e9

OVERHEAD_TURNS = 10_000
OVERHEAD_TRIES = 25


@dataclass(frozen=True)
class Clock:
    """What samples are read from: its name as the sampler knows it, ticks a second."""

    name: str
    hz: float

    @property
    def resolution_s(self) -> float:
        """The seconds of a tick, or the kernel's word where it is the kernel's clock."""
        return 1 / self.hz if self.name == "rdtscp" else clock_getres(1)

    def __str__(self) -> str:
        return f"rdtscp at {self.hz / 1e6:.0f} MHz" if self.name == "rdtscp" else self.name


@cache
def system_clock() -> Clock:
    """The clock for samples on this machine; calibrated once a process, in `CALIBRATION_S`."""
    hz = tsc_hz(CALIBRATION_S) if _kernel_trusts_tsc() else None
    return Clock("clock_gettime", KERNEL_HZ) if hz is None else Clock("rdtscp", hz)


def _kernel_trusts_tsc() -> bool:
    """Whether the kernel keeps its time by the processors' counters, which it does only as long as
    they agree with each other and with another clock."""
    try:
        return CLOCKSOURCE.read_text().strip() == "tsc"
    except OSError:
        return False


def create(period: int = 0) -> Sampler:
    """A sampler by this machine's clock. `period`: see `Sampler`."""
    clock = system_clock()
    return Sampler(clock.name, clock.hz, period)


def overhead() -> float:
    """Seconds that sampling adds to a turn of a loop.

    An empty loop over a sampler and one over itertools.repeat take turns, and the fastest of each
    count: whatever else the machine does can only add to a time.
    """
    sampler = create()
    sampled = plain = float("inf")
    for _ in repeat(None, OVERHEAD_TRIES):
        plain = min(plain, _duration(repeat(None, OVERHEAD_TURNS)))
        sampled = min(sampled, _duration(sampler.arm(OVERHEAD_TURNS)))
    return max(sampled - plain, 0.0) / OVERHEAD_TURNS


def _duration(times: Iterable[object]) -> float:
    started = perf_counter()
    for _ in times:
        pass
    return perf_counter() - started
