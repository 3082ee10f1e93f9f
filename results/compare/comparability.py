"""What must be alike in two measurements before their figures say anything about a change.

Facts come from the metadata of the runs: our own where a file has them, what pyperf records
otherwise. A fact that one of two files doesn't tell is not held against them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from results.model import Row

PREFIX = "scopestress_"
_MARK = PREFIX + "python"
"""Every file with our provenance has it."""

Parts = tuple[str, ...]
"""A fact in parts that are compared one by one; an empty one is not known."""


@dataclass(frozen=True)
class Difference:
    """A fact that differs, by the name that `--allow` takes, and the rows that it concerns."""

    name: str
    before: str
    after: str
    rows: tuple[str, ...]

    def text(self, total: int) -> str:
        """Name and both sides; the rows only where it isn't all of them."""
        where = ""
        if len(self.rows) < total:
            more = f" and {len(self.rows) - 1} more" if len(self.rows) > 1 else ""
            where = f" ({self.rows[0]}{more})"
        return f"{self.name}: {self.before} against {self.after}{where}"


def differences(pairs: Iterable[tuple[Row, Row]]) -> list[Difference]:
    """What differs between the rows of each pair, a line a fact, in the order of `FACTS`."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for before, after in pairs:
        for name, tell in FACTS.items():
            one, other = tell(before), tell(after)
            if differ(one, other):
                found.setdefault((name, shown(one), shown(other)), []).append(after.name)
    order = list(FACTS)
    lines = [Difference(*key, tuple(rows)) for key, rows in found.items()]
    return sorted(lines, key=lambda line: order.index(line.name))


def refused(found: Sequence[Difference], allowed: Iterable[str]) -> list[Difference]:
    """The differences that nobody has allowed by name."""
    names = set(allowed)
    return [difference for difference in found if difference.name not in names]


def differ(one: Parts, other: Parts) -> bool:
    """Whether a part that both tell is another. Capitals don't count: pyperf writes cpython."""
    return any(a.casefold() != b.casefold() for a, b in zip(one, other, strict=False) if a and b)


def shown(parts: Parts) -> str:
    return ", ".join(filter(None, parts))


def _metadata(*keys: str) -> Callable[[Row], Parts]:
    return lambda row: tuple(_text(row.metadata, key) for key in keys)


def _text(metadata: Mapping[str, Any], *keys: str) -> str:
    """The first of these that is there."""
    return next((str(metadata[key]) for key in keys if metadata.get(key)), "")


def _python(row: Row) -> Parts:
    """Implementation and version to the patch: pyperf's line goes on with the build."""
    own = _text(row.metadata, _MARK)
    version = _text(row.metadata, "python_version").partition(" ")[0]
    implementation = _text(row.metadata, "python_implementation")
    return (own or (version and f"{implementation} {version}".strip()),)


def _allocator(row: Row) -> Parts:
    found = _metadata(PREFIX + "object_allocator", PREFIX + "malloc")(row)
    return (*found, _or_none(row, PREFIX + "malloc_options", "no options"))


def _machine(row: Row) -> Parts:
    count = _text(row.metadata, "cpu_count")
    model = _text(row.metadata, PREFIX + "cpu", "cpu_model_name")
    return (_text(row.metadata, "hostname"), model, count and f"{count} CPUs")


def _kernel(row: Row) -> Parts:
    own = _text(row.metadata, PREFIX + "kernel")
    return (own, "" if own else _text(row.metadata, "platform"))


def _environ(row: Row) -> Parts:
    return (_or_none(row, PREFIX + "environ", "no SCOPES_ variables"),)


def _or_none(row: Row, key: str, none: str) -> str:
    """What is recorded only where there is any: with our provenance, absent means none."""
    return _text(row.metadata, key) or (none if _MARK in row.metadata else "")


def _probes(row: Row) -> Parts:
    names = _text(row.metadata, PREFIX + "probes").split(",")
    return (",".join(sorted(filter(None, names))),)


def _collect_every(row: Row) -> Parts:
    """Operations between two collections of a periodic row: one loop of it is just these."""
    periodic = row.inner_loops > 1 and _MARK in row.metadata
    return (row.params.get("collect-every") or (str(row.inner_loops) if periodic else ""),)


FACTS: dict[str, Callable[[Row], Parts]] = {
    "python": _python,
    "build": _metadata(PREFIX + "build"),
    "gil": _metadata(PREFIX + "gil"),
    "gc": _metadata(PREFIX + "gc", PREFIX + "gc_thresholds"),
    "allocator": _allocator,
    "thp": _metadata(PREFIX + "thp"),
    "machine": _machine,
    "kernel": _kernel,
    "environ": _environ,
    "probes": _probes,
    "collect-every": _collect_every,
}
"""How each fact is told, by the name that `--allow` takes."""
