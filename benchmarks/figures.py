"""The figures that the project sets itself, as ratios of things measured in one run, interleaved.

Each round times every operation once, so that what disturbs the machine disturbs all of them;
printed are the medians over the rounds and the ratio of the medians of each pair.

    python benchmarks/figures.py [--rounds N] [--jvm "COMMAND"]

COMMAND measures the JVM's confined scope and prints a JSON line with "median_us", the time of
opening one, allocating 1,024 bytes and closing it; without it those two ratios are left out.
"""

from __future__ import annotations

import argparse
import gc
import json
import mmap
import shlex
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import cffi
import numpy as np

import scopes

KIB = 1024
MIB = 1024 * KIB
PAGE = mmap.PAGESIZE

ffi = cffi.FFI()


def confined(loops: int) -> None:
    for _ in range(loops):
        scope = scopes.ConfinedScope()
        segment = scope.allocate(KIB)  # noqa: F841 - alive at close, as in programs
        scope.close()


def confined_with(loops: int) -> None:
    for _ in range(loops):
        with scopes.ConfinedScope() as scope:
            segment = scope.allocate(KIB)  # noqa: F841


def shared(loops: int) -> None:
    for _ in range(loops):
        scope = scopes.SharedScope()
        segment = scope.allocate(KIB)  # noqa: F841 - alive at close, as in programs
        scope.close()


def cffi_release(loops: int) -> None:
    new, release = ffi.new, ffi.release
    for _ in range(loops):
        release(new("char[]", KIB))


def mmap_close(loops: int) -> None:
    for _ in range(loops):
        mapped = mmap.mmap(-1, KIB)
        mapped.close()


def confined_touch(loops: int) -> None:
    for _ in range(loops):
        scope = scopes.ConfinedScope()
        scope.allocate(KIB)[0] = 1
        scope.close()


def mmap_touch(loops: int) -> None:
    for _ in range(loops):
        mapped = mmap.mmap(-1, KIB)
        mapped[0] = 1
        mapped.close()


def segments(loops: int) -> None:
    for _ in range(loops // 1000):
        scope = scopes.ConfinedScope()
        allocate = scope.allocate
        for _ in range(1000):
            allocate(64)
        scope.close()


def segments_kept(loops: int) -> None:
    for _ in range(loops // 1000):
        scope = scopes.ConfinedScope()
        allocate = scope.allocate
        kept = [allocate(64) for _ in range(1000)]
        scope.close()
        del kept


def confined_mib(loops: int) -> None:
    for _ in range(loops):
        scope = scopes.ConfinedScope()
        segment = scope.allocate(MIB)
        for page in range(0, MIB, PAGE):
            segment[page] = 1
        scope.close()


def mmap_mib(loops: int) -> None:
    for _ in range(loops):
        mapped = mmap.mmap(-1, MIB)
        for page in range(0, MIB, PAGE):
            mapped[page] = 1
        mapped.close()


def numpy_mib(loops: int) -> None:
    for _ in range(loops):
        array = np.empty(MIB, np.uint8)
        for page in range(0, MIB, PAGE):
            array[page] = 1
        del array


def numpy_zeros_mib(loops: int) -> None:
    for _ in range(loops):
        array = np.zeros(MIB, np.uint8)
        for page in range(0, MIB, PAGE):
            array[page] = 1
        del array


@dataclass
class Operation:
    """Something to time; loops is the number of operations in one timing."""

    run: Callable[[int], None]
    loops: int
    times: list[float] = field(default_factory=list)  # s/op, one a round

    def time(self) -> None:
        gc.collect()
        start = time.perf_counter()
        self.run(self.loops)
        self.times.append((time.perf_counter() - start) / self.loops)

    @property
    def median(self) -> float:
        return statistics.median(self.times)


def time_jvm(command: str) -> float:
    """Seconds that the JVM takes for one confined scope, by its own median."""
    output = subprocess.run(shlex.split(command), check=True, capture_output=True, text=True).stdout
    return float(json.loads(output.splitlines()[0])["median_us"]) * 1e-6


def measure(rounds: int, jvm: str | None) -> dict[str, float]:
    """Medians in s/op by name."""
    operations = {
        "confined": Operation(confined, 200_000),
        "confined_with": Operation(confined_with, 200_000),
        "shared": Operation(shared, 200_000),
        "cffi_release": Operation(cffi_release, 100_000),
        "mmap_close": Operation(mmap_close, 10_000),
        "confined_touch": Operation(confined_touch, 200_000),
        "mmap_touch": Operation(mmap_touch, 10_000),
        "segments": Operation(segments, 100_000),
        "segments_kept": Operation(segments_kept, 100_000),
        "confined_mib": Operation(confined_mib, 1_000),
        "mmap_mib": Operation(mmap_mib, 200),
        "numpy_mib": Operation(numpy_mib, 200),
        "numpy_zeros_mib": Operation(numpy_zeros_mib, 200),
    }
    for operation in operations.values():
        operation.time()
        operation.times.clear()  # the first one warms up
    jvm_times = []
    for _ in range(rounds):
        for operation in operations.values():
            operation.time()
        if jvm is not None:
            jvm_times.append(time_jvm(jvm))
    medians = {name: operation.median for name, operation in operations.items()}
    if jvm_times:
        medians["jvm_confined"] = statistics.median(jvm_times)
    return medians


RATIOS = [
    # what, over what, must be at most, aim
    ("confined", "jvm_confined", 0.9, 0.75),
    ("confined_with", "jvm_confined", 1.25, 1.1),
    ("shared", "confined", 1.3, None),
    ("confined", "cffi_release", 1 / 3, None),
    ("shared", "cffi_release", 1 / 3, None),
    ("confined", "mmap_close", 1 / 50, None),
    ("shared", "mmap_close", 1 / 50, None),
    ("confined_touch", "mmap_touch", 1 / 50, None),
    ("confined_mib", "mmap_mib", 0.3, 0.15),
    ("confined_mib", "numpy_mib", 0.3, 0.15),
    ("confined_mib", "numpy_zeros_mib", 0.3, 0.15),
]


def mapped_over_live() -> float:
    """Mapped bytes, cached ones apart, to live ones; 1,000 segments of 64 bytes in one scope."""
    scopes.trim()
    before = scopes.statistics()
    with scopes.ConfinedScope() as scope:
        kept = [scope.allocate(64) for _ in range(1000)]
        now = scopes.statistics()
        used = (now.mapped_bytes - now.cached_bytes) - (before.mapped_bytes - before.cached_bytes)
        return used / (64 * len(kept))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--jvm", metavar="COMMAND")
    options = parser.parse_args()
    medians = measure(options.rounds, options.jvm)
    for name, seconds in medians.items():
        print(f"{name:16} {seconds * 1e9:12.1f} ns/op")
    print()
    for what, over, most, aim in RATIOS:
        if over in medians:
            ratio = medians[what] / medians[over]
            wanted = f"at most {most:.3f}" + (f", aim {aim}" if aim else "")
            print(f"{what + ' / ' + over:32} {ratio:7.3f}   {wanted}")
    print(f"{'mapped / live, 1,000 x 64 bytes':32} {mapped_over_live():7.3f}   at most 1.25")


if __name__ == "__main__":
    main()
