"""More than two files: what each of the others changes against the first, side by side."""

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from results.columns import TEXT, Rows, Style
from results.compare.comparison import Change, Comparison, Selection, metrics_of
from results.compare.inference import ALPHA
from results.compare.layout import Order, SubTable, sub_tables
from results.compare.text import set_table
from results.compare.wording import figure, origin, percent

MOST_FILES = 6
"""Others that fit beside each other; more of them make further tables."""

Key = tuple[str, str]
"""Row and metric."""


def matrix(
    comparisons: Sequence[Comparison],
    selection: Selection,
    style: Style = TEXT,
    order: Order = Order.FILE,
) -> Iterator[list[str]]:
    """The blocks of lines: the files by letter, the sub-tables, what the star means."""
    files = [comparisons[0].before, *(comparison.after for comparison in comparisons)]
    yield style.sentences([f"{letter(i)}: {origin(file)}" for i, file in enumerate(files)])
    for first in range(0, len(comparisons), MOST_FILES):
        part = comparisons[first : first + MOST_FILES]
        columns = [
            {(c.row.name, c.metric.name): c for c in comparison.changes if selection.shows(c)}
            for comparison in part
        ]
        letters = [letter(first + index) for index in range(1, len(part) + 1)]
        lines = _once(columns)
        for table in sub_tables(lines, metrics_of(lines), order):
            yield set_table(table, _rows(table, columns, letters), style)
    yield style.sentences(
        [
            f"Changes are against {letter(0)}. *: p < {ALPHA:g} in Welch's t test, with Holm's"
            " correction for all figures of both files, and more than the metric resolves."
        ]
    )


def letter(index: int) -> str:
    """The name of a file: A for the first, AA after Z."""
    more, place = divmod(index, len(ascii_uppercase))
    return (letter(more - 1) if more else "") + ascii_uppercase[place]


def _once(columns: Sequence[dict[Key, Change]]) -> list[Change]:
    """A change a line: of the first file that has one."""
    found: dict[Key, Change] = {}
    for changes in reversed(columns):
        found = changes | found | changes
    return list(found.values())


def _rows(table: SubTable, columns: Sequence[dict[Key, Change]], letters: Sequence[str]) -> Rows:
    rows = [["Benchmark", letter(0), "Units", *letters]]
    for change in table.lines:
        scale = table.scale_of(change)
        key = (change.row.name, change.metric.name)
        cells = [_cell(changes.get(key)) for changes in columns]
        rows.append([table.label(change), figure(change.before, scale), scale.symbol, *cells])
    return rows


def _cell(change: Change | None) -> str:
    if change is None or change.before.sample is None or change.after.sample is None:
        return "n/a"
    star = "*" if change.is_told else ""
    return (percent(change.change) if change.change is not None else "from 0") + star
