"""`python -m results history DIR|FILES`"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from results.columns import joined
from results.commands.arguments import add_selection
from results.compare.comparison import Selection
from results.errors import ResultsError
from results.exit_status import BAD_INPUT, OK
from results.files import check_writable, write_bytes, write_text
from results.history import action, asv
from results.history.changes import has_ruptures, shifts
from results.history.picture import check_picture, picture
from results.history.points import Point, find, keys, load
from results.history.text import Shifts, document, values_of
from results.schema import SCORE

if TYPE_CHECKING:
    from results.commands.arguments import Commands

ASV, ACTION = "asv", "github-action-benchmark"
_DESCRIPTION = """\
A figure over commits: the files in the order in which they were measured, each with the commit that
it names, a row a benchmark with its course and its changes of level. Files that can't be read are
named, the others are shown, and the exit status is 2."""
_EPILOG = f"""\
--export {ASV} DIR makes a directory in which `asv publish` and `asv show` work; --export
{ACTION} FILE writes the newest run for its tool customSmallerIsBetter.
Both export every metric unless --metric names some."""


def add(commands: "Commands") -> None:
    parser = commands.add_parser(
        "history",
        help="show a figure over commits",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "paths", metavar="DIR|FILE", nargs="+", type=Path, help="result files, or where they are"
    )
    add_selection(parser, "score")
    parser.add_argument(
        "-o", metavar="FILE", dest="output", type=Path, help="draw it, too: .png or .svg"
    )
    parser.add_argument(
        "--export",
        metavar=("FORMAT", "PATH"),
        nargs=2,
        action="append",
        default=[],
        help=f"{ASV} or {ACTION}; repeatable",
    )
    parser.add_argument(
        "--repo",
        metavar="PATH",
        default=os.curdir,
        help="the git repository of the commits, for asv (default: the current directory)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    _check(args)
    shown = tuple(args.metric) or (SCORE,)
    wanted = shown if args.metric or not args.export else ()
    points, errors = load(find(args.paths), Selection(args.only, wanted))
    for error in errors:
        print(f"results: {error}", file=sys.stderr)
    points = [point for point in points if point.figures]
    if points:
        _tell(points, Selection(args.only, shown), args.output)
        _export(points, args.export, args.repo)
    elif not errors:
        raise ResultsError(f"no file has a figure {', '.join(shown)}{_of(args)}")
    return BAD_INPUT if errors else OK


def _check(args: argparse.Namespace) -> None:
    if args.output:
        check_picture(args.output)
        check_writable(args.output, overwrite=True)
    for format, path in args.export:
        if format not in (ASV, ACTION):
            raise ResultsError(f"--export: expected {ASV} or {ACTION}, found {format!r}")
        if format == ACTION:
            check_writable(path, overwrite=True)


def _of(args: argparse.Namespace) -> str:
    return f" of benchmarks that match {args.only.pattern!r}" if args.only else ""


def _tell(points: Sequence[Point], selection: Selection, output: Path | None) -> None:
    told = [key for key in keys(points) if selection.wants_metric(key[1])]
    found: Shifts | None = None
    if has_ruptures():
        found = {key: shifts([v for v in values_of(points, key) if v is not None]) for key in told}
    sys.stdout.write(joined(*document(points, told, found)))
    if output:
        write_bytes(output, picture(points, told, found or {}, output.suffix), overwrite=True)
        print(f"\nDrawn in {output}")


def _export(points: Sequence[Point], exports: Sequence[Sequence[str]], repository: str) -> None:
    for format, path in exports:
        if format == ASV:
            folder = Path(path)
            for line in asv.export(points, folder, os.path.relpath(repository, folder)):
                print(line, file=sys.stderr)
        else:
            write_text(path, action.entries(points), overwrite=True)
        print(f"\nExported to {path} for {format}")
