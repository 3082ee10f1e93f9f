"""The threads that run a row at the same time, and the scope they may share."""

import threading
from collections.abc import Callable, Iterable
from itertools import repeat
from time import perf_counter
from types import SimpleNamespace

from stress import sampler
from stress.probes import Probe
from stress.sampler import Sampler
from suites.rows import SHARED, Loop, Row, Sharing, Work, compile_loop, run_setup


class Meeting:
    """Where threads meet that share a scope; the last to come closes it and opens the next one."""

    def __init__(self, row: Row, sharing: Sharing, work: Work) -> None:
        self.shared = SimpleNamespace()
        self._names = run_setup(row, work) | {"shared": self.shared}
        place = f"<scope shared by {row.name}>"
        self._open, self._close = (
            compile(text, place, "exec") for text in (sharing.open, sharing.close)
        )
        exec(self._open, self._names)
        self._barrier = threading.Barrier(work.threads_measured, self._renew)

    def _renew(self) -> None:
        self.close()
        exec(self._open, self._names)

    def close(self) -> None:
        """End the scope that is open."""
        exec(self._close, self._names)

    @property
    def names(self) -> dict[str, object]:
        """What the loops of the threads use."""
        return {"shared": self.shared, "meet": self._barrier.wait}

    def abandon(self) -> None:
        """Let the others not wait for a thread that failed: threading.BrokenBarrierError there."""
        self._barrier.abort()


class Team:
    """The threads of a row: the calling one, and `threads_measured` - 1 more.

    They begin a run together. Each has a loop of its own, with names of its own: what they have in
    common is the process, and the scope if it is shared.
    """

    probes: tuple[Callable[[], Probe], ...] = ()
    """What makes probes of its own: none."""

    def __init__(self, row: Row, work: Work, sampled: int | None = None) -> None:
        """sampled: single calls are timed, and the row does something more after so many of them, 0
        for never; None where they are not."""
        threads = range(work.threads_measured)
        samplers = [] if sampled is None else [sampler.create(sampled) for _ in threads]
        share = row.sharing if work.scope == SHARED else None
        self._meeting = Meeting(row, share, work) if share else None
        names = self._meeting.names if self._meeting else None
        self._loops = [
            compile_loop(row, work, bool(samplers), names) for _ in range(work.threads_measured)
        ]
        self._samplers: list[Sampler] = samplers
        self._begin = threading.Barrier(len(self._loops))
        self._end = threading.Barrier(len(self._loops))
        self._times: list[Iterable[object]] = []
        self._spans = [(0.0, 0.0)] * len(self._loops)
        self._errors: list[BaseException] = []
        self._threads = [
            threading.Thread(
                target=self._main, args=(index,), name=f"measured-{index}", daemon=True
            )
            for index in range(1, len(self._loops))
        ]

    def start(self) -> tuple[int, ...]:
        """Start the other threads, which wait; their idents, as threading has them."""
        for thread in self._threads:
            thread.start()
        return tuple(thread.ident or 0 for thread in self._threads)

    def close(self) -> None:
        """End the other threads, and the scope they shared."""
        self._begin.abort()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        if self._meeting:
            self._meeting.close()

    def prepare(self, turns: int) -> None:
        """Make what the next run needs, so that it makes nothing itself: what drives the loops, for
        so many turns of each."""
        if self._samplers:
            self._times = [sampler.arm(turns) for sampler in self._samplers]
        else:
            self._times = [repeat(None, turns) for _ in self._loops]

    def take(self) -> list[tuple[float, int]]:
        """The single calls since the last time, in all threads, where they were timed."""
        return [pair for one in self._samplers for pair in one.take()]

    def sample_overhead_s(self) -> float:
        """Seconds that timing it adds to a single call."""
        return sampler.overhead()

    def beside_ns(self) -> int:
        """CPU time of the calling thread so far, in ns, that is in runs and not the row's: none."""
        return 0

    def run(self) -> float:
        """Seconds from the first thread's start to the last one's end; raises what a thread did."""
        if not self._threads:
            loop, times = self._loops[0], self._times[0]
            started = perf_counter()
            loop(times)
            return perf_counter() - started
        self._begin.wait()
        self._run(0)
        self._end.wait()
        self._raise_error()
        starts, ends = zip(*self._spans, strict=True)
        return float(max(ends) - min(starts))

    def _main(self, index: int) -> None:
        while True:
            try:
                self._begin.wait()
            except threading.BrokenBarrierError:
                return  # closed
            self._run(index)
            self._end.wait()

    def _run(self, index: int) -> None:
        loop: Loop = self._loops[index]
        times = self._times[index]
        started = perf_counter()
        try:
            loop(times)
        except BaseException as error:
            self._errors.append(error)
            if self._meeting:
                self._meeting.abandon()
        self._spans[index] = started, perf_counter()

    def _raise_error(self) -> None:
        """The first error that is not merely the echo of another thread's."""
        errors, self._errors = self._errors, []
        errors.sort(key=lambda error: isinstance(error, threading.BrokenBarrierError))
        if errors:
            raise errors[0]
