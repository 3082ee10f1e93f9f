"""A result file in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results.histogram import Histogram
from results.samples import Samples
from results.schema import SCORE, Figures
from results.timeline import Timeline

BASELINE = "baseline"
"""Every suite has this row: the empty operation in the same harness."""


@dataclass(frozen=True)
class Row:
    """A benchmark: its score and the figures beside it, warm-ups and calibration runs left out.

    `loops` (of each process) times `inner_loops` operations make one value. `params` holds the
    usual ones, too, if the file names them. `metadata` is what all its runs have in common; `date`
    is when the first of them began, as the file has it, "" where it has none. `samples` are the
    single calls of all processes, and None where none were timed; `pauses` are the collector's,
    likewise. `timelines` are one a process, and none where none were recorded.
    """

    name: str
    operation: str
    mode: str
    params: Mapping[str, str]
    score: Figures
    metrics: Mapping[str, Figures]
    loops: tuple[int, ...]
    inner_loops: int
    metadata: Mapping[str, Any]
    samples: Samples | None = None
    date: str = ""
    pauses: Histogram | None = None
    timelines: tuple[Timeline, ...] = ()

    @property
    def values(self) -> tuple[tuple[float, ...], ...]:
        """The scores by process, in the unit of `score.metric`."""
        return self.score.measured

    def figures(self, name: str) -> Figures | None:
        """The figures of a metric, or of the score by its name; None if the file has none."""
        return self.score if name == SCORE else self.metrics.get(name)


@dataclass(frozen=True)
class Results:
    """The rows of a file in its order, and the metadata that all of them have in common."""

    path: Path
    rows: tuple[Row, ...]
    metadata: Mapping[str, Any]
