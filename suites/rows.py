"""A row of a suite: the lines that are timed, and how they become a loop.

The body of a row is the text of the few lines a user would write. It is compiled into a loop of the
same shape for every row,

    for _ in times:
        <body>

because a function call for each operation would cost about as much as the fastest rows do. The
text is also what `--list -v` prints, so nothing is timed that a reader can't see. Where single
calls are timed, `times` reads the clock at every turn, and the loop of a periodic row is flat.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from textwrap import dedent, indent

from stress.probes import Probe

TOUCHES = ("none", "first", "all")
PAGE_BYTES = os.sysconf("SC_PAGESIZE")

Loop = Callable[[Iterable[object]], None]


@dataclass(frozen=True)
class Row:
    """One operation under test.

    `setup` runs once, outside the clock; its names and `size` (bytes) are what `body` may use. The
    memory is called `memory` in every body, and a line `touch(memory)` stands where it is written
    to; it is replaced by plain stores, see `touch_lines`.
    """

    name: str
    summary: str
    body: str
    setup: str = ""
    fill: str = "memory[:] = pattern"
    """Writes `pattern` to every byte, in the way that is cheapest for this kind of memory."""
    sized: bool = True
    """False where the size changes nothing, so that one size is enough."""
    periodic: bool = False
    """One loop is `Work.collect_every` operations, then exactly one full collection."""
    cyclic: bool = False
    """Leaves garbage that only the cyclic collector finds."""
    requires: str = ""
    """A module that this row needs and that may be missing."""
    probes: tuple[Callable[[], Probe], ...] = ()
    """What makes the probes of this row alone, beside those that --probe names."""


BASELINE = Row("baseline", "the empty operation in the same harness", body="pass", sized=False)
"""Every suite has it."""


@dataclass(frozen=True)
class Work:
    """How much is done in one operation."""

    size: int = 1024
    """Bytes allocated."""
    touch: str = "first"
    """One of `TOUCHES`: nothing, one byte a page, every byte."""
    collect_every: int = 256
    """Operations between two collections, for periodic rows."""


def touch_lines(row: Row, work: Work) -> str:
    """The stores that `touch(memory)` stands for.

    They are the same text for all rows but where all bytes are written. Up to one page that is a
    single store (about 20 ns). Beyond, a loop over precomputed offsets costs 20 to 30 ns a page,
    for 1 MiB 6 us: little beside the page faults of fresh memory (about 1 us a page), but a third
    of the operation where memory is reused warm. `--touch none` shows the operation without it.
    """
    if work.touch == "none":
        return ""
    if work.touch == "all":
        return row.fill
    if work.size <= PAGE_BYTES:
        return "memory[0] = 1"
    return "for page in pages:\n    memory[page] = 1"


def loop_source(row: Row, work: Work, sampled: bool = False) -> str:
    """The timed loop as Python source, without the setup.

    `sampled`: a turn of the loop is one operation, also of a periodic row; `times` tells it which
    operation the collection comes after, and is the one that has to wait for it.
    """
    lines = []
    for line in dedent(row.body).strip("\n").splitlines():
        if line.strip() == "touch(memory)":
            margin = line[: len(line) - len(line.lstrip())]
            lines += indent(touch_lines(row, work), margin).splitlines()
        else:
            lines.append(line)
    body = "\n".join(lines)
    if row.periodic and sampled:
        return f"for due in times:\n{indent(body, '    ')}\n    if due:\n        collect()\n"
    if row.periodic:
        body = f"for _ in range({work.collect_every}):\n{indent(body, '    ')}\ncollect()"
    return f"for _ in times:\n{indent(body, '    ')}\n"


def compile_loop(row: Row, work: Work, sampled: bool = False) -> Loop:
    """Run the row's setup and return its loop, a function of the iterable that drives it.

    The names of the setup become local variables of the loop, as in timeit: what is timed is the
    operation and not the look-up of globals. ImportError if a module the row needs is missing.
    """
    names: dict[str, object] = {"size": work.size}
    if work.touch == "all":
        names["pattern"] = b"\1" * work.size
    if work.touch == "first":
        names["pages"] = tuple(range(0, work.size, PAGE_BYTES))
    setup = dedent(row.setup) + ("\nfrom gc import collect" if row.periodic else "")
    exec(compile(setup, f"<setup of {row.name}>", "exec"), names)
    names.pop("__builtins__")
    parameters = "".join(f", {name}={name}" for name in names)
    source = f"def loop(times{parameters}):\n{indent(loop_source(row, work, sampled), '    ')}"
    exec(compile(source, f"<{row.name}>", "exec"), names)
    loop: Loop = names["loop"]  # type: ignore[assignment]
    return loop
