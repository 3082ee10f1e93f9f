"""A suite, and its cells: a row in a stress mode with parameters, under a name of its own."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from results.names import format_name
from stress.modes import StressMode, StressOptions
from stress.probes import DEFAULT_PROBES
from suites.allocators import Allocator
from suites.parameters import PARAMETERS, Parameter, that_matter
from suites.replays.options import ReplayOptions
from suites.rows import SHARED, Row, Work
from suites.watchers import NONE, WATCHERS

if TYPE_CHECKING:
    from suites.runner import SuiteRunner


@dataclass(frozen=True)
class Part:
    """Rows at one size, for a plan; all rows, and in all modes, where none are named."""

    size: int
    rows: tuple[str, ...] = ()
    modes: tuple[StressMode, ...] = ()

    def covers(self, row: Row, size: int, mode: StressMode) -> bool:
        fits = not self.rows or row.name in self.rows
        return fits and size == self.size and (not self.modes or mode in self.modes)


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
    sizes: tuple[int, ...] = ()
    """What is run where no --size is given; none: that of `work`."""
    counts: bool = False
    """Whether sizes count things: then they are written as plain numbers."""
    sampled: bool = False
    """Times single calls, as --sample does for the others."""
    modes: tuple[StressMode, ...] = tuple(StressMode)
    """What is run where no --mode is given."""
    instead: "Callable[[SuiteRunner], int | None] | None" = None
    """Does something else than measure where its options ask for that: an exit status; or None."""
    arguments: tuple[str, ...] = ()
    """What stands before all options on its command line."""
    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """By the name of a parameter: what these say."""
    probes: tuple[str, ...] = DEFAULT_PROBES
    """On unless others are chosen."""

    @property
    def replays(self) -> bool:
        """Whether it replays recordings."""
        return any(row.replays for row in self.rows)


@dataclass(frozen=True)
class Cell:
    """One benchmark: what is done, under which stress, and the suite's defaults for its name."""

    row: Row
    mode: StressMode
    work: Work
    stress: StressOptions = field(default_factory=StressOptions)
    usual: Work = field(default_factory=Work)
    allocator: Allocator = field(default_factory=Allocator)
    replay: ReplayOptions = field(default_factory=ReplayOptions)
    under: str = NONE
    """One of `WATCHERS`, which watches meanwhile."""
    sampled: bool = False
    """Whether every operation is timed by itself."""
    counts: bool = False
    """Whether its size counts things, and not bytes."""

    @classmethod
    def made(
        cls,
        row: Row,
        mode: StressMode,
        usual: Work,
        values: Mapping[Parameter, Any],
        sampled: bool = False,
        counts: bool = False,
    ) -> "Cell":
        """The cell with these values and the defaults for all other parameters."""
        parts: dict[str, dict[str, Any]] = {
            "work": {},
            "stress": {},
            "replay": {},
            "": {},
        }
        for parameter, value in values.items():
            parts[parameter.part][parameter.attribute] = value
        work, stress = replace(usual, **parts["work"]), StressOptions(**parts["stress"])
        replay = ReplayOptions(**parts["replay"])
        return cls(
            row,
            mode,
            work,
            stress,
            usual,
            replay=replay,
            sampled=sampled,
            counts=counts,
            **parts[""],
        )

    @property
    def name(self) -> str:
        return format_name(self.row.name, self.mode, self.params)

    @property
    def has_meaning(self) -> bool:
        """Whether the row can do what the cell asks for."""
        source = self.replay.recording
        if self.row.replays and source and not self.row.replays.fits(source.recording):
            return False
        return not WATCHERS[self.under].of_scopes or self.row.uses_scopes

    @property
    def params(self) -> dict[str, str]:
        """The parameters that matter to this cell and are not the default."""
        usual = Cell(self.row, self.mode, self.usual)
        return {
            name: value
            for name, value in self.all_params.items()
            if PARAMETERS[name].of(self) != PARAMETERS[name].of(usual)
        }

    @property
    def all_params(self) -> dict[str, str]:
        """The parameters that matter to this cell, with those that its name leaves out."""
        return {
            parameter.name: parameter.text(self) for parameter in that_matter(self.row, self.mode)
        }

    @property
    def stress_options(self) -> tuple[str, ...]:
        """The fields of StressOptions that have an effect in this cell's mode."""
        return tuple(
            parameter.attribute
            for parameter in that_matter(self.row, self.mode)
            if parameter.part == "stress"
        )

    @property
    def period(self) -> int:
        """Operations of a thread after which it does something more; 0 where it never does."""
        if self.work.scope == SHARED:
            return self.work.operations_per_scope
        return self.work.collect_every if self.row.periodic else 0

    @property
    def operations_per_loop(self) -> int:
        """Of one thread; of a recording, of all that it has."""
        if self.row.replays and self.replay.recording:
            return len(self.replay.recording.recording.operations)
        return self.period or 1

    @property
    def turns_per_loop(self) -> int:
        """Of the loop: where single calls are timed, a turn of it is an operation."""
        return self.operations_per_loop if self.sampled and not self.row.replays else 1


@dataclass(frozen=True)
class Selection:
    """What the command line asks for: `values` by the name of the parameter, else its default."""

    modes: tuple[StressMode, ...]
    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    only: re.Pattern[str] | None = None
    peers: bool = False
    plan: tuple[Part, ...] = ()
    sampled: bool = False
    rows: tuple[str, ...] = ()
    """By name; all where none are."""

    def cells(self, suite: Suite) -> tuple[Cell, ...]:
        """The cells of this selection, in the order of the table."""
        return tuple(cell for cell in self._all(suite) if self._wants(cell))

    def _all(self, suite: Suite) -> Iterator[Cell]:
        for row in suite.rows + (suite.peers if self.peers else ()):
            for mode in self.modes:
                chosen = [p for p in that_matter(row, mode) if p.name in self.values]
                for values in product(*(self.values[p.name] for p in chosen)):
                    combination = dict(zip(chosen, values, strict=True))
                    yield Cell.made(row, mode, suite.work, combination, self.sampled, suite.counts)

    def _wants(self, cell: Cell) -> bool:
        if self.plan and not any(
            part.covers(cell.row, cell.work.size, cell.mode) for part in self.plan
        ):
            return False
        if self.rows and cell.row.name not in self.rows:
            return False
        if not cell.has_meaning:
            return False
        if self.only is None:
            return True
        return bool(self.only.search(cell.row.name) or self.only.search(cell.name))
