"""Names: `<operation>[<mode>,<parameter>=<value>...]`, and `:<metric>` behind it; sizes in bytes.

Parameters are sorted, so one cell of a benchmark has one name in every file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_SIZE_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SIZE = re.compile(r"([0-9]+)\s*([a-z]*)", re.IGNORECASE)

_OPERATION = re.compile(r"[^\s\[\]:][^\[\]:]*")
_MODE = re.compile(r"[^\s\[\]:,=]+")
_KEY = re.compile(r"[A-Za-z][\w-]*")
_VALUE = re.compile(r"[^\s\[\],=][^\[\],=]*")
_METRIC = re.compile(r"[^\s\[\]:]+")
_NAME = re.compile(r"(?P<operation>[^\[\]:]+)(\[(?P<cell>[^\[\]]+)\])?(:(?P<metric>[^\[\]:]+))?")


@dataclass(frozen=True)
class Name:
    """A name in its parts; `mode` is "" and `metric` is None where the name has none."""

    operation: str
    mode: str = ""
    params: Mapping[str, str] | None = None
    metric: str | None = None


def format_size(nbytes: int) -> str:
    """The shortest exact form of a number of bytes: 1048576 is "1MiB", 1000 is "1000"."""
    if nbytes < 0:
        raise ValueError(f"expected a size of 0 bytes or more, found {nbytes}")
    for unit, factor in reversed(_SIZE_UNITS.items()):
        if nbytes and nbytes % factor == 0:
            return f"{nbytes // factor}{unit}"
    return str(nbytes)


def parse_size(text: str) -> int:
    """Bytes from "1024", "64KiB" or "1 MiB", in any case; ValueError for anything else."""
    units = {"": 1, "b": 1} | {unit.lower(): factor for unit, factor in _SIZE_UNITS.items()}
    found = _SIZE.fullmatch(text.strip())
    if found is None or found[2].lower() not in units:
        expected = ", ".join(_SIZE_UNITS)
        raise ValueError(
            f"expected a size in bytes, plain or in {expected} (64KiB), found {text!r}"
        )
    return int(found[1]) * units[found[2].lower()]


def format_name(operation: str, mode: str, params: Mapping[str, str] | None = None) -> str:
    """The name of a benchmark; ValueError for a part that could not be told apart again."""
    _check("an operation", operation, _OPERATION)
    if not mode and not params:
        return operation
    _check("a mode", mode, _MODE)
    cell = [str(mode)]
    for key, value in sorted((params or {}).items()):
        _check("the name of a parameter", key, _KEY)
        _check(f"a value of the parameter {key}", value, _VALUE)
        cell.append(f"{key}={value}")
    return f"{operation}[{','.join(cell)}]"


def is_metric(text: str) -> bool:
    """Whether this can be the name of a metric."""
    return bool(_METRIC.fullmatch(text)) and text.isprintable()


def format_metric_name(name: str, metric: str) -> str:
    """The name of the benchmark that holds a metric of the benchmark `name`."""
    _check("a metric", metric, _METRIC)
    return f"{name}:{metric}"


def parse_name(name: str) -> Name:
    """The parts of a name, which `format_name` and `format_metric_name` put together again.

    ValueError for a name that these could not have made.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(
            f"expected a name such as 'operation[MODE,size=1MiB]:metric', found {name!r}"
        )
    mode, params = "", {}
    if found["cell"] is not None:
        mode, *pairs = found["cell"].split(",")
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not equals or key in params:
                raise ValueError(f"expected parameters key=value, once each, found {name!r}")
            params[key] = value
    parsed = Name(found["operation"], mode, params, found["metric"])
    if _spelled(parsed) != name:
        raise ValueError(f"expected parameters in sorted order, found {name!r}")
    return parsed


def _spelled(name: Name) -> str:
    text = format_name(name.operation, name.mode, name.params)
    return text if name.metric is None else format_metric_name(text, name.metric)


def _check(what: str, text: str, pattern: re.Pattern[str]) -> None:
    if not pattern.fullmatch(text):
        raise ValueError(f"expected {what} without brackets, ':' and the like, found {text!r}")
