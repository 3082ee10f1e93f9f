"""`python -m results report FILE...`"""

import argparse
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from results.errors import ResultsError
from results.files import read
from results.model import Results
from results.report.charts import CHARTS
from results.report.write import FORMATS, check_report, write_chart, write_report

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_DESCRIPTION = """\
One page that needs no network: scores by mode, what they hide in memory and in the collector,
resident memory over time, pauses, percentiles, a table that can be sorted, and where it was
measured. Several files stand side by side, with a selector. With --chart it is one chart as a
picture."""


def add(commands: "Commands") -> None:
    parser = commands.add_parser(
        "report",
        help="make a page with charts of files",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="result files of ours or of pyperf"
    )
    parser.add_argument(
        "-o",
        metavar="FILE",
        dest="output",
        type=Path,
        help="where it goes; an older one is replaced (default: report.html, or CHART.FORMAT)",
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="html is the page (default: as -o ends, else html)"
    )
    parser.add_argument("--chart", choices=CHARTS, help="what a png or svg shows")
    parser.add_argument(
        "--only",
        metavar="REGEX",
        type=_pattern,
        help="benchmarks that match by operation (^implicit) or by full name",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    format = _format(args)
    if format != "html" and not args.chart:
        raise ResultsError(f"--format {format}: expected --chart, one of {', '.join(CHARTS)}")
    if format == "html" and args.chart:
        raise ResultsError(f"--chart {args.chart}: expected --format png or svg, found html")
    output = args.output or Path("report.html" if format == "html" else f"{args.chart}.{format}")
    check_report(output, format)
    files = [_selected(read(path), args.only) for path in args.files]
    if format == "html":
        write_report(output, files)
    else:
        write_chart(output, files, args.chart, format)
    print(f"Written to {output}")
    return 0


def _format(args: argparse.Namespace) -> str:
    """The format that is asked for, or the one that the name of the file asks for."""
    if args.format:
        return str(args.format)
    suffix = args.output.suffix if args.output else ""
    return next((format for format, endings in FORMATS.items() if suffix in endings), "html")


def _selected(results: Results, only: re.Pattern[str] | None) -> Results:
    if only is None:
        return results
    rows = tuple(r for r in results.rows if only.search(r.operation) or only.search(r.name))
    if not rows:
        raise ResultsError(f"{results.path}: no benchmark matches {only.pattern!r}")
    return replace(results, rows=rows)


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(
            f"expected a regular expression, found {text!r}: {error}"
        ) from None
