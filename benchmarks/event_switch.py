"""What the core's event switch costs while nobody records: instructions, counted by valgrind.

    python benchmarks/event_switch.py [--short]

Compiles the core with and without events, as setup.py does, and runs each operation in both under
callgrind, which counts the instructions of each function and no noise. The counts of a thousand and
of two thousand times give what one takes, within the core. It may take two more for each event that
it can make: a test and a branch. --short does the whole life of a scope only.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FEW, MANY = 1_000, 2_000

LIFE = "life"


@dataclass(frozen=True)
class Operation:
    """A line of Python that is repeated, what comes before, and how many events it makes."""

    code: str
    events: int
    before: str = ""


OPERATIONS = {
    "open, close and drop": Operation("ConfinedScope().close()", 3),
    "allocate and drop": Operation("allocate(64)", 2, "s = ConfinedScope(); allocate = s.allocate"),
    "export and unexport": Operation("bytes(m)", 2, "s = ConfinedScope(); m = s.allocate(64)"),
    LIFE: Operation("s = ConfinedScope(); m = s.allocate(64); bytes(m); s.close(); del s, m", 7),
}


def build(folder: Path, *options: str) -> Path:
    """The package in the folder, its core compiled with these options in addition."""
    package = folder / "scopes"
    shutil.copytree(ROOT / "scopes", package, ignore=shutil.ignore_patterns("*.so", "csrc"))
    variables = sysconfig.get_config_vars()
    command = [*shlex.split(variables["CC"]), *shlex.split(variables["CFLAGS"])]
    command += ["-std=c11", "-D_GNU_SOURCE", "-fvisibility=hidden", "-fno-plt", "-fPIC", "-shared"]
    if variables.get("Py_GIL_DISABLED"):
        command += ["-DSCOPES_CONCURRENT=1"]
    source, target = ROOT / "scopes/csrc/core.c", package / f"_core{variables['EXT_SUFFIX']}"
    include = f"-I{sysconfig.get_path('include')}"
    subprocess.run([*command, *options, include, str(source), "-o", str(target)], check=True)
    return folder


def instructions(where: Path, operation: Operation, times: int) -> int:
    """Those in the core itself, of a process that runs the operation so many times."""
    loop = f"{operation.before}\nfor _ in range({times}):\n    {operation.code}"
    code = f"from scopes import ConfinedScope, _core\ndef run():\n{indented(loop)}\nrun()"
    code += f"\nassert _core.__file__.startswith({str(where)!r})"
    counts = where / "counts"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}"]
    output(where, *command, sys.executable, "-c", code)
    lines = output(where, "callgrind_annotate", "--threshold=100", "--auto=no", str(counts))
    found = re.findall(r"^ *([\d,]+) .*/scopes/csrc/", lines, re.MULTILINE)
    return sum(int(count.replace(",", "")) for count in found)


def output(where: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def indented(code: str) -> str:
    return "".join(f"    {line}\n" for line in code.splitlines())


def per_call(where: Path, operation: Operation) -> float:
    few, many = (instructions(where, operation, times) for times in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="the life of a scope only")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        parser.error("expected valgrind on the PATH, found none")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        without = build(Path(folder) / "without", "-DSCOPES_EVENTS=0")
        off = build(Path(folder) / "off")
        print(f"{'instructions':<22}{'without':>10}{'off':>10}{'more':>8}{'most':>6}")
        for name, operation in OPERATIONS.items():
            if args.short and name != LIFE:
                continue
            least, found = per_call(without, operation), per_call(off, operation)
            most = 2 * operation.events
            failed |= found - least > most
            print(f"{name:<22}{least:>10.1f}{found:>10.1f}{found - least:>8.1f}{most:>6}")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
