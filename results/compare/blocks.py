"""The layout of the JDK's pull requests: the lines before, then the lines after.

Benchmark  (size)  Cnt  Score  Error  Units
# Before
full            1    6   74.1  ± 0.9  ns/op
# After
full            1    6   63.0  ± 0.7  ns/op  ; 15 % better
"""

from results.columns import aligned
from results.compare.comparison import Change, Side
from results.compare.inference import margin
from results.compare.layout import SubTable
from results.compare.wording import figure, remark
from results.statistics import CONFIDENCE


def blocks(table: SubTable) -> list[str]:
    """The lines of a sub-table; Cnt is the number of processes, Error that of show."""
    header = ["Benchmark", *(f"({name})" for name in table.params), "Cnt", "Score", "Error"]
    rows = [[*header, "Units", ""]]
    rows += [_row(table, change, change.before, "") for change in table.lines]
    rows += [_row(table, change, change.after, remark(change)) for change in table.lines]
    first, *lines = aligned(rows, left=(0, len(header), len(header) + 1))
    half = len(table.lines)
    return [first, "# Before", *lines[:half], "# After", *lines[half:]]


def _row(table: SubTable, change: Change, side: Side, comment: str) -> list[str]:
    scale = table.scale_of(change)
    error = margin(side.sample, CONFIDENCE) if side.sample else None
    params = [change.row.params.get(name, "") for name in table.params]
    count = str(side.sample.count) if side.sample else ""
    known = f"± {scale.format(error)}" if error is not None else ""
    cells = [count, figure(side, scale), known, scale.symbol, comment]
    return [change.row.operation, *params, *cells]
