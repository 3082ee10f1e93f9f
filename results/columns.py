"""Cells and sentences -> lines: aligned columns of text that fit a width, or Markdown."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDTH = 100
"""Columns of text."""
GAP = "  "


Rows = Sequence[Sequence[str]]
"""Cells, the header first."""


def aligned(rows: Rows, left: Sequence[int] = (0,)) -> list[str]:
    """A line a row, all columns but those `left` flush right, at most `WIDTH` wide.

    The first column gives way: its cells are shortened in the middle if the others need the room.
    """
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - WIDTH
    widths[0] = max(widths[0] - max(excess, 0), min(widths[0], 9))
    return [_line(row, widths, set(left)) for row in rows]


def shortened(text: str, width: int) -> str:
    """The text with its middle left out: its end often tells most, as the metric of a name."""
    if len(text) <= width:
        return text
    kept = width - 1
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"


def wrapped(line: str) -> list[str]:
    """A sentence in lines of at most `WIDTH`; those of an item of a list are indented under it."""
    indent = "  " if line.startswith("- ") else ""
    parts = textwrap.wrap(
        line,
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return parts or [""]


def _line(cells: Sequence[str], widths: Sequence[int], left: set[int]) -> str:
    first = shortened(cells[0], widths[0])
    texts = (first, *cells[1:])
    padded = [
        f"{text:<{width}}" if index in left else f"{text:>{width}}"
        for index, (text, width) in enumerate(zip(texts, widths, strict=True))
    ]
    return GAP.join(padded).rstrip()


def markdown(rows: Rows, left: Sequence[int] = (0,)) -> list[str]:
    """The same as a table of Markdown; the first row is its header."""
    header, *body = rows
    rule = [":---" if index in left else "---:" for index in range(len(header))]
    return [f"| {' | '.join(map(_escaped, cells))} |" for cells in (header, rule, *body)]


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


@dataclass(frozen=True)
class Style:
    """How a document is set: tables (with the columns that are flush left), sentences, titles."""

    table: Callable[[Rows, Sequence[int]], list[str]]
    sentences: Callable[[Sequence[str]], list[str]]
    title: Callable[[str], list[str]]


TEXT = Style(
    aligned,
    lambda lines: [part for line in lines for part in wrapped(line)],
    lambda title: [title],
)
MARKDOWN = Style(
    lambda rows, left: [*markdown(rows, left), ""],
    lambda lines: [f"- {line}" for line in lines],
    lambda title: [f"**{title}**", ""],
)


def joined(*blocks: Sequence[str]) -> str:
    """Blocks of lines with an empty line between two of them; empty ones are left out."""
    return "\n".join("\n".join(block).rstrip("\n") + "\n" for block in blocks if block)
