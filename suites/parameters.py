"""What can be varied from cell to cell: `--param NAME=VALUE,VALUE`, and the name of a cell.

Every parameter is an option of its own as well (`--size 1KiB`). What differs from its default is in
the names of the cells it matters to; a cell that it does not matter to is measured once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from results.names import format_size, parse_size
from stress.heap import MAKERS
from stress.modes import StressMode
from stress.spinners import SPINNERS
from suites.allocators import LIBRARIES, PYTHON_MALLOC, Allocator
from suites.replays.options import THINK, THREADS, ScopeBy, Source
from suites.rows import SCOPES, TOUCHES, Row, touches
from suites.watchers import WATCHERS


@dataclass(frozen=True)
class Parameter:
    """One value of a cell, and its option."""

    name: str
    part: str
    """The field of a cell that holds it: "work", "stress", or "" for the cell itself."""
    metavar: str
    help: str
    parse: Callable[[str], Any]
    format: Callable[[Any], str] = str
    matters: Callable[[Row, StressMode], bool] = lambda row, mode: True
    """Whether it has an effect on a row in a mode."""
    has_option: bool = True
    """False where something else than an option of its own says it."""
    repeatable: bool = False
    """Whether its option may be given several times; --param may for all."""

    @property
    def attribute(self) -> str:
        return self.name.replace("-", "_")

    def of(self, cell: Any) -> Any:
        """The value that a cell has."""
        return getattr(getattr(cell, self.part) if self.part else cell, self.attribute)

    def text(self, cell: Any) -> str:
        """That value as in the name of the cell: a size that counts things is a plain number."""
        value = self.of(cell)
        return str(value) if self.name == "size" and cell.counts else self.format(value)


@dataclass(frozen=True)
class Sweep:
    """The values of one `--param`, and its text."""

    parameter: Parameter
    values: tuple[Any, ...]
    text: str

    @classmethod
    def parse(cls, text: str) -> "Sweep":
        """ValueError says what was expected and what was found."""
        name, equals, values = text.partition("=")
        if not equals:
            raise ValueError(f"expected NAME=VALUE or NAME=VALUE,VALUE..., found {text!r}")
        if name not in PARAMETERS:
            raise ValueError(
                f"expected one of {', '.join(PARAMETERS)} before the =, found {name!r}"
            )
        parameter = PARAMETERS[name]
        try:
            parsed = tuple(map(parameter.parse, values.split(",")))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        return cls(parameter, parsed, text)

    def __str__(self) -> str:
        return self.text


def swept(sweeps: Iterable[Sweep], parameter: Parameter) -> list[Any]:
    """All values that are asked for a parameter, in order."""
    return [value for sweep in sweeps if sweep.parameter is parameter for value in sweep.values]


def size(text: str) -> int:
    nbytes = parse_size(text)
    if nbytes < 1:
        raise ValueError(f"a size is at least 1 byte, found {text!r}")
    return nbytes


def count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"expected a whole number of at least 1, found {text!r}")
    return int(text)


def one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"expected one of {', '.join(words)}; found {text!r}")
        return text

    return parse


def _sized(row: Row, mode: StressMode) -> bool:
    return row.sized


def _touched(row: Row, mode: StressMode) -> bool:
    return touches(row)


def _periodic(row: Row, mode: StressMode) -> bool:
    return row.periodic


def _shareable(row: Row, mode: StressMode) -> bool:
    return row.sharing is not None


def _loops(row: Row, mode: StressMode) -> bool:
    return row.replays is None


def _watched(row: Row, mode: StressMode) -> bool:
    return row.replays is None or row.replays.holds_gil


def _replays(row: Row, mode: StressMode) -> bool:
    return row.replays is not None


def _thinks(row: Row, mode: StressMode) -> bool:
    return row.replays is not None and row.replays.thinks


def _replays_in_threads(row: Row, mode: StressMode) -> bool:
    return row.replays is not None and not row.replays.holds_gil


def _replays_by_arena(row: Row, mode: StressMode) -> bool:
    return row.replays is not None and row.replays.scoped and row.replays.engine is not None


def _in_memory(row: Row, mode: StressMode) -> bool:
    return mode is StressMode.MEMORY


def _in_threads(row: Row, mode: StressMode) -> bool:
    return mode is StressMode.THREADS


_WORK = (
    Parameter(
        "size",
        part="work",
        metavar="BYTES",
        help="bytes allocated, as 1024, 64KiB or 1MiB or a count; repeatable",
        parse=size,
        format=format_size,
        matters=_sized,
        repeatable=True,
    ),
    Parameter(
        "touch",
        part="work",
        metavar="WHAT",
        help="bytes written: none, the first of each page, all",
        parse=one_of(*TOUCHES),
        matters=_touched,
    ),
    Parameter(
        "collect-every",
        part="work",
        metavar="N",
        help="operations between two collections in periodic rows",
        parse=count,
        matters=_periodic,
    ),
    Parameter(
        "threads-measured",
        part="work",
        metavar="K",
        help="threads that run a row at once; scores are per operation of one of them, with all of"
        " them running",
        parse=count,
        matters=_loops,
    ),
    Parameter(
        "scope",
        part="work",
        metavar="WHOSE",
        help="own: each operation opens a scope; shared: the threads allocate from one, in rows"
        " that allow it",
        parse=one_of(*SCOPES),
        matters=_shareable,
    ),
    Parameter(
        "allocator",
        part="",
        metavar="NAME",
        help=f"of Python's objects: {', '.join(PYTHON_MALLOC)}; in place of malloc, and for"
        f" Python's objects as well: {', '.join(LIBRARIES)}; or one of each, as pymalloc+jemalloc",
        parse=Allocator.parse,
    ),
    Parameter(
        "under",
        part="",
        metavar="WATCHER",
        help="what watches meanwhile: "
        + "; ".join(f"{name}: {watcher.summary}" for name, watcher in WATCHERS.items())
        + ". Rows that it can't see are left out",
        parse=one_of(*WATCHERS),
        matters=_watched,
    ),
)
_STRESS = (
    Parameter(
        "heap-objects",
        part="stress",
        metavar="N",
        help="MEMORY: live objects in the heap",
        parse=count,
        matters=_in_memory,
    ),
    Parameter(
        "heap-kind",
        part="stress",
        metavar="KIND",
        help="MEMORY: containers, which the collector walks, or bytes",
        parse=one_of(*MAKERS),
        matters=_in_memory,
    ),
    Parameter(
        "threads",
        part="stress",
        metavar="N",
        help="THREADS: busy threads",
        parse=count,
        matters=_in_threads,
    ),
    Parameter(
        "spin",
        part="stress",
        metavar="KIND",
        help="THREADS: python contends for the GIL, native for the cores",
        parse=one_of(*SPINNERS),
        matters=_in_threads,
    ),
)
_REPLAY = (
    Parameter(
        "recording",
        part="replay",
        metavar="DIR",
        help="a recording, by its place; in names by its name",
        parse=Source.parse,
        matters=_replays,
        has_option=False,
    ),
    Parameter(
        "replay-threads",
        part="replay",
        metavar="HOW",
        help="recorded: a thread for each recorded one; merged: one thread does all",
        parse=one_of(*THREADS),
        matters=_replays_in_threads,
    ),
    Parameter(
        "think",
        part="replay",
        metavar="TIME",
        help="none: as fast as it can; recorded: an operation waits for the time it was recorded"
        " at, where that is known",
        parse=one_of(*THINK),
        matters=_thinks,
    ),
    Parameter(
        "scope-by",
        part="replay",
        metavar="WHAT",
        help="arena: recorded, its scopes as recorded, or window where there are none; thread: one"
        " a thread; window: one for so many allocations of a thread; none: one an object",
        parse=ScopeBy,
        matters=_replays_by_arena,
    ),
    Parameter(
        "window",
        part="replay",
        metavar="N",
        help="arena: allocations to a scope by window",
        parse=count,
        matters=_replays_by_arena,
    ),
)
#: By name, in the order in which they vary, the last one fastest.
PARAMETERS = {parameter.name: parameter for parameter in (*_REPLAY, *_WORK, *_STRESS)}


def that_matter(row: Row, mode: StressMode) -> list[Parameter]:
    """The parameters with an effect on a row in a mode."""
    return [parameter for parameter in PARAMETERS.values() if parameter.matters(row, mode)]
