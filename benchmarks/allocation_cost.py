"""What watching allocations costs, by an allocation: the counters here, tracemalloc, memray.

Each round runs every tool once, each in a fork of the same process: what disturbs the machine
disturbs all of them, all have the same memory layout, and no tool meets what another one left.
Printed are the medians over the rounds of the CPU time of an allocation with its free, and what a
tool adds to that of a process without any.

    python benchmarks/allocation_cost.py [--rounds N]

Sizes: 64 bytes come from pymalloc; 4 KiB pass the object and the raw domain and end in malloc.
memray writes its record to a temporary file; it is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import repeat
from pathlib import Path

from stress._probe import AllocRecorder

# Imported before any fork: what an import leaves in memory moves the figures by nanoseconds.
try:
    import memray
except ImportError:
    memray = None

SIZES = (64, 4096)
ALLOCATIONS = 20_000
"""In one timing: a millisecond, far above the clock's resolution and below a scheduler's turn."""
TIMINGS = 5
LIMIT_NS = 5.0
"""What the counters may add while they count."""


@contextmanager
def counters(on: bool) -> Iterator[None]:
    recorder = AllocRecorder()
    if on:
        recorder.start()
    yield
    if on:
        assert recorder.stop()
        assert recorder.reading()[1] >= ALLOCATIONS


@contextmanager
def tracemalloc_on() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@contextmanager
def memray_on() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        file = memray.FileDestination(Path(folder) / "record.bin", overwrite=True)
        with memray.Tracker(destination=file, trace_python_allocators=True):
            yield


TOOLS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "nothing": nullcontext,
    "counters, off": lambda: counters(False),
    "counters, on": lambda: counters(True),
    "tracemalloc": tracemalloc_on,
    "memray": memray_on,
}


def allocate(size: int) -> None:
    """Makes and drops objects in C; a bytes object is one allocation."""
    deque(map(bytes, repeat(size, ALLOCATIONS)), maxlen=0)


def timed(size: int) -> float:
    """Nanoseconds of CPU time of an allocation with its free."""
    start = time.thread_time_ns()
    allocate(size)
    return (time.thread_time_ns() - start) / ALLOCATIONS


def medians_with(tool: str) -> list[float]:
    """The median of some timings for each size, under a tool."""
    with TOOLS[tool]():
        for size in SIZES:
            timed(size)  # warms up
        return [statistics.median(timed(size) for _ in range(TIMINGS)) for size in SIZES]


def in_a_fork(tool: str) -> list[float]:
    """medians_with(tool), in a child that ends with it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writer, json.dumps(medians_with(tool)).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with open(reader, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise SystemExit(f"{tool}: the process that was to time it failed")
    found: list[float] = json.loads(text)
    return found


def measure(rounds: int, tools: list[str]) -> dict[str, list[float]]:
    """Medians over the rounds, a size each, by tool."""
    found: dict[str, list[list[float]]] = {tool: [] for tool in tools}
    for _ in range(rounds):
        for tool in tools:
            found[tool].append(in_a_fork(tool))
    return {
        tool: [statistics.median(of_size) for of_size in zip(*medians, strict=True)]
        for tool, medians in found.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=41)
    options = parser.parse_args()
    tools = [tool for tool in TOOLS if tool != "memray" or memray]
    medians = measure(options.rounds, tools)
    usual = medians["nothing"]
    print(f"{'ns an allocation':16}" + "".join(f"{size:>12} {'added':>8}" for size in SIZES))
    for tool, of_sizes in medians.items():
        cells = "".join(f"{t:12.1f} {t - u:+8.1f}" for t, u in zip(of_sizes, usual, strict=True))
        print(f"{tool:16}{cells}")
    if not memray:
        print("memray is not installed: left out")
    added = max(t - u for t, u in zip(medians["counters, on"], usual, strict=True))
    print(f"\nThe counters add {added:.1f} ns at most; wanted: at most {LIMIT_NS:.0f} ns.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
