"""What does it cost to read how long a thread has kept a core busy, and how fine is the answer?

Each operation reads a clock of the calling thread once. Single calls are timed, as --sample does in
other suites: a program that reads such a clock around every request pays for the slow calls, too.

  baseline                    the empty operation: the cost of the harness and of the sampler
  thread_user_time            user time, the kernel's shortest way: its clock of the calling thread
  thread_user_time_by_id      user time, by the clock that every thread has under its id
  thread_user_time_by_rusage  user time, by getrusage(RUSAGE_THREAD)
  thread_user_time_by_psutil  user time, out of psutil's list of all threads
  thread_time                 user and kernel time together, by time.thread_time_ns()

Beside each stand clock.resolution, what all steps of its readings are multiples of, and
clock.granularity, the smallest step between two readings one after the other.

What you should see: all but psutil make one system call. The clock of the calling thread is the
cheapest, for the kernel need not search for the thread; psutil reads a file for every thread of the
process. Cheap or dear, user time comes in ticks of milliseconds: a request that is shorter reads as
nothing. thread_time is fine enough for it, and does not tell user from kernel time.
"""

from collections.abc import Callable
from functools import partial

from stress.probes import Figures, Metric, Probe
from stress.probes.thread_clocks import THREAD_CLOCKS, fineness, steps
from suites.cells import Suite
from suites.main import run
from suites.rows import BASELINE, Row


class ClockProbe(Probe):
    """How fine a thread's clock is: measured once in the process, after its first value.

    Not measurable where the clock does not move.
    """

    name = "clock"
    summary = "how fine the clock is that the row reads"
    cost_ns = 0
    metrics = (
        Metric("clock.resolution", "s", "max", "lower", 1e-9),
        Metric("clock.granularity", "s", "max", "lower", 1e-9),
    )

    def __init__(self, read: Callable[[], int]) -> None:
        self._read = read
        self._figures: Figures = {}

    def before(self) -> None:
        pass  # nothing depends on the window

    def after(self) -> None:
        pass

    def figures(self, duration_s: float, operations: int) -> Figures:
        if not self._figures:
            moved = steps(self._read)
            found = fineness(moved) if moved else None
            self._figures = {
                "clock.resolution": found.resolution_ns / 1e9 if found else None,
                "clock.granularity": found.granularity_ns / 1e9 if found else None,
            }
        return self._figures


def _row(name: str, summary: str) -> Row:
    return Row(
        name,
        summary,
        setup=f"""
            from stress.probes.thread_clocks import THREAD_CLOCKS

            read = THREAD_CLOCKS[{name!r}].read
        """,
        body="read()",
        sized=False,
        probes=(partial(ClockProbe, THREAD_CLOCKS[name].read),),
    )


ROWS = (
    BASELINE,
    *(_row(clock.name, clock.summary) for clock in THREAD_CLOCKS.values()),
)

SUITE = Suite(name="thread_clock", text=__doc__, rows=ROWS, sampled=True)

if __name__ == "__main__":
    raise SystemExit(run(SUITE))
