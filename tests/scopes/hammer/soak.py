"""Threads run random programs over all that scopes has, in rounds that must leave nothing behind.

    python soak.py --seconds 600 --seed 1
    python soak.py --rounds 1 --first 17 --seed 1        the 18th round of that seed

Prints the seed at first, and the operations by kind at the end. What threads do to each other
differs from run to run, what each of them tries does not.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

from holder import Common
from operations import Worker

import scopes
from scopes import _core

THREADS = 4
OPERATIONS = 2000  # of a thread in a round
#: AddressSanitizer keeps what was freed, and resident.
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
#: How long a thread under the GIL has its turn, by round.
SWITCH_SECONDS = (5e-3, 1e-4, 5e-6)
MIB = 2**20
#: What all threads hold, the cache and garbage that waits come to less.
PEAK_BYTES = 256 * MIB
#: Of resident memory between rounds, over that after the first.
GROWTH_BYTES = 32 * MIB


def resident() -> int:
    rollup = Path("/proc/self/smaps_rollup").read_text()
    return int(re.search(r"^Rss: +(\d+) kB", rollup, re.MULTILINE)[1]) * 1024


class Round:
    def __init__(self, seed: int) -> None:
        self.common = Common()
        self.errors: list[str] = []
        self.workers = [
            Worker(self.common, seed * 1000 + number, forks=number == 0)
            for number in range(THREADS)
        ]

    def work(self, worker: Worker) -> None:
        try:
            worker.run(OPERATIONS)
        except BaseException:
            self.errors.append(traceback.format_exc())

    def run(self) -> Counter[str]:
        """Runs it, the first worker on this thread. Returns how often each operation was done."""
        threads = [threading.Thread(target=self.work, args=(w,)) for w in self.workers[1:]]
        for thread in threads:
            thread.start()
        self.work(self.workers[0])
        for thread in threads:
            thread.join()
        if self.errors:
            raise AssertionError("\n".join(self.errors))
        for piece in self.common.slots:
            if piece is not None:
                piece.segment.scope.close()
        self.common.slots.clear()
        return sum((worker.done for worker in self.workers), Counter())

    def check_sums(self) -> None:
        common = self.common
        assert len(common.ran) == len(common.registered), (len(common.ran), len(common.registered))
        assert len(common.released) == len(common.adopted)


def nothing_is_left() -> None:
    for _ in range(3):
        gc.collect()
    now = scopes.statistics()
    left = (now.live_bytes, now.open_scopes, now.deferred_bytes, now.retired_bytes)
    assert (*left, now.implicit_bytes) == (0, 0, 0, 0, 0), now
    if hasattr(_core, "check"):
        _core.check()


class Watch(threading.Thread):
    """Sees the highest resident memory."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak, self.over = 0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.05):
            self.peak = max(self.peak, resident())


def set_first_limits() -> None:
    scopes.set_limit(None)
    scopes.set_cache_limit(16 * MIB)
    scopes.set_implicit_budget(16 * MIB)


def soak(seed: int, first: int, rounds: int, seconds: float) -> tuple[int, Counter[str], Watch]:
    end = time.monotonic() + seconds
    done: Counter[str] = Counter()
    start, settled, made = resident(), 0, 0
    watch = Watch()
    watch.start()
    while made < rounds and time.monotonic() < end:
        set_first_limits()
        sys.setswitchinterval(SWITCH_SECONDS[made % len(SWITCH_SECONDS)])
        round_ = Round(seed * 1_000_000 + first + made)
        try:
            done += round_.run()
            # In this order: sums are even once all that was left to finalizers has gone.
            workers, round_.workers = round_.workers, []
            del workers
            nothing_is_left()
            round_.check_sums()
        except BaseException as error:
            error.add_note(f"in round {first + made} of seed {seed}")
            raise
        del round_
        scopes.trim()
        made += 1
        settled = settled or resident()
        if not SANITIZED:
            assert resident() <= settled + GROWTH_BYTES, (resident(), settled)
            assert watch.peak <= start + PEAK_BYTES, (watch.peak, start)
    watch.over.set()
    watch.join()
    return made, done, watch


def show(made: int, seconds: float, done: Counter[str], watch: Watch) -> None:
    print(f"{made} rounds of {THREADS} threads in {seconds:.0f} s, {done.total()} operations:")
    for name, count in sorted(done.items()):
        print(f"  {name:<32} {count:>10}")
    now = scopes.statistics()
    print(f"forced collections {now.forced_collections}, peak of live bytes {now.peak_bytes}")
    print(f"highest resident memory {watch.peak // MIB} MiB, at the end {resident() // MIB} MiB")
    print(f"at the end {now.live_bytes} live bytes, {now.open_scopes} open scopes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="round to begin with")
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=600)
    given = parser.parse_args()
    print(f"seed {given.seed}, process {os.getpid()}", flush=True)
    warnings.simplefilter("ignore")  # of scopes that are left open, and of fork beside threads
    unraisable: set[str] = set()
    sys.unraisablehook = lambda seen: unraisable.add(repr(seen.exc_value))
    begin = time.monotonic()
    made, done, watch = soak(given.seed, given.first, given.rounds, given.seconds)
    # Callbacks that divide by zero, of scopes that ended in a finalizer, are all that may be there.
    assert all("ZeroDivisionError" in text for text in unraisable), unraisable
    show(made, time.monotonic() - begin, done, watch)


if __name__ == "__main__":
    main()
