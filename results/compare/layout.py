"""Changes -> sub-tables: what is read together stands together, under one unit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from results.compare.comparison import Change
from results.units import Scale, is_share, own_scale, scale_for

_MANY_SIZES = 4
"""Up to here a sub-table is of one size; a longer sweep stays together, row by row."""

Cell = tuple[str, str, str]
"""Metric, mode, and size or operation."""


class Order(Enum):
    """How the lines of a sub-table are sorted."""

    FILE = "file"
    NAME = "name"
    CHANGE = "change"


@dataclass(frozen=True)
class SubTable:
    """Lines of one metric under one stress, and those that need no line: `zeros` and `unmeasured`.

    `params` are the parameters that tell its lines apart.
    """

    title: str
    lines: tuple[Change, ...]
    zeros: tuple[Change, ...]
    unmeasured: tuple[Change, ...]
    params: tuple[str, ...]
    scale: Scale | None

    @property
    def changes(self) -> tuple[Change, ...]:
        return self.lines + self.zeros + self.unmeasured

    def scale_of(self, change: Change) -> Scale:
        """The unit and decimals of a line: those of the sub-table, unless that spans too much."""
        return self.scale or own_scale(change.unit, max(_means(change), default=0.0))

    def label(self, change: Change) -> str:
        """The operation with what tells it from others in this sub-table."""
        told = [f"{p}={change.row.params[p]}" for p in self.params if p in change.row.params]
        return f"{change.row.operation}[{','.join(told)}]" if told else change.row.operation


def sub_tables(
    changes: Sequence[Change], metrics: Sequence[str], order: Order = Order.FILE
) -> list[SubTable]:
    """A sub-table for each metric, and in it for each mode and size where these differ.

    A row without a size, as the baseline is, stands with the first size of its mode.
    """
    sizes = list(dict.fromkeys(size for change in changes if (size := _size(change))))
    sweep = len(sizes) > _MANY_SIZES
    modes = list(dict.fromkeys(change.row.mode for change in changes))
    groups: dict[Cell, list[Change]] = {}
    for change in changes:
        part = change.row.operation if sweep else _size(change) or next(iter(sizes), "")
        groups.setdefault((change.metric.name, change.row.mode, part), []).append(change)
    places = list(metrics)
    cells = sorted(groups, key=lambda cell: (places.index(cell[0]), modes.index(cell[1])))
    fixed = set() if sweep else {"size"}
    shown = (True, len(modes) > 1, sweep or len(sizes) > 1)
    return [_sub_table(", ".join(_told(cell, shown)), groups[cell], fixed, order) for cell in cells]


def _told(cell: Cell, shown: Sequence[bool]) -> list[str]:
    return [part for part, is_shown in zip(cell, shown, strict=True) if part and is_shown]


def _size(change: Change) -> str:
    return change.row.params.get("size", "")


def _sub_table(title: str, changes: Sequence[Change], fixed: set[str], order: Order) -> SubTable:
    zeros = [change for change in changes if change.is_nothing]
    unmeasured = [change for change in changes if change.is_unmeasured]
    rest = [change for change in changes if not (change.is_nothing or change.is_unmeasured)]
    names = sorted({name for change in changes for name in change.row.params} - fixed)
    params = [n for n in names if len({change.row.params.get(n) for change in changes}) > 1]
    return SubTable(
        title,
        tuple(_sorted(rest, order)),
        tuple(zeros),
        tuple(unmeasured),
        tuple(params),
        _scale(rest),
    )


def _sorted(changes: Sequence[Change], order: Order) -> list[Change]:
    if order is Order.NAME:
        return sorted(changes, key=lambda change: change.row.name)
    if order is Order.CHANGE:
        return sorted(changes, key=lambda change: -_worsening(change))
    return list(changes)


def _worsening(change: Change) -> float:
    """The relative change, above 0 for the worse; infinite for something out of nothing."""
    if change.change is None:
        size = float("inf") if change.difference else 0.0
    else:
        size = abs(change.change)
    return size if change.is_worse else -size


def _scale(changes: Sequence[Change]) -> Scale | None:
    if not changes:
        return None
    metric, unit = changes[0].metric, changes[0].unit
    if any(change.unit != unit for change in changes):
        return None
    share = is_share(metric.name, unit)
    return scale_for(unit, [value for change in changes for value in _means(change)], share)


def _means(change: Change) -> Iterable[float]:
    return [side.mean for side in change.sides if side.mean is not None]
