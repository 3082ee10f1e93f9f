"""A suite, and its cells: one row in one stress mode at one size, under a name of its own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from results.names import format_name, format_size
from stress.modes import StressMode, StressOptions
from stress.probes import DEFAULT_PROBES
from suites.rows import Row, Work


@dataclass(frozen=True)
class Part:
    """Rows at one size, for a plan; all rows where none are named."""

    size: int
    rows: tuple[str, ...] = ()

    def covers(self, row: Row, size: int) -> bool:
        return size == self.size and (not self.rows or row.name in self.rows)


@dataclass(frozen=True)
class Suite:
    """The rows of one file `suites/NAME.py`."""

    name: str
    text: str
    """What is measured, the baseline, the wrong way, the right way, what to see; for --help."""
    rows: tuple[Row, ...]
    peers: tuple[Row, ...] = ()
    """Rows added by --peers."""
    quick: tuple[Part, ...] = ()
    """What --quick runs: the least that shows what the suite is about."""
    work: Work = field(default_factory=Work)
    """The defaults; what differs from them is in the names of cells."""
    sampled: bool = False
    """Times single calls, as --sample does for the others."""
    probes: tuple[str, ...] = DEFAULT_PROBES
    """On unless others are chosen."""


@dataclass(frozen=True)
class Cell:
    """One benchmark: what is done, under which stress, and the suite's defaults for its name."""

    row: Row
    mode: StressMode
    work: Work
    stress: StressOptions = field(default_factory=StressOptions)
    usual: Work = field(default_factory=Work)
    sampled: bool = False
    """Whether every operation is timed by itself."""

    @property
    def name(self) -> str:
        return format_name(self.row.name, self.mode, self.params)

    @property
    def params(self) -> dict[str, str]:
        """The parameters that matter to this cell and are not the default."""
        found: dict[str, str] = {}
        if self.row.sized and self.work.size != self.usual.size:
            found["size"] = format_size(self.work.size)
        if self.row.sized and self.work.touch != self.usual.touch:
            found["touch"] = self.work.touch
        if self.row.periodic and self.work.collect_every != self.usual.collect_every:
            found["collect-every"] = str(self.work.collect_every)
        default = StressOptions()
        for option in self.stress_options:
            value = getattr(self.stress, option)
            if value != getattr(default, option):
                found[option.replace("_", "-")] = str(value)
        return found

    @property
    def usual_params(self) -> dict[str, str]:
        """What a table may want to show and the name leaves out."""
        return {"size": format_size(self.work.size)} if self.row.sized else {}

    @property
    def stress_options(self) -> tuple[str, ...]:
        """The fields of StressOptions that have an effect in this cell's mode."""
        return {
            StressMode.NONE: (),
            StressMode.MEMORY: ("heap_objects", "heap_kind"),
            StressMode.THREADS: ("threads", "spin"),
        }[self.mode]

    @property
    def operations_per_loop(self) -> int:
        return self.work.collect_every if self.row.periodic else 1


@dataclass(frozen=True)
class Selection:
    """What the command line asks for."""

    modes: tuple[StressMode, ...]
    sizes: tuple[int, ...]
    touch: str
    collect_every: int
    stress: StressOptions
    only: re.Pattern[str] | None = None
    peers: bool = False
    plan: tuple[Part, ...] = ()
    sampled: bool = False

    def cells(self, suite: Suite) -> tuple[Cell, ...]:
        """The cells of this selection, in the order of the table."""
        return tuple(cell for cell in self._all(suite) if self._wants(cell))

    def _all(self, suite: Suite) -> Iterator[Cell]:
        for row in suite.rows + (suite.peers if self.peers else ()):
            for mode in self.modes:
                for size in self.sizes if row.sized else (suite.work.size,):
                    work = Work(size, self.touch, self.collect_every)
                    yield Cell(row, mode, work, self.stress, suite.work, self.sampled)

    def _wants(self, cell: Cell) -> bool:
        if self.plan and not any(part.covers(cell.row, cell.work.size) for part in self.plan):
            return False
        if self.only is None:
            return True
        return bool(self.only.search(cell.row.name) or self.only.search(cell.name))
