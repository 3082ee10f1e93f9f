"""Eight threads allocate, read, write, export and release in one scope while one of them closes it.

    python race.py --seconds 60 --seed 1

Again and again. Only documented exceptions may come out, and at the end of each round no live byte,
open scope or export may be left. Prints the operations by kind.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import threading
import time
from collections import Counter

import scopes
from scopes import _core

THREADS = 8
BYTE = 5
SIZES = (16, 256, 1000, 20_000, 70_000)
#: Of a thread in a round: where exports make close() raise, it may have to wait for their end.
USES = 60


def use(scope: scopes.SharedScope, nbytes: int, done: Counter[str]) -> None:
    """Each operation on a segment of its own; raises where the close is seen."""
    segment = scope.allocate(nbytes)
    done["allocate"] += 1
    segment.fill(BYTE)
    segment.copy_from(bytes([BYTE]) * 16)
    done["write"] += 2
    # Between two operations the scope may be closed, and its memory be trimmed to zeros.
    assert segment[0] in (0, BYTE)
    assert bytes(segment[4:8]) == bytes([BYTE]) * 4
    done["read"] += 2
    view = memoryview(segment)
    assert view[0] == view[-1] == BYTE
    done["export"] += 1
    with segment.pin() as address:
        assert address
    done["pin"] += 1
    view.release()
    done["release"] += 1
    scope.statistics()


def close(scope: scopes.SharedScope, done: Counter[str]) -> None:
    while not scope.closed:
        try:
            scope.close()
            done["close"] += 1
        except scopes.ScopeInUseError:
            done["close: in use"] += 1


class Race:
    def __init__(self, seed: int, rounds: int, seconds: float) -> None:
        self.rounds, self.end = rounds, time.monotonic() + seconds
        self.rng = random.Random(seed)
        self.done = [Counter[str]() for _ in range(THREADS)]
        self.errors: list[BaseException] = []
        self.made = 0
        self.scope: scopes.SharedScope | None = None
        self.begin()
        self.start = threading.Barrier(THREADS)
        self.finish = threading.Barrier(THREADS, action=self.check)

    def begin(self) -> None:
        self.scope = scopes.SharedScope(exports=self.rng.choice(["raise", "defer"]))
        self.before = self.rng.randrange(USES)  # times that the closing thread uses it first
        self.nbytes = self.rng.choice(SIZES)

    def check(self) -> None:
        """Run by the last thread of a round, while the others wait."""
        assert self.scope is not None
        figures = self.scope.statistics()
        assert self.scope.closed
        assert (figures.live_bytes, figures.exports) == (0, 0), figures
        self.scope = None
        now = scopes.statistics()
        left = (now.live_bytes, now.open_scopes, now.deferred_bytes, now.retired_bytes)
        assert left == (0, 0, 0, 0), now
        self.made += 1
        if self.made < self.rounds and time.monotonic() < self.end:
            self.begin()

    def turn(self, number: int) -> None:
        done, scope = self.done[number], self.scope
        assert scope is not None
        uses = self.before if number == 0 else USES
        try:
            for _ in range(uses):
                use(scope, self.nbytes, done)
        except scopes.ScopeClosedError:
            done["closed"] += 1
        if number == 0:
            close(scope, done)

    def run(self, number: int) -> None:
        try:
            while self.scope is not None:
                self.start.wait()
                self.turn(number)
                self.finish.wait()
        except threading.BrokenBarrierError:
            pass  # another thread tells why
        except BaseException as error:
            self.errors.append(error)
            self.start.abort()
            self.finish.abort()
            if self.scope is not None:
                self.scope.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    sys.setswitchinterval(5e-6)
    begin = time.monotonic()
    race = Race(given.seed, given.rounds, given.seconds)
    threads = [threading.Thread(target=race.run, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if race.errors:
        raise race.errors[0]
    gc.collect()
    if hasattr(_core, "check"):
        _core.check()
    print(f"{race.made} rounds of {THREADS} threads in {time.monotonic() - begin:.0f} s:")
    for name, count in sorted(sum(race.done, Counter()).items()):
        print(f"  {name:<16} {count:>10}")
    now = scopes.statistics()
    print(f"at the end {now.live_bytes} live bytes, {now.open_scopes} open scopes")


if __name__ == "__main__":
    main()
