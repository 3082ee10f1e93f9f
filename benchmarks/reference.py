"""Makes the reference results, and what is made from them: tables of README and docs, the picture.

    python benchmarks/reference.py [NAME ...]   # measures (all suites), then writes all three
    python benchmarks/reference.py --table      # writes tables and picture from the files there are
    python benchmarks/reference.py --check      # exit 1 if they are not made from the files

Nothing in results/reference is edited by hand.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from results.files import read, write_bytes
from results.model import Results, Row
from results.report.charts import CHARTS
from results.report.panel import picture
from results.schema import SCORE
from results.statistics import estimate
from results.words import words

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import reference_replay  # noqa: E402

FOLDER = ROOT / "results" / "reference"
TRACES = ROOT / "results" / "traces"
REFERENCE = FOLDER / "scope_close.json"
PICTURE = REFERENCE.with_suffix(".svg")
README = ROOT / "README.md"
REPLAY_PAGE = ROOT / "docs" / "replay.md"
BEGIN = "<!-- made by `make reference`: begin -->\n"
END = "<!-- made by `make reference`: end -->\n"
# More than --quick has: the 99.9 % interval of 8 processes has a half-width of 5.4 standard errors,
# that of 4 one of 13.
COMMANDS = {
    "scope_close": ("suites.scope_close", "--quick", "-p", "8", "-n", "2"),
    "replay": (
        "suites.replay",
        *(str(path.relative_to(ROOT)) for path in sorted(TRACES.glob("*.tar.xz"))),
        *("-p", "5", "-n", "2"),
    ),
    "thread_alloc": ("suites.thread_alloc", "--mode", "NONE"),
    "multi_array_alloc": ("suites.multi_array_alloc", "--quick", "--mode", "NONE", "-p", "6"),
}
# Of the machine that measured, not of the measurement.
PRIVATE_METADATA = ("hostname", "python_executable", "python_config_args", "boot_time")
MODES = ("NONE", "MEMORY", "THREADS")


def measure(name: str) -> None:
    """Runs a suite and puts its file, without the names of the machine, in place."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        made = Path(folder) / "run.json"
        command = [sys.executable, "-m", *COMMANDS[name], "-o", str(made)]
        subprocess.run(command, cwd=ROOT, check=True)
        text = json.dumps(without_private(json.loads(made.read_text())), separators=(",", ":"))
        made.write_text(text.replace('{"metadata":', '\n{"metadata":') + "\n")
        os.replace(made, FOLDER / f"{name}.json")


def without_private(value: object) -> object:
    """The same JSON value without the private keys, at any depth."""
    if isinstance(value, dict):
        return {k: without_private(v) for k, v in value.items() if k not in PRIVATE_METADATA}
    if isinstance(value, list):
        return [without_private(item) for item in value]
    return value


def figure(row: Row | None, name: str, scale: float, digits: int) -> str:
    """The aggregate of a metric, scaled; a dash where there is none."""
    figures = row.figures(name) if row is not None else None
    value = estimate(figures).value if figures is not None else None
    return "-" if value is None else f"{value * scale:,.{digits}f}"


def table(results: Results) -> str:
    """A line for each operation and size, its modes side by side, and what it costs besides."""
    by_key = {(row.operation, row.params.get("size", ""), row.mode): row for row in results.rows}
    keys = list(dict.fromkeys((operation, size) for operation, size, _ in by_key))
    keys.sort(key=lambda key: key[1] == "1MiB")  # stable: in the order of the file otherwise
    lines = [
        "| benchmark | size | NONE | MEMORY | THREADS, CPU "
        "| collector | worst pause | RSS growth |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for operation, size in keys:
        none, memory, threads = (by_key.get((operation, size, mode)) for mode in MODES)
        cells = [
            f"`{operation}`",
            size,
            figure(none, SCORE, 1e6, 3),
            figure(memory, SCORE, 1e6, 3),
            figure(threads, "score.cpu", 1e6, 3),
            figure(none, "gc.share", 100, 0) + " %",
            figure(memory, "gc.pause.max", 1e3, 1) + " ms",
            figure(none, "rss.growth", 2**-20, 0) + " MiB",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def where(results: Results) -> str:
    """What measured."""
    metadata = results.metadata
    return ", ".join(
        (
            str(metadata["scopestress_python"]),
            str(metadata["scopestress_cpu"]),
            f"{metadata['cpu_count']} CPUs",
            str(metadata["scopestress_kernel"]),
        )
    )


def section(results: Results) -> str:
    """What stands between the marks of the README."""
    said = "\n".join(f"> - {line}" for line in words(results))
    return (
        f"{table(results)}\n"
        "us/op; collector (share of the time) and RSS growth in NONE, the worst pause in MEMORY. "
        f"{where(results)}.\n"
        f"What the tool says of it:\n\n{said}\n"
    )


def with_section(page: str, text: str) -> str:
    """A page with what stands between its marks made anew."""
    before, rest = page.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def pages() -> dict[Path, str]:
    """What README and docs have to say, from the files that are there."""
    replays = read(FOLDER / "replay.json")
    return {
        README: with_section(README.read_text(), section(read(REFERENCE))),
        REPLAY_PAGE: with_section(
            REPLAY_PAGE.read_text(), reference_replay.section(replays, where(replays))
        ),
    }


def source() -> str:
    """What the picture says it was made from: the content of the file, not its name."""
    return f"sha256:{hashlib.sha256(REFERENCE.read_bytes()).hexdigest()}"


def draw(results: Results) -> None:
    """The thrash of an idle process: score against memory and the collector's time."""
    calm = replace(results, rows=tuple(row for row in results.rows if row.mode == MODES[0]))
    panels = CHARTS["thrash"].panels(calm)
    write_bytes(PICTURE, picture(panels, "svg", source()), overwrite=True)


def check() -> int:
    for page, text in pages().items():
        if page.read_text() != text:
            print(f"the table of {page.name} is not that of results/reference: `make reference`")
            return 1
    if not PICTURE.exists() or source() not in PICTURE.read_text():
        print(f"{PICTURE.name} was not made from {REFERENCE.name}: run `make reference`")
        return 1
    print("tables and picture are those of the reference results")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(COMMANDS)}")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--table", action="store_true", help="only the tables and the picture")
    what.add_argument("--check", action="store_true", help="only compare")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in COMMANDS]
    if unknown:
        parser.error(f"expected names of {', '.join(COMMANDS)}, found {unknown[0]}")
    if options.check:
        return check()
    for name in () if options.table else options.names or COMMANDS:
        measure(name)
    for page, text in pages().items():
        page.write_text(text)
    draw(read(REFERENCE))
    return 0


if __name__ == "__main__":
    sys.exit(main())
