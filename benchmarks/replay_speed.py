"""How fast the replay is, and that its memory does not grow with a recording.

    python benchmarks/replay_speed.py [--operations N] [--rounds N] [--folder DIR]

Makes two hot synthetic recordings in DIR, of N operations and of a tenth of that, and replays both
in one thread, against nothing and against malloc in turn. Printed are medians over the rounds, and
by how much the process grew at most while it replayed. Exit status 1 where malloc does fewer than
20 million operations a second, the replay itself takes more than 5 ns, or the long recording takes
more memory than the short one.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from stress.replay import Engine, Plan, Target
from suites.recordings.loader import Recording, load
from suites.recordings.synthetic import Hot
from suites.replays.replayer import BLOCK
from suites.replays.source import planned

LEAST_PER_S = 20e6
MOST_NS = 5.0
SLACK_BYTES = 1 << 20
"""The resolution of the kernel's count of resident bytes."""

TARGETS = {"nothing": Target.NULL, "malloc": Target.HEAP}


@dataclass
class Found:
    """Of a recording: ns an operation by target, a round each, and bytes."""

    ns: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in TARGETS})
    growth: int = 0


def resident() -> int:
    """Bytes of this process at their highest since `forget`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    raise OSError("/proc/self/status has no VmHWM")


def forget() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return resident()


def measure(recording: Recording, rounds: int) -> Found:
    found = Found()
    plan = Plan(recording.objects, recording.scopes, len(recording.threads), timed=False)
    engines = {name: Engine(target, plan) for name, target in TARGETS.items()}
    buffer = recording.buffer(BLOCK)
    before = forget()
    for _ in range(rounds):
        for name, engine in engines.items():
            ns = sum(engine.run(plan) for _ in planned(plan, recording, buffer))
            engine.release()
            found.ns[name].append(ns / len(recording.operations))
    found.growth = resident() - before
    for engine in engines.values():
        engine.close()
    plan.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--operations", type=int, default=100_000_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="default: for temporary files")
    args = parser.parse_args()
    print(f"{'operations':>12}{'nothing':>9}{'malloc':>9}{'a second':>12}{'growth':>12}")
    all_found = []
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for count in (args.operations // 10, args.operations):
            path = Path(folder) / str(count)
            Hot(count).write(path)
            found = measure(load(path), args.rounds)
            nothing, malloc = (statistics.median(found.ns[name]) for name in TARGETS)
            print(
                f"{count:>12,}{nothing:>6.2f} ns{malloc:>6.2f} ns{1e3 / malloc:>8.1f} M/s"
                f"{found.growth / 2**20:>8.1f} MiB"
            )
            all_found.append(found)
    short, long = all_found
    slow = statistics.median(long.ns["malloc"]) > 1e9 / LEAST_PER_S
    driver = statistics.median(long.ns["nothing"]) > MOST_NS
    return int(slow or driver or long.growth > short.growth + SLACK_BYTES)


if __name__ == "__main__":
    raise SystemExit(main())
