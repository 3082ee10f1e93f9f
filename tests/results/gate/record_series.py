"""Records the series that the gate is proven on: many processes of a few rows of a suite.

    python tests/results/gate/record_series.py FILE [--processes N] [--mode MODE]

Rows are measured in rounds, a process each, so that a slow phase of the machine touches all of
them. Of each process the means of its values are kept: the gate looks at nothing else. The file is
written anew after each round.

series-busy.json was recorded while other programs wanted both CPUs for themselves; series-calm.json
(--mode NONE --mode MEMORY) likewise, but with a priority above theirs (chrt --fifo 1).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from results.files import read
from results.model import Row
from results.statistics import mean

ROOT = Path(__file__).resolve().parents[3]
# Rows by regular expression of their name, and the options that make their cells.
PARTS = (
    ("baseline|_close$|refcount|weakref|budget", ("--mode", "NONE")),
    ("^confined|^implicit_close$|budget", ("--mode", "NONE", "--size", "1MiB")),
    ("^confined|^implicit_close$", ("--mode", "MEMORY", "--heap-objects", "200000")),
    ("baseline|^confined", ("--mode", "THREADS", "--min-time", "0.3")),
)
MODES = ("NONE", "MEMORY", "THREADS")
PROVENANCE = (
    *("scopestress_python", "scopestress_build", "scopestress_gil", "scopestress_gc_thresholds"),
    *("scopestress_gc", "scopestress_object_allocator", "scopestress_malloc", "scopestress_thp"),
    *("scopestress_kernel", "scopestress_cpu", "scopestress_probes", "cpu_count"),
)
DIGITS = 6


def cells(modes: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    """The name of every cell in these modes and the options that select it alone."""
    found = []
    for only, options in PARTS:
        if options[1] not in modes:
            continue
        command = [sys.executable, "-m", "suites.scope_close", "--list", "--only", only, *options]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        for line in listed.stdout.splitlines():
            name = line.split()[0]
            escaped = name.replace("[", r"\[").replace("]", r"\]")
            found.append((name, (*options, "--only", f"^{escaped}$")))
    return found


def measure(options: tuple[str, ...], loops: int | None) -> Row:
    """One process of a cell."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        command = [sys.executable, "-m", "suites.scope_close", *options, "-p", "1", "-n", "3"]
        command += ["--loops", str(loops)] * (loops is not None)
        subprocess.run([*command, "-o", str(path)], cwd=ROOT, check=True, capture_output=True)
        (row,) = read(path).rows
        return row


def record(processes: int, modes: list[str]) -> Iterator[dict[str, list[Row]]]:
    """Rows by name, a row a process, all with the loops of the first; a time a round."""
    wanted = cells(modes)
    loops = {name: measure(options, None).loops[0] for name, options in wanted}
    found: dict[str, list[Row]] = {name: [] for name, _ in wanted}
    for number in range(processes):
        for name, options in wanted:
            found[name].append(measure(options, loops[name]))
        print(f"round {number + 1} of {processes}", file=sys.stderr, flush=True)
        yield found


def compact(rows: list[Row]) -> dict[str, Any]:
    """One row of so many processes, as `conftest.py` reads it."""
    first = rows[0]
    figures = {}
    for name, one in first.metrics.items():
        if one.unsupported is None:
            metric = one.metric
            means = [rounded(mean(row.metrics[name].values)) for row in rows]
            figures[name] = [metric.unit, metric.agg, metric.better, metric.floor, means]
    return {
        "name": first.name,
        "operation": first.operation,
        "mode": first.mode,
        "params": dict(first.params),
        "loops": first.loops[0],
        "inner_loops": first.inner_loops,
        "score": [rounded(mean(row.score.values)) for row in rows],
        "metrics": figures,
    }


def rounded(value: float) -> float:
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short == int(short) else short


def provenance(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: metadata[key] for key in PROVENANCE if key in metadata}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--processes", type=int, default=36)
    parser.add_argument("--mode", action="append", choices=MODES)
    args = parser.parse_args()
    for found in record(args.processes, args.mode or list(MODES)):
        rows = list(found.values())
        whole = {"provenance": provenance(rows[0][0].metadata), "rows": [compact(r) for r in rows]}
        text = json.dumps(whole, separators=(",", ":")).replace('{"name"', '\n{"name"')
        made = args.file.with_suffix(".tmp")
        made.write_text(text + "\n")
        made.replace(args.file)


if __name__ == "__main__":
    main()
