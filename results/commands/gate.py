"""`python -m results gate BASE HEAD`"""

import argparse
import sys
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from results.columns import MARKDOWN, joined
from results.commands.arguments import add_only
from results.compare.comparison import check_metrics
from results.files import check_writable, read, write_text
from results.gate import limits as gate_limits
from results.gate.judge import judge
from results.gate.junit import junit
from results.gate.limits import ALLOWABLE, EXAMPLE, Limits, merged, read_limits
from results.gate.noise_file import read_floors
from results.gate.text import document, scores
from results.typed import typed

if TYPE_CHECKING:
    from results.commands.arguments import Commands

_DESCRIPTION = """\
Whether HEAD is worse than BASE: a figure is a regression if it got worse by more than its limit, by
more than its noise between equal runs (from `calibrate`, else from the processes of both files), by
more than its absolute minimum, and by more than chance explains (as in `compare`).

exit status: 0 ok, 1 regression, 2 bad input, 3 not comparable, 4 too noisy to tell"""
_EPILOG = f"The same in pyproject.toml, which options override:\n\n{indent(EXAMPLE, '  ')}"


def add(commands: "Commands") -> None:
    parser = commands.add_parser(
        "gate",
        help="fail where a file is worse than another",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("base", metavar="BASE", help="what was before")
    parser.add_argument("head", metavar="HEAD", help="what is held against it")
    parser.add_argument(
        "--max",
        metavar="METRIC=PERCENT,...",
        action="append",
        type=typed(_limits),
        default=[],
        help="limits, as score=5%%,gc.*=20%% or 10%% for all; off: not judged"
        " (default: score and score.cpu 5%%, p1.00 off, all else 10%%)",
    )
    parser.add_argument(
        "--min",
        metavar="METRIC=SIZE,...",
        action="append",
        type=typed(_minima),
        default=[],
        help="absolute minima, as score=2ns,rss.peak=4MiB (default: 0.5 ns an operation, and what"
        " the metric resolves)",
    )
    parser.add_argument(
        "--noise", metavar="FILE", type=Path, help="noise floors as calibrate has written them"
    )
    add_only(parser)
    parser.add_argument(
        "--allow",
        metavar="NAME",
        action="append",
        choices=ALLOWABLE,
        default=[],
        help=f"go on although this differs or is gone; repeatable: {', '.join(ALLOWABLE)}",
    )
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="another file than ./pyproject.toml"
    )
    parser.add_argument(
        "--summary", metavar="FILE", type=Path, help="write the verdict as Markdown, too"
    )
    parser.add_argument(
        "--junit", metavar="FILE", type=Path, help="write the verdict as JUnit XML, too"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    for path in filter(None, (args.summary, args.junit)):
        check_writable(path, overwrite=True)
    given = _given(args)
    limits = merged(_configured(args.config), given)
    floors = read_floors(limits.noise) if limits.noise else None
    base, head = read(args.base), read(args.head)
    check_metrics((*given.most, *given.least), base, head)
    judgement = judge(base, head, limits, floors)
    sys.stdout.write(joined(*document(judgement)))
    if args.summary:
        blocks = [*document(judgement, MARKDOWN)]
        if not judgement.refusals:
            blocks += [["<details><summary>all scores</summary>", ""]]
            blocks += [scores(judgement, MARKDOWN), ["</details>"]]
        write_text(args.summary, joined(*blocks), overwrite=True)
    if args.junit:
        write_text(args.junit, junit(judgement), overwrite=True)
    return judgement.status


def _configured(path: Path | None) -> Limits:
    if path is None:
        return read_limits(Path("pyproject.toml"))
    return read_limits(path, required=True)


def _given(args: argparse.Namespace) -> Limits:
    most = {name: value for part in args.max for name, value in part.items()}
    least = {name: value for part in args.min for name, value in part.items()}
    return Limits(most, least, args.only, tuple(args.allow), args.noise)


def _limits(text: str) -> dict[str, float | None]:
    return gate_limits.limits_of(gate_limits.pairs(text))


def _minima(text: str) -> dict[str, float]:
    return gate_limits.minima_of(gate_limits.pairs(text))
