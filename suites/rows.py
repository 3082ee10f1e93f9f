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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from textwrap import dedent, indent
from typing import TYPE_CHECKING

from stress.probes import Probe

if TYPE_CHECKING:
    from suites.replays.targets import ReplayTarget

TOUCHES = ("none", "first", "all")
OWN, SHARED = SCOPES = ("own", "shared")
TOUCH = "touch(memory)"
INDENT = "    "
PAGE_BYTES = os.sysconf("SC_PAGESIZE")

#: Most bytes, and most operations of a thread, before a shared scope is closed: as many as are kept
#: warm, and enough to make little of what the meeting of the threads costs.
BYTES_PER_SCOPE = 64 << 20
OPERATIONS_PER_SCOPE = 4096

Loop = Callable[[Iterable[object]], None]


@dataclass(frozen=True)
class Sharing:
    """A row whose threads take their memory from one scope, which `body` has as `scope`.

    `open` and `close` make and end `shared.scope`, once in as many operations of a thread as
    `Work.operations_per_scope` says, in whichever thread is the last to be done with it.
    """

    open: str
    body: str
    close: str


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
    sharing: Sharing | None = None
    """How the threads share one scope; None where each has to have its own."""
    requires: str = ""
    """A module that this row needs and that may be missing."""
    probes: tuple[Callable[[], Probe], ...] = ()
    """What makes the probes of this row alone, beside those that --probe names."""
    replays: "ReplayTarget | None" = None
    """A recording is replayed against this, in place of a loop over the body."""

    @property
    def uses_scopes(self) -> bool:
        """Whether its operation makes objects of `scopes`."""
        if self.replays:
            return self.replays.engine is None
        return "from scopes import" in self.setup


BASELINE = Row(
    "baseline",
    "the empty operation in the same harness",
    body="pass",
    sized=False,
    sharing=Sharing(open="shared.scope = None", body="pass", close="pass"),
)
"""Every suite has it."""


@dataclass(frozen=True)
class Work:
    """How much is done in one operation."""

    size: int = 1024
    """Bytes allocated; in a suite that counts, how many things."""
    touch: str = "first"
    """One of `TOUCHES`: nothing, one byte a page, every byte."""
    collect_every: int = 256
    """Operations between two collections, for periodic rows."""
    threads_measured: int = 1
    """Threads that run the row at the same time."""
    scope: str = OWN
    """One of `SCOPES`: whether each operation opens a scope, or threads share one."""

    @property
    def operations_per_scope(self) -> int:
        """Operations of a thread between two closings of a shared scope."""
        fitting = BYTES_PER_SCOPE // (self.size * self.threads_measured)
        return min(max(fitting, 1), OPERATIONS_PER_SCOPE)


def touches(row: Row) -> bool:
    """Whether there is memory in the row's operation that it writes to."""
    if row.replays:
        return row.replays.touches
    return any(line.strip() == TOUCH for line in row.body.splitlines())


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

    `sampled`: a turn of the loop is one operation, also of a row that does something more every so
    many operations; `times` tells it after which, and is the one that has to wait for it.
    """
    if work.scope == SHARED and row.sharing:
        return _shared_source(row, row.sharing, work, sampled)
    body = _body(row, row.body, work)
    return _turns(body, "collect()", work.collect_every if row.periodic else 0, sampled)


def _shared_source(row: Row, sharing: Sharing, work: Work, sampled: bool) -> str:
    """Operations on one scope, then the meeting of the threads at which it is closed."""
    meeting = (
        "scope = memory = None\n"
        f"meet()  # the last thread does: {sharing.close}; {sharing.open}\n"
        "scope = shared.scope"
    )
    body = _body(row, sharing.body, work)
    turns = _turns(body, meeting, work.operations_per_scope, sampled)
    return f"scope = shared.scope\n{turns}scope = memory = None\n"


def _turns(body: str, periodically: str, period: int, sampled: bool) -> str:
    """The loop over a body, with something more after every so many of them; never for 0."""
    if not period:
        return f"for _ in times:\n{indent(body, INDENT)}\n"
    if sampled:
        lines = f"{body}\nif due:\n{indent(periodically, INDENT)}"
        return f"for due in times:\n{indent(lines, INDENT)}\n"
    lines = f"for _ in range({period}):\n{indent(body, INDENT)}\n{periodically}"
    return f"for _ in times:\n{indent(lines, INDENT)}\n"


def _body(row: Row, text: str, work: Work) -> str:
    """The lines of an operation with the stores in them."""
    lines = []
    for line in dedent(text).strip("\n").splitlines():
        if line.strip() == TOUCH:
            margin = line[: len(line) - len(line.lstrip())]
            lines += indent(touch_lines(row, work), margin).splitlines()
        else:
            lines.append(line)
    return "\n".join(lines)


def run_setup(row: Row, work: Work) -> dict[str, object]:
    """The names that the row's setup makes; ImportError if a module it needs is missing."""
    names: dict[str, object] = {"size": work.size}
    if work.touch == "all":
        names["pattern"] = b"\1" * work.size
    if work.touch == "first":
        names["pages"] = tuple(range(0, work.size, PAGE_BYTES))
    setup = dedent(row.setup) + ("\nfrom gc import collect" if row.periodic else "")
    exec(compile(setup, f"<setup of {row.name}>", "exec"), names)
    names.pop("__builtins__")
    return names


def compile_loop(
    row: Row, work: Work, sampled: bool = False, shared: Mapping[str, object] | None = None
) -> Loop:
    """Run the row's setup and return its loop, a function of the iterable that drives it.

    The names of the setup, and those that threads share, become local variables of the loop, as in
    timeit: what is timed is the operation and not the look-up of globals. ImportError if a module
    the row needs is missing.
    """
    names = run_setup(row, work) | dict(shared or {})
    parameters = "".join(f", {name}={name}" for name in names)
    source = f"def loop(times{parameters}):\n{indent(loop_source(row, work, sampled), INDENT)}"
    exec(compile(source, f"<{row.name}>", "exec"), names)
    loop: Loop = names["loop"]  # type: ignore[assignment]
    return loop
