"""`python -m results compare A B [C ...]`"""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from results.columns import MARKDOWN, TEXT, joined
from results.commands.arguments import add_allow, add_selection
from results.compare import exact
from results.compare.comparability import refused
from results.compare.comparison import Comparison, Selection, check_metrics, compare
from results.compare.layout import Order
from results.compare.matrix import letter, matrix
from results.compare.text import not_comparable, pair
from results.exit_status import NOT_COMPARABLE, OK
from results.files import read
from results.typed import typed
from results.units import percentage

if TYPE_CHECKING:
    from results.commands.arguments import Commands

STYLES = {"text": TEXT, "markdown": MARKDOWN}
FORMATS = (*STYLES, "csv", "json")
_DESCRIPTION = """\
What changed from A to B, and to C ...: the score and every metric of each row, with the interval of
the change and whether it is more than noise. Where files were measured under other circumstances
that is said first, and the exit status is 3 unless --allow names it."""


def add(commands: "Commands") -> None:
    parser = commands.add_parser(
        "compare",
        help="say what changed from a file to others",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("before", metavar="A", help="a result file of ours or of pyperf")
    parser.add_argument("after", metavar="B", nargs="+", help="what is held against it")
    add_selection(parser)
    parser.add_argument(
        "--across",
        metavar="PARAMETER",
        action="append",
        default=[],
        help="what the files differ in, as under or allocator: rows are alike but for that",
    )
    parser.add_argument(
        "--min-change",
        metavar="PERCENT",
        type=typed(percentage),
        default=0.0,
        help="leave out what changed less, as 5%%; no fewer figures are tested",
    )
    parser.add_argument(
        "--sort",
        choices=[order.value for order in Order],
        default=Order.FILE.value,
        help="lines as in the file, by name, or by change, the worst first (default: file)",
    )
    parser.add_argument(
        "--layout",
        choices=("columns", "blocks"),
        default="columns",
        help="text of two files: after beside before (columns, the default), or under it",
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="(default: text)")
    add_allow(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    selection = Selection(args.only, tuple(args.metric), args.min_change, tuple(args.across))
    before, *others = [read(path) for path in (args.before, *args.after)]
    check_metrics(args.metric, before, *others)
    comparisons = [compare(before, other, selection) for other in others]
    warnings = _warnings(comparisons, args.allow)
    if args.format in STYLES:
        sys.stdout.write(_readable(comparisons, selection, warnings, args))
    else:
        for line in warnings:
            print(line, file=sys.stderr)
        if args.format == "csv":
            sys.stdout.write(exact.csv_text(comparisons, selection))
        else:
            sys.stdout.write(exact.json_text(comparisons, selection, args.allow))
    is_refused = any(refused(c.differences, args.allow) for c in comparisons)
    return NOT_COMPARABLE if is_refused else OK


def _readable(
    comparisons: Sequence[Comparison],
    selection: Selection,
    warnings: Sequence[str],
    args: argparse.Namespace,
) -> str:
    style, order = STYLES[args.format], Order(args.sort)
    if len(comparisons) > 1:
        blocks = matrix(comparisons, selection, style, order)
    else:
        in_blocks = args.layout == "blocks" and style is TEXT
        blocks = pair(comparisons[0], selection, style, order, in_blocks)
    return joined(style.sentences(warnings), *blocks)


def _warnings(comparisons: Sequence[Comparison], allowed: Sequence[str]) -> list[str]:
    """A line a fact that differs; with the letter of the file where there are several."""
    lines = []
    for index, comparison in enumerate(comparisons, 1):
        which = f"{letter(index)}: " if len(comparisons) > 1 else ""
        lines += [which + line for line in not_comparable(comparison, allowed)]
    return lines
