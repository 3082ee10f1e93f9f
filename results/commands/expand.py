"""`python -m results expand FILE -o OUT`"""

import argparse
from typing import TYPE_CHECKING

from results.files import write_expanded

if TYPE_CHECKING:
    from results.commands.arguments import Commands


def add(commands: "Commands") -> None:
    parser = commands.add_parser(
        "expand", help="write the figures of a file, as of pyperf's hooks, as benchmarks for pyperf"
    )
    parser.add_argument("file", metavar="FILE", help="a result file, also gzipped")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the file to write")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    write_expanded(args.output, args.file)
    return 0
