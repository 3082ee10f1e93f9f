"""`python -m results COMMAND`: what can be done with result files."""

import argparse
import os
import sys
from collections.abc import Sequence

from results.commands import report
from results.errors import ResultsError
from results.files import read, write_expanded
from results.show import FORMATS, show

BAD_INPUT = 2
"""The exit status for a file or an argument that can't be used."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    args = _parser().parse_args(argv)
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except ResultsError as error:
        print(f"results: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain again on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m results", description="What is in result files of pyperf and scopestress."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_show(commands)
    _add_expand(commands)
    report.add(commands)
    return parser


def _add_show(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("show", help="print the table of a file and what it says")
    parser.add_argument("file", metavar="FILE", help="a result file, also gzipped")
    parser.add_argument(
        "--format", choices=FORMATS, default="text", help="text is for reading (default: text)"
    )
    parser.set_defaults(run=_show)


def _show(args: argparse.Namespace) -> int:
    # A terminal that lacks the plus-minus sign gets a question mark and not a traceback.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    show(read(args.file), sys.stdout, args.format, colour)
    return 0


def _add_expand(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "expand", help="write the figures of a file, as of pyperf's hooks, as benchmarks for pyperf"
    )
    parser.add_argument("file", metavar="FILE", help="a result file, also gzipped")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the file to write")
    parser.set_defaults(run=_expand)


def _expand(args: argparse.Namespace) -> int:
    write_expanded(args.output, args.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
