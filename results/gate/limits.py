"""What may change before it is a regression: relative limits and absolute minima, by metric.

Given by options, by the table [tool.scopestress.gate] of a pyproject.toml, or by default.
"""

import fnmatch
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results.compare.comparability import FACTS
from results.errors import ResultsError
from results.names import parse_size
from results.units import SECONDS, percentage

EXAMPLE = """\
[tool.scopestress.gate]
max = {score = "5%", "rss.peak" = "10%", "gc.*" = "20%", "gc.pause.max" = "off"}
min = {score = "2 ns", "rss.peak" = "4 MiB"}
only = "^implicit"
allow = ["kernel"]
noise = "ci/noise.json"
"""
"""The table with all its keys; the path is relative to the file."""

OFF = "off"
NOISE = "noise"
ALLOWABLE = (*FACTS, "rows", "metrics", NOISE)
"""What can be allowed: that a fact differs; that rows or metrics are gone, which can hide a
regression; that some figures are too noisy to tell."""

_MAX = {"score": 0.05, "score.cpu": 0.05, "p1.00": None, "*": 0.10}
"""The slowest call of a process, p1.00, is luck."""
_MIN = {"s/op": 0.5e-9}
"""By unit: moving a loop in memory makes a cycle or two an operation. Others: their resolution."""


@dataclass(frozen=True)
class Limits:
    """Relative limits (None: not judged) and absolute minima, by metric or pattern of metrics."""

    most: Mapping[str, float | None]
    least: Mapping[str, float]
    only: re.Pattern[str] | None = None
    allow: tuple[str, ...] = ()
    noise: Path | None = None

    def limit(self, metric: str) -> float | None:
        """How far it may get worse, 0.05 for 5 %; None if it is not judged."""
        found: float | None = _found(self.most, metric, _found(_MAX, metric, None))
        return found

    def minimum(self, metric: str, unit: str) -> float:
        """The absolute difference under which nothing counts, in its unit."""
        found: float = _found(self.least, metric, _MIN.get(unit, 0.0))
        return found


def _found(table: Mapping[str, Any], metric: str, default: Any) -> Any:
    """The entry of a metric: by its name, else by the first pattern that fits."""
    if metric in table:
        return table[metric]
    fitting = (value for key, value in table.items() if fnmatch.fnmatchcase(metric, key))
    return next(fitting, default)


def limit(text: str) -> float | None:
    """A limit from "5%", or None from "off"."""
    return None if text.strip() == OFF else percentage(text)


def quantity(text: str) -> float:
    """A difference in seconds, bytes or as it is: "2 ns", "4 MiB", "0.5"."""
    found = re.fullmatch(r"\s*([0-9.]+(?:e-?[0-9]+)?)\s*(s|ms|us|ns)?\s*", text)
    try:
        if found:
            return float(found[1]) * dict(SECONDS).get(found[2], 1.0)
        return float(parse_size(text))
    except ValueError:
        expected = "expected a time, a size or a number, as 2ns, 4MiB or 0.5"
        raise ValueError(f"{expected}, found {text!r}") from None


def pairs(text: str) -> dict[str, str]:
    """Texts by metric from "score=5%,rss.peak=10%"; one without a name is for all metrics."""
    found = {}
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        if not value.strip() or (equals and not name.strip()):
            raise ValueError(f"expected METRIC=VALUE, as score=5%, found {part!r}")
        found[name.strip() or "*"] = value.strip()
    return found


def limits_of(texts: Mapping[str, str]) -> dict[str, float | None]:
    return {name: limit(text) for name, text in texts.items()}


def minima_of(texts: Mapping[str, str]) -> dict[str, float]:
    return {name: quantity(text) for name, text in texts.items()}


def read_limits(path: Path, required: bool = False) -> Limits:
    """The table of a pyproject.toml; the defaults without one, or without a file if none is
    `required`.

    ResultsError names the file and the key for anything that isn't understood.
    """
    if not required and not path.exists():
        return Limits({}, {})
    try:
        with path.open("rb") as file:
            project = tomllib.load(file)
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: can't be read: {error}") from None
    table: Any = project
    for key in ("tool", "scopestress", "gate"):
        table = table.get(key, {}) if isinstance(table, dict) else {}
    place = f"{path}: [tool.scopestress.gate]"
    if not isinstance(table, dict):
        raise ResultsError(f"{place}: expected a table, found {table!r:.40}")
    try:
        return _limits(table, path.parent)
    except (ValueError, re.error) as error:
        raise ResultsError(f"{place}: {error}") from None


def _limits(table: Mapping[str, Any], folder: Path) -> Limits:
    unknown = set(table) - {"max", "min", "only", "allow", "noise"}
    if unknown:
        raise ValueError(f"expected max, min, only, allow or noise, found {sorted(unknown)[0]!r}")
    allow = _typed(table, "allow", list, [])
    for name in allow:
        if name not in ALLOWABLE:
            raise ValueError(f"allow: expected one of {', '.join(ALLOWABLE)}; found {name!r}")
    only, noise = _typed(table, "only", str, ""), _typed(table, "noise", str, "")
    return Limits(
        limits_of(_texts(_typed(table, "max", dict, {}))),
        minima_of(_texts(_typed(table, "min", dict, {}))),
        re.compile(only) if only else None,
        tuple(allow),
        folder / noise if noise else None,
    )


def _typed(table: Mapping[str, Any], key: str, kind: type, default: Any) -> Any:
    found = table.get(key, default)
    if not isinstance(found, kind):
        expected = {"dict": "a table", "list": "a list", "str": "a text"}[kind.__name__]
        raise ValueError(f"{key}: expected {expected}, found {found!r:.40}")
    return found


def _texts(table: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Texts by metric. TOML makes tables of names with dots that aren't quoted: both will do."""
    found: dict[str, str] = {}
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            found |= _texts(value, f"{name}.")
        elif isinstance(value, str):
            found[name] = value
        else:
            raise ValueError(f'{name}: expected a text, as "5%", found {value!r:.40}')
    return found


def merged(base: Limits, over: Limits) -> Limits:
    """The limits of `over`, and of `base` where these say nothing."""
    return Limits(
        {**over.most, **{k: v for k, v in base.most.items() if not _covers(over.most, k)}},
        {**over.least, **{k: v for k, v in base.least.items() if not _covers(over.least, k)}},
        over.only or base.only,
        tuple(dict.fromkeys((*base.allow, *over.allow))),
        over.noise or base.noise,
    )


def _covers(patterns: Iterable[str], name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
