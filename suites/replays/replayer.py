"""In a worker: replays a cell's recording, in the place that a team of threads has elsewhere."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import repeat

from stress.probes import Probe
from suites.cells import Cell
from suites.replays.figures import ReplayProbe
from suites.replays.players import Player, player
from suites.replays.source import plan_of, planned
from suites.replays.survey import peak_of, survey
from suites.replays.targets import ReplayTarget

KEPT = 1 << 20
"""Operations of a recording that is planned once; the steps are some 30 MB."""
BLOCK = 1 << 18
"""Operations that are planned at a time otherwise: their steps stay in the caches of a core, the
times between the blocks are too short to matter, and memory does not grow with a recording."""

DRIVER_RUNS = 3
"""Of the replay against nothing, of which the fastest counts: what else the machine does can only
add to a time."""


class Replayer:
    """Replays a recording, a turn being all of it.

    measured: False while loops are calibrated, where no figures but the time are asked for.
    Everything is checked when it is made: RecordingError for what can't be replayed.
    """

    def __init__(self, cell: Cell, measured: bool) -> None:
        assert cell.row.replays
        assert cell.replay.recording
        self._target = cell.row.replays
        self._touch = cell.work.touch
        self._sampled = cell.sampled
        self._recording = cell.replay.recording.recording
        self._plan = plan_of(self._recording, cell.replay, self._target)
        self._is_kept = len(self._recording.operations) <= KEPT
        self._buffer = self._recording.buffer(KEPT if self._is_kept else BLOCK)
        self._beside_ns = 0
        peak_at = peak_of(self._recording, self._plan)
        found = (
            survey(cell, self._recording, peak_at) if measured and self._target.touches else None
        )
        self._plan_all()
        self._sample_overhead_s = 0.0
        self.probes: tuple[Callable[[], Probe], ...] = ()
        if measured and self._target.touches:
            self.probes = (partial(ReplayProbe, found, self._driver_s()),)
        self._player = self._make()
        self._turns: Iterable[None] = ()

    def start(self) -> tuple[int, ...]:
        """The idents of the threads beside this one."""
        return self._player.idents

    def prepare(self, turns: int) -> None:
        """Make what the next run needs, which replays so often."""
        self._turns = repeat(None, turns)

    def run(self) -> float:
        """Seconds that the operations took; what is done between them is not in it."""
        return sum(self._replay(self._player) for _ in self._turns) / 1e9

    def beside_ns(self) -> int:
        """CPU time of the calling thread so far, in ns, that is in runs and not the replay's."""
        return self._beside_ns

    def take(self) -> list[tuple[float, int]]:
        """The single operations since the last call."""
        return self._player.take()

    def sample_overhead_s(self) -> float:
        """Seconds that timing it adds to a single operation."""
        return self._sample_overhead_s

    def close(self) -> None:
        self._player.close()
        self._plan.close()

    def _make(self, target: ReplayTarget | None = None, sampled: bool | None = None) -> Player:
        return player(
            target or self._target,
            self._plan,
            touch=self._touch,
            sampled=self._sampled if sampled is None else sampled,
        )

    def _plan_all(self) -> None:
        """A recording that fits into memory is planned once."""
        if self._is_kept:
            for _ in self._blocks():
                pass

    def _blocks(self) -> Iterator[int]:
        return planned(self._plan, self._recording, self._buffer)

    def _replay(self, player: Player) -> int:
        """The ns of all operations; all other CPU time goes to `beside_ns`."""
        started_ns = time.thread_time_ns()
        ns = run_ns = 0
        for _ in (None,) if self._is_kept else self._blocks():
            before_ns = time.thread_time_ns()
            ns += player.run(self._plan)
            run_ns += time.thread_time_ns() - before_ns
        player.release()
        self._beside_ns += time.thread_time_ns() - started_ns - run_ns
        return ns

    def _driver_s(self) -> float:
        """Seconds an operation of the replay itself, and what timing single operations adds."""
        plain = self._nothing_s(sampled=False)
        if self._sampled:
            self._sample_overhead_s = max(self._nothing_s(sampled=True) - plain, 0.0)
        return plain

    def _nothing_s(self, sampled: bool) -> float:
        driver = self._make(self._target.nothing, sampled)
        try:
            runs = DRIVER_RUNS if self._is_kept else 1
            return min(self._replay(driver) for _ in range(runs)) / 1e9 / self.operations
        finally:
            driver.close()

    @property
    def operations(self) -> int:
        return len(self._recording.operations)
