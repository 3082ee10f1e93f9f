"""Makes the corpus: recordings of the programs in benchmarks/traced, packed, in results/traces.

    python benchmarks/traces.py [NAME ...]

Each program works on what it makes itself or finds in the standard library, so that a recording has
nothing of anybody in it. README.md beside them tells what is in each; it is made here, too.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from results.units import brief  # noqa: E402
from suites.recordings.loader import load  # noqa: E402
from suites.recordings.packed import SUFFIX, pack  # noqa: E402
from suites.recordings.summary import summarize  # noqa: E402
from suites.recordings.writer import write_json  # noqa: E402

PROGRAMS = Path("benchmarks/traced")
TRACES = ROOT / "results" / "traces"
OF_SCOPES = "frame_pipeline"
"""Recorded by the scopes themselves; the others by memray."""

PRIVATE = ("pid", "started", "exit_status", "stopped", "max_bytes", "max_operations")
"""Of info.json: nothing that a replay needs, and another at each making."""

HEAD = """\
# The corpus

Recordings of real Python work, for `python -m suites.replay`. Made by `make traces` of the programs
in `benchmarks/traced`; `python -m suites.record info FILE` tells more of each.

| recording | program | by | operations | threads | peak | small | short-lived |
|---|---|---|--:|--:|--:|--:|--:|
"""
TAIL = """
Peak: bytes live at most. Small: share of the allocations of at most 512 bytes. Short-lived: share
of the objects that ended within 1,000 operations.
"""


def record(name: str, folder: Path) -> None:
    """Record a program to a new folder."""
    program = str(PROGRAMS / f"{name}.py")
    environ = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}
    if name == OF_SCOPES:
        command = [sys.executable, program]
        environ["SCOPES_RECORD"] = str(folder)
    else:
        command = [sys.executable, "-m", "suites.record", "-o", str(folder), "--", program]
    subprocess.run(command, cwd=ROOT, env=environ, check=True)


def normalise(folder: Path, name: str) -> None:
    """Leave out what differs from making to making, and names of places."""
    info = load(folder).info
    kept = {key: value for key, value in info.items() if key not in PRIVATE}
    kept["command"] = [str(PROGRAMS / f"{name}.py")]
    provenance = dict(info.get("provenance", {}))
    provenance.pop("scopestress_environ", None)
    if provenance:
        kept["provenance"] = provenance
    write_json(folder / "info.json", kept)


def make(name: str) -> None:
    """Make the recording of a program, in place of the one there is."""
    with tempfile.TemporaryDirectory() as place:
        folder, packed = Path(place, name), Path(place, name + SUFFIX)
        record(name, folder)
        normalise(folder, name)
        pack(load(folder), packed)
        TRACES.mkdir(exist_ok=True)
        part = TRACES / f"{packed.name}.part"
        part.write_bytes(packed.read_bytes())
        part.replace(TRACES / packed.name)


def line(path: Path) -> str:
    """Its line of the README."""
    recording = load(path)
    found = summarize(recording)
    name = path.name.removesuffix(SUFFIX)
    text = (ROOT / PROGRAMS / f"{name}.py").read_text().split('"""')[1].splitlines()[0].rstrip(".")
    cells = [
        f"`{name}`",
        text,
        recording.info["source"],
        f"{len(recording.operations):,}",
        str(len(recording.threads)),
        brief("bytes", recording.info["peak_bytes"]),
        _percent(found.small, found.allocations),
        _percent(found.objects.short, found.objects.count),
    ]
    return f"| {' | '.join(cells)} |"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"


def main() -> None:
    programs = sorted(path.stem for path in (ROOT / PROGRAMS).glob("*.py"))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="all programs unless given")
    for name in parser.parse_args().names or programs:
        make(name)
    lines = [line(path) for path in sorted(TRACES.glob(f"*{SUFFIX}"))]
    (TRACES / "README.md").write_text(HEAD + "\n".join(lines) + "\n" + TAIL)


if __name__ == "__main__":
    main()
