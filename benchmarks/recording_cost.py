"""What recording costs an operation: the events of scopes, and memray's allocations.

    python benchmarks/recording_cost.py [--rounds N] [--folder DIR]

A round takes the lives of scopes, five events each, with events off, on with no listener, and
written to a file in DIR, in turn; then bytes objects made and dropped, without memray and with it.
Printed are the medians of the differences within a round, in nanoseconds of the thread's CPU time
an operation, the kernel's part of writing included. Exit status 1 where writing an event costs more
than 50.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import thread_time_ns

from scopes import ConfinedScope, _core

MOST_NS = 50
LIVES = 50_000
EVENTS = 5 * LIVES
UNBOUNDED = 2**62
WRITTEN = "scopes: events, written to a file"


def lives() -> float:
    begin = thread_time_ns()
    for _ in range(LIVES):
        scope = ConfinedScope()
        segment = scope.allocate(64)  # noqa: F841 - alive at close, as in programs
        scope.close()
    return (thread_time_ns() - begin) / EVENTS


def recorded(fd: int | None) -> float:
    _core.start_events(fd, UNBOUNDED, threading._active)  # type: ignore[attr-defined]
    try:
        return lives()
    finally:
        _core.stop_events()


def of_scopes(folder: Path | None, rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"scopes: events, on": [], WRITTEN: []}
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(rounds):
            off = lives()
            for fd, costs in zip((None, file.fileno()), found.values(), strict=True):
                costs.append(recorded(fd) - off)
            file.truncate(0)
            file.seek(0)
    return found


def of_memray(folder: Path | None, rounds: int) -> dict[str, list[float]]:
    from suites.recordings.calibration import OBJECTS, elapsed_ns, traced_ns

    found: dict[str, list[float]] = {"memray: native-only": [], "memray: Python's allocators": []}
    with tempfile.TemporaryDirectory(dir=folder) as made:
        for _ in range(rounds):
            alone = elapsed_ns()
            for python_allocators, costs in zip((False, True), found.values(), strict=True):
                traced = traced_ns(Path(made) / "capture", python_allocators)
                costs.append((traced - alone) / (2 * OBJECTS))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=21, metavar="N")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="default: for temporary files")
    args = parser.parse_args()
    measured: list[Callable[[Path | None, int], dict[str, list[float]]]] = [of_scopes]
    if find_spec("memray") is not None:
        measured.append(of_memray)
    found: dict[str, list[float]] = {}
    print(f"{'ns an operation':<36}{'median':>8}{'quartiles':>18}")
    for measure in measured:
        for name, costs in measure(args.folder, args.rounds).items():
            found[name] = costs
            low, middle, high = statistics.quantiles(costs, n=4)
            print(f"{name:<36}{middle:>8.1f}{low:>9.1f}{high:>9.1f}")
    return int(statistics.median(found[WRITTEN]) > MOST_NS)


if __name__ == "__main__":
    raise SystemExit(main())
