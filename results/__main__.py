"""`python -m results COMMAND`: what can be done with result files."""

import argparse
import os
import sys
from collections.abc import Sequence

from results.commands import calibrate, compare, expand, gate, history, report, show
from results.errors import ResultsError
from results.exit_status import BAD_INPUT, INTERRUPTED

COMMANDS = (show, compare, gate, calibrate, history, report, expand)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    args = _parser().parse_args(argv)
    # A terminal that lacks the plus-minus sign gets a question mark and not a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except ResultsError as error:
        print(f"results: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
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
    for command in COMMANDS:
        command.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
