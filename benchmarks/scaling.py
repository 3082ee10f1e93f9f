"""How two threads scale without the GIL: shared scopes of their own, beside an empty Python class.

    python3.13t benchmarks/scaling.py

Scaling is the rate of two threads over that of one. The class is what the interpreter and the
machine allow at that moment: both are measured in turns, and the figure is the median of the
quotients of neighbours. Wall time; a machine that does other work meanwhile shows in the spread.
"""

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable

import scopes

Job = Callable[[int], None]


class Empty:
    """What a thread can make without waiting for another."""


def instantiate(count: int) -> None:
    for _ in range(count):
        Empty()


def live(count: int) -> None:
    for _ in range(count):
        scope = scopes.SharedScope()
        scope.allocate(1024)
        scope.close()


def rate(job: Job, threads: int, count: int) -> float:
    """Operations a second of all threads together."""
    start = threading.Barrier(threads + 1)

    def run() -> None:
        start.wait()
        job(count)

    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in running:
        thread.join()
    return threads * count / (time.perf_counter() - began)


def scaling(job: Job, count: int) -> float:
    return rate(job, 2, count) / rate(job, 1, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--count", type=int, default=300_000, help="scopes a thread in a round")
    args = parser.parse_args()
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        sys.exit("this interpreter runs with the GIL: expected one without, such as python3.13t")
    pairs = [
        (scaling(live, args.count), scaling(instantiate, 3 * args.count))
        for _ in range(args.rounds)
    ]
    for name, values in (
        ("shared scopes, scaling", [scope for scope, _ in pairs]),
        ("empty class, scaling", [empty for _, empty in pairs]),
        ("quotient", [scope / empty for scope, empty in pairs]),
    ):
        low, high = min(values), max(values)
        print(f"{name:<24} {statistics.median(values):.2f}  ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
