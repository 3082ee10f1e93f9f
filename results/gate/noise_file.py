"""A file of noise floors: JSON, small, of one machine.

    {"scopestress_noise": 1, "runs": 5, "processes": 6, "command": [...], "date": "...",
     "facts": {"python": ["CPython 3.11.7"], ...},
     "floors": {"implicit_close[NONE]": {"score": {"absolute": 1.2e-08, "relative": 0.025}}}}

`absolute` is the largest difference between two of the runs, in the unit in which figures are
compared (totals an operation); `relative` is the same over the mean of all runs, null where that is
0. `facts` are what must be alike where the floors are to hold, by the names that `--allow` takes.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from results import schema
from results.compare.comparability import FACTS
from results.errors import ResultsError
from results.files import read_text, write_text
from results.gate.noise import Floor, Floors

SCHEMA = 1
SCHEMA_KEY = "scopestress_noise"


def write_floors(path: str | os.PathLike[str], floors: Floors, overwrite: bool = False) -> None:
    """Write the file, whole or not at all; ResultsError as from `results.files.write`."""
    write_text(path, json.dumps(_as_json(floors), indent=1, allow_nan=False) + "\n", overwrite)


def read_floors(path: str | os.PathLike[str]) -> Floors:
    """The floors in a file; ResultsError with file and place for anything else."""
    path = Path(path)
    return _parse(read_text(path), path)


def _as_json(floors: Floors) -> dict[str, Any]:
    return {
        SCHEMA_KEY: SCHEMA,
        "runs": floors.runs,
        "processes": floors.processes,
        "command": list(floors.command),
        "date": floors.date,
        "facts": {name: list(parts) for name, parts in floors.facts.items()},
        "floors": {
            row: {
                metric: {"absolute": floor.absolute, "relative": floor.relative}
                for metric, floor in metrics.items()
            }
            for row, metrics in floors.floors.items()
        },
    }


def _parse(text: str, path: Path) -> Floors:
    """The floors in the text of a file; ResultsError with file and place for anything else."""
    data = schema.parse_json(text, str(path))
    if not isinstance(data, dict) or SCHEMA_KEY not in data:
        raise ResultsError(f"{path}: expected noise floors, as calibrate writes, found other JSON")
    if data[SCHEMA_KEY] != SCHEMA:
        raise ResultsError(f"{path}: expected {SCHEMA_KEY} {SCHEMA}, found {data[SCHEMA_KEY]!r}")
    read = _Reader(data, path)
    told = read.table("facts", list)
    facts = {name: tuple(map(str, parts)) for name, parts in told.items() if name in FACTS}
    floors = {row: read.floors(row, metrics) for row, metrics in read.table("floors", dict).items()}
    command = tuple(map(str, read.value("command", list)))
    date = str(read.value("date", str))
    return Floors(read.count("runs"), read.count("processes"), command, date, facts, floors)


class _Reader:
    """Values of the file, with errors that name it and the place."""

    def __init__(self, data: Mapping[str, Any], path: Path) -> None:
        self._data = data
        self._path = path

    def value(self, key: str, kind: type) -> Any:
        found = self._data.get(key)
        if not isinstance(found, kind):
            expected = {"list": "a list", "dict": "an object", "str": "a text"}[kind.__name__]
            raise ResultsError(f"{self._path}: expected {expected} as {key!r}, found {found!r:.40}")
        return found

    def table(self, key: str, kind: type) -> dict[str, Any]:
        found: dict[str, Any] = self.value(key, dict)
        for name, entry in found.items():
            if not isinstance(entry, kind):
                place = f"{self._path}: {key}, {name!r}"
                raise ResultsError(f"{place}: expected a {kind.__name__}, found {entry!r:.40}")
        return found

    def count(self, key: str) -> int:
        found = self._data.get(key)
        if not isinstance(found, int) or isinstance(found, bool) or found < 1:
            raise ResultsError(f"{self._path}: expected {key} of 1 or more, found {found!r:.40}")
        return found

    def floors(self, row: str, metrics: Mapping[str, Any]) -> dict[str, Floor]:
        return {
            metric: self._floor(entry, f"{self._path}: floors, {row!r}, {metric!r}")
            for metric, entry in metrics.items()
        }

    def _floor(self, entry: Any, place: str) -> Floor:
        if not isinstance(entry, dict):
            raise ResultsError(f"{place}: expected an object, found {entry!r:.40}")
        absolute: Any = entry.get("absolute")
        relative: Any = entry.get("relative")
        for number in (absolute, 0 if relative is None else relative):
            if not schema.is_number(number) or number < 0:
                raise ResultsError(f"{place}: expected floors of 0 or more, found {entry!r:.60}")
        return Floor(absolute, relative)


def is_noise_file(path: Path) -> bool:
    """Whether a file begins as one of noise floors does; False for one that can't be read."""
    try:
        with path.open("rb") as file:
            return SCHEMA_KEY.encode() in file.read(2 * len(SCHEMA_KEY))
    except OSError:
        return False
