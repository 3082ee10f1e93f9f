"""Records what a program does with memory, for suites.replay.

  python -m suites.record -o DIR -- script.py args     all allocations of a program
  python -m suites.record -o DIR -- -m module args
  python -m suites.record info DIR                     what is in a recording
  python -m suites.record pack DIR -o FILE.tar.xz      a recording as one small file
  python -m suites.record import FILE.csv -o DIR       a recording from a table of events

Allocations are recorded by memray (pip install 'scopestress[record]'). scopes.record() in a
program, or SCOPES_RECORD=DIR in its environment, records the scopes of this project.
docs/recording.md has the format, and what is recorded and what is not.

The exit status of a recorded program is passed on, 128 + N where signal N ended it. Else it is 0, 1
where nothing was recorded, and 2 for bad input.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from results.names import parse_size
from stress.modes import StressError
from suites.recordings.format import NothingRecordedError, RecordingError

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
MAX_BYTES = 4 << 30


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    commands: dict[str, Callable[[list[str]], int]] = {
        "info": _info,
        "import": _import,
        "pack": _pack,
    }
    try:
        if arguments and arguments[0] in commands:
            status = commands[arguments[0]](arguments[1:])
        else:
            status = _record(arguments)
        sys.stdout.flush()
    except (RecordingError, StressError) as error:
        print(f"record: {error}", file=sys.stderr)
        return FAILED if isinstance(error, NothingRecordedError) else BAD_INPUT
    except KeyboardInterrupt:
        print("record: interrupted; `info DIR` makes a recording of what there is", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain again on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def _record(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m suites.record",
        usage="%(prog)s -o DIR [options] -- script.py args | -m module args",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_output(parser)
    parser.add_argument(
        "--max-size",
        type=_size,
        default=MAX_BYTES,
        metavar="SIZE",
        help="of its files; then the program goes on unrecorded (default: 4GiB)",
    )
    parser.add_argument(
        "--max-operations", type=_count, metavar="N", help="of the recording (default: no bound)"
    )
    parser.add_argument(
        "--native-only",
        action="store_true",
        help="what Python's own allocators take from the system, and not what they hand out",
    )
    split = arguments.index("--") if "--" in arguments else len(arguments)
    args = parser.parse_args(arguments[:split])
    command = arguments[split + 1 :]
    if not command:
        parser.error("expected -- and a script, or -m and a module, found nothing to run")
    from suites.recordings.capture import Recorder

    recorder = Recorder(args.max_size, args.max_operations, not args.native_only)
    status = recorder.record(args.output, command)
    _report(args.output)
    return status


def _info(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m suites.record info", description="What is in a recording."
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    args = parser.parse_args(arguments)
    from suites.recordings import show
    from suites.recordings.loader import load
    from suites.recordings.summary import summarize

    recording = load(args.folder)
    shown = show.json_text if args.format == "json" else show.text
    sys.stdout.write(shown(recording, summarize(recording)))
    return 0


def _import(arguments: list[str]) -> int:
    from suites.recordings import table

    parser = argparse.ArgumentParser(
        prog="python -m suites.record import",
        description=table.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE")
    _add_output(parser)
    args = parser.parse_args(arguments)
    from suites.recordings.finish import write
    from suites.recordings.writer import make_folder

    source = table.Table(args.file)
    make_folder(args.output)
    try:
        write(args.output, source, {"source": "csv", "file": str(args.file)})
    except BaseException:
        shutil.rmtree(args.output)
        raise
    _report(args.output)
    return 0


def _pack(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m suites.record pack",
        description="A recording as one small file, which replay and info read as its folder.",
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    _add_output(parser, "FILE.tar.xz", "a new file")
    args = parser.parse_args(arguments)
    from suites.recordings.loader import load
    from suites.recordings.packed import pack

    pack(load(args.folder), args.output)
    return 0


def _add_output(
    parser: argparse.ArgumentParser, metavar: str = "DIR", what: str = "a new folder"
) -> None:
    parser.add_argument("-o", "--output", type=Path, required=True, metavar=metavar, help=what)


def _report(folder: Path) -> None:
    """One line on stderr, where it does not mix with what the program printed."""
    from suites.recordings.loader import load
    from suites.recordings.show import counted

    recording = load(folder)
    what = counted(len(recording.operations), "operation")
    threads = counted(len(recording.threads), "thread")
    truncated = recording.info.get("truncated")
    why = f", truncated: {truncated}" if truncated else ""
    print(f"record: {what} of {threads} in {folder}{why}", file=sys.stderr)


def _size(text: str) -> int:
    try:
        size = parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if size < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1 byte, found {text!r}")
    return size


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, found {text!r}")
    return int(text)


if __name__ == "__main__":
    raise SystemExit(main())
