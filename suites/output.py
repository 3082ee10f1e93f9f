"""Where the results go, and the line that tells what runs meanwhile."""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import TextIO

import pyperf

from results import files
from results.errors import ResultsError
from suites.cells import Cell
from suites.runner import SuiteRunner, Watcher

FOLDER = Path("results")


@dataclass(frozen=True)
class Destination:
    """The file of a run: written at once when all is done, or not at all."""

    path: Path
    append: bool = False

    @classmethod
    def chosen(cls, suite: str, output: str | None, append: str | None) -> "Destination":
        """What -o or --append name; without them results/SUITE-DATE-TIME.json, made if missing."""
        if append:
            return cls(Path(append), append=True)
        return cls(Path(output)) if output else cls.dated(suite)

    @classmethod
    def dated(cls, suite: str) -> "Destination":
        return cls(FOLDER / f"{suite}-{datetime.now():%Y%m%d-%H%M%S}.json")

    def check(self) -> None:
        """ResultsError where `save` could not work, before anything has run."""
        if self.path.parent == FOLDER:
            _make_folder()
        files.check_writable(self.path, overwrite=self.append)
        if self.append and self.path.exists():
            files.read(self.path)

    @property
    def report(self) -> Path:
        """Where its page goes: beside it, under the same name."""
        return self.path.with_name(self.path.name.removesuffix(".gz")).with_suffix(".html")

    def save(self, benchmarks: Sequence[pyperf.Benchmark]) -> None:
        """Write the file, or add to it; after a ResultsError it is as it was."""
        if self.append:
            files.append(self.path, benchmarks)
        else:
            files.write(self.path, benchmarks)


def _make_folder() -> None:
    try:
        FOLDER.mkdir(exist_ok=True)
    except OSError as error:
        raise ResultsError(
            f"the directory {FOLDER} can't be made here ({error.strerror}); name a file with -o"
        ) from None


class Progress(Watcher):
    """One line on a terminal: the benchmark, the process of it, the time left."""

    def __init__(self, runner: SuiteRunner, stream: TextIO = sys.stderr) -> None:
        self._stream = stream
        self._cells = runner.cells
        self._expected_s = [runner.expected_s(cell) for cell in runner.cells]
        self._workers = runner.workers_per_cell
        self._index = -1
        self._done = 0
        self._started_s = monotonic()

    def cell_started(self, cell: Cell) -> None:
        self._index += 1
        self._done = 0

    def worker_started(self) -> None:
        self._show()

    def worker_done(self) -> None:
        self._done += 1

    def clear(self) -> None:
        self._stream.write("\r\x1b[K")
        self._stream.flush()

    def left_s(self, elapsed_s: float) -> float:
        """The time left, in seconds: what is expected of the rest, scaled by how well the
        expectation has held so far."""
        share_done = min(self._done / self._workers, 1.0)
        done = sum(self._expected_s[: self._index]) + share_done * self._expected_s[self._index]
        rest = sum(self._expected_s) - done
        return rest * elapsed_s / done if done else rest

    def _show(self) -> None:
        left = round(self.left_s(monotonic() - self._started_s))
        text = (
            f"[{self._index + 1}/{len(self._cells)}] {self._cells[self._index].name}  "
            f"process {self._done + 1} of {self._workers}  {left // 60}:{left % 60:02} left"
        )
        width = shutil.get_terminal_size().columns - 1
        self._stream.write(f"\r\x1b[K{text[:width]}")
        self._stream.flush()


def wants_colour(stream: TextIO) -> bool:
    """Colour on a terminal only, and not where NO_COLOR is set (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")
