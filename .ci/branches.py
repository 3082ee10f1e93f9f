"""Line and branch coverage of the C core, from the counters that its tests left.

usage: branches.py SOURCES COUNTERS

SOURCES is the folder of the C files, COUNTERS one with .gcda files of any number of builds. A
branch is taken if it was in any build that makes the same branches of its line. Each one that is
not needs a comment that says why, at the end of its line or on the lines before:

    /* untaken: nothing can take it, or nothing where there is a GIL */
    /* by chance: taken where threads meet, or a collection comes, just then */

A line with a macro of Python.h that has branches inside (MACROS) is not looked at. Fails where a
branch is neither taken nor explained, and where an explanation is not needed any more.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MACROS = re.compile(r"\b(Py_CLEAR|Py_SETREF|Py_VISIT)\(")
EXPLANATION = re.compile(r"/\* (untaken|by chance): .*?\*/", re.DOTALL)


@dataclass
class Line:
    """How often a line ran, and its branches, by its function and their number."""

    count: int = 0
    branches: dict[tuple[str, int], list[int]] = field(default_factory=dict)

    def add(self, found: dict[str, Any]) -> None:
        self.count += found["count"]
        counts = [branch["count"] for branch in found["branches"]]
        key = found.get("function_name", ""), len(counts)
        before = self.branches.get(key, [0] * len(counts))
        self.branches[key] = [a + b for a, b in zip(before, counts, strict=True)]

    def taken(self) -> list[bool]:
        return [count > 0 for counts in self.branches.values() for count in counts]


@dataclass
class Totals:
    run: int = 0
    lines: int = 0
    taken: int = 0
    branches: int = 0
    explained: int = 0

    def add(self, other: Totals) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def row(self, name: str) -> str:
        lines = f"lines {self.run:4} of {self.lines:4} {share(self.run, self.lines)}"
        taken = f"branches {self.taken:4} of {self.branches:4} {share(self.taken, self.branches)}"
        return f"{name:<16} {lines}  {taken}  explained {self.explained:2}"


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:5.1f} %" if whole else "      -"


def read_counters(folder: Path, names: set[str]) -> dict[str, dict[int, Line]]:
    """What gcov makes of all counters, by file and line."""
    files: dict[str, dict[int, Line]] = defaultdict(lambda: defaultdict(Line))
    counters = sorted(str(path) for path in folder.rglob("*.gcda"))
    done = subprocess.run(
        ["gcov", "--json-format", "--branch-probabilities", "--stdout", *counters],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    for document in done.stdout.splitlines():
        for file in json.loads(document)["files"]:
            name = Path(file["file"]).name
            for line in file["lines"] if name in names else ():
                files[name][line["line_number"]].add(line)
    return files


def explanations(text: str) -> dict[int, str]:
    """The kind of explanation by line: its own, or the next one for a comment that stands alone."""
    found = {}
    for match in EXPLANATION.finditer(text):
        alone = not text[: match.start()].rpartition("\n")[2].strip()
        found[text.count("\n", 0, match.end()) + 1 + alone] = match[1]
    return found


def judge(code: str, taken: list[bool], explained: str | None) -> str | None:
    """What is wrong with the branches of a line, if anything."""
    missed = [str(number) for number, was in enumerate(taken, 1) if not was]
    if missed and explained is None:
        return f"branch {', '.join(missed)} of {len(taken)} not taken: {code}"
    if not missed and explained == "untaken":
        return f"explained, but taken: {code}"
    return None


def check(path: Path, lines: dict[int, Line]) -> tuple[Totals, list[str]]:
    """The totals of a file, and what is wrong with it."""
    text = path.read_text()
    source = text.splitlines()
    if max(lines, default=0) > len(source):
        sys.exit(f"the counters are not those of this {path}, which has {len(source)} lines")
    explained = explanations(text)
    totals = Totals(explained=len(explained))
    wrong = [f"{path.name}:{n}: explained, but no branch" for n in explained if n not in lines]
    for number, line in sorted(lines.items()):
        code = source[number - 1].strip()
        taken = [] if MACROS.search(code) else line.taken()
        totals.add(Totals(line.count > 0, 1, sum(taken), len(taken)))
        problem = judge(code, taken, explained.get(number))
        if problem is not None:
            wrong.append(f"{path.name}:{number}: {problem}")
    return totals, wrong


def main() -> int:
    sources, counters = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    paths = sorted(sources.glob("*.[ch]"))
    files = read_counters(counters, {path.name for path in paths})
    total, wrong = Totals(), []
    for path in paths:
        totals, found = check(path, files.get(path.name, {}))
        total.add(totals)
        wrong += found
        if totals.lines:
            print(totals.row(path.name))
    print(total.row("all"))
    for problem in wrong:
        print(problem)
    if total.lines == 0:
        print(f"no counters of {sources} in {counters}")
    return 1 if wrong or total.lines == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
