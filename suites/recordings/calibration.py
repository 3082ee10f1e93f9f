"""Prints what memray takes for an operation here, in nanoseconds: with the argument 1 for what
Python's allocators hand out, with 0 for what they take from the system."""

import sys
import tempfile
from pathlib import Path
from time import thread_time_ns

import memray

OBJECTS = 100_000
NBYTES = 4096
"""More than Python's own allocator hands out, so that both ways of tracing see an operation."""
ROUNDS = 5


def elapsed_ns() -> int:
    begin = thread_time_ns()
    for _ in range(OBJECTS):
        bytes(NBYTES)
    return thread_time_ns() - begin


def traced_ns(capture: Path, python_allocators: bool) -> int:
    destination = memray.FileDestination(capture, overwrite=True, compress_on_exit=False)
    tracker = memray.Tracker(destination=destination, trace_python_allocators=python_allocators)
    tracker.__enter__()
    try:
        return elapsed_ns()
    finally:
        tracker.__exit__(None, None, None)


def main() -> None:
    python_allocators = sys.argv[1] == "1"
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "capture"
        traced, alone = [], []
        for _ in range(ROUNDS):
            alone.append(elapsed_ns())
            traced.append(traced_ns(capture, python_allocators))
    # Each object is an allocation and a free. The least of several is what is disturbed least.
    print(round((min(traced) - min(alone)) / (2 * OBJECTS), 1))


if __name__ == "__main__":
    main()
