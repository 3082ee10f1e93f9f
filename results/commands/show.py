"""`python -m results show FILE`"""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from results.files import read
from results.show import FORMATS, show

if TYPE_CHECKING:
    from results.commands.arguments import Commands


def add(commands: "Commands") -> None:
    parser = commands.add_parser("show", help="print the table of a file and what it says")
    parser.add_argument("file", metavar="FILE", help="a result file, also gzipped")
    parser.add_argument(
        "--format", choices=FORMATS, default="text", help="text is for reading (default: text)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    show(read(args.file), sys.stdout, args.format, colour)
    return 0
