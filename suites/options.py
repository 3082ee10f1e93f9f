"""The command line of a suite: its own options, and pyperf's sorted into its help."""

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from results.typed import typed
from stress.modes import StressMode
from stress.probes import PROBES
from suites.cells import Cell, Selection, Suite
from suites.parameters import PARAMETERS, Parameter, Sweep, one_of, swept
from suites.replays.targets import KINDS, TARGETS

# What pyperf offers and a suite does not, and what does the job here.
REFUSED = {
    "--in-process": "stress and probes need a process of their own for every run; "
    "for a single quick value use --debug-single-value",
    "--track-memory": "it gives memory in place of times, and here both are recorded together; "
    "use --probe rss and read the rows :rss.peak",
    "--tracemalloc": "it gives memory in place of times, and here both are recorded together; "
    "use --probe native or --probe rss",
    "--compare-to": "run the suite once for each interpreter, with --python PYTHON -o FILE, "
    "and use python -m pyperf compare_to A B --table",
    "--profile": "the profiler would be what is measured; use --hook perf_record",
}

# Said between pyperf's processes, or without a meaning on its own.
_INTERNAL = {
    "--pipe",
    "--worker",
    "--worker-task",
    "--calibrate-loops",
    "--recalibrate-loops",
    "--calibrate-warmups",
    "--recalibrate-warmups",
    "--python-names",
}

# Where pyperf's line would mislead here.
_HELP = {
    "--output": "write the results to this file (default: results/SUITE-DATE-TIME.json)",
    "--append": "add the results to this file: runs to benchmarks of the same name",
    "--verbose": "print every run as pyperf does, in place of the progress line",
    "--quiet": "no progress line",
}

# A worker builds the same list of cells as its manager; `--list` and files are not its business.
_FORWARDED = (
    "mode",
    "size",
    "touch",
    "only",
    "peers",
    "quick",
    "collect_every",
    "threads_measured",
    "scope",
    "allocator",
    "under",
    "heap_objects",
    "heap_kind",
    "threads",
    "spin",
    "replay_threads",
    "think",
    "scope_by",
    "window",
    "target",
    "kind",
    "param",
    "probe",
    "sample",
    "timeline",
    "worker_environ",
)


class _Refused(argparse.Action):
    """An option of pyperf that ends with the line that names its replacement."""

    def __init__(self, option_strings: Sequence[str], dest: str, **_: object) -> None:
        super().__init__(option_strings, dest, nargs="?", help=argparse.SUPPRESS)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        option = self.option_strings[-1]
        parser.error(f"{option} is not available in this suite: {REFUSED[option]}")


class PyperfOptions:
    """Stands for the parser while pyperf adds its options, and sorts them into our help."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.description = ""  # pyperf sets one; ours stays
        self._group = parser.add_argument_group(
            "pyperf options", "how often and how long; https://pyperf.readthedocs.io/"
        )

    def add_argument(self, *flags: str, **keywords: Any) -> argparse.Action:
        if any(flag in REFUSED for flag in flags):
            keywords = {"action": _Refused, "dest": keywords.get("dest")}
        elif any(flag in _INTERNAL for flag in flags):
            keywords["help"] = argparse.SUPPRESS
        else:
            keywords["help"] = _HELP.get(flags[-1], keywords.get("help"))
        return self._group.add_argument(*flags, **keywords)

    def add_mutually_exclusive_group(self) -> "PyperfOptions":
        return self  # of --tracemalloc and --track-memory, both refused


def _regex(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"expected a regular expression, found {text!r}: {error}") from None
    return text


_USAGE = "[--quick] [--mode MODE] [--size BYTES] [--only REGEX]"
_REPLAY_USAGE = "DIR [DIR ...] [--target NAME] [--kind NAME] [--mode MODE]"


def build_parser(suite: Suite) -> argparse.ArgumentParser:
    """The parser with the suite's own options; pyperf adds its through `PyperfOptions`.

    Abbreviations are off: --track would be refused or not depending on what else is added.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m suites.{suite.name}",
        usage=f"%(prog)s {_REPLAY_USAGE if suite.replays else _USAGE} [-o FILE] [...]",
        description=suite.text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_what(parser, suite)
    if suite.replays:
        _add_replay(parser, suite)
    _add_stress(parser, suite)
    parser.add_argument("--worker-environ", action="append", help=argparse.SUPPRESS)
    return parser


def _add_what(parser: argparse.ArgumentParser, suite: Suite) -> None:
    group = parser.add_argument_group("what to run")
    add = group.add_argument
    add(
        "--quick",
        action="store_true",
        help="the least that shows what this suite is about, in two minutes",
    )
    add("--peers", action="store_true", help="add what else Python offers for the same work")
    add(
        "--only",
        metavar="REGEX",
        type=typed(_regex),
        help="benchmarks that match by row (^implicit) or by full name, as --list prints it",
    )
    _add_parameters(group, suite, ("work", ""))
    add(
        "--param",
        metavar="NAME=VALUE,...",
        action="append",
        type=typed(Sweep.parse),
        help="a benchmark for each value, and for each combination if repeated: "
        f"{', '.join(PARAMETERS)}",
    )
    add(
        "--probe",
        metavar="NAME",
        action="append",
        type=typed(one_of(*PROBES, "list")),
        help="what is read beside the time; repeatable, 'list' prints them "
        f"(default: {', '.join(suite.probes)})",
    )
    add(
        "--sample",
        action="store_true",
        default=suite.sampled,
        help="time every single operation and print percentiles"
        + (" (always so in this suite)" if suite.sampled else ""),
    )
    add(
        "--timeline",
        action="store_true",
        help="record the resident memory every millisecond, for the charts of a report",
    )
    add(
        "--report",
        action="store_true",
        help="write a page with charts beside the results, too (needs matplotlib)",
    )
    add("--list", action="store_true", help="print what would run, with -v the timed code, and end")


def _add_replay(parser: argparse.ArgumentParser, suite: Suite) -> None:
    group = parser.add_argument_group("replay")
    for name, rows in (("target", TARGETS), ("kind", KINDS)):
        words = [row.name for row in rows]
        group.add_argument(
            f"--{name}",
            metavar="NAME",
            action="append",
            type=typed(one_of(*words)),
            help=f"only that: {', '.join(words)}; repeatable",
        )
    _add_parameters(group, suite, ("replay",))
    group.add_argument(
        "--check",
        action="store_true",
        help="measure nothing: write to every byte, read it before it goes, and compare what is"
        " live at the end with what was recorded",
    )


def _rows(args: argparse.Namespace) -> tuple[str, ...]:
    """What --target and --kind name."""
    return (*(getattr(args, "target", None) or ()), *(getattr(args, "kind", None) or ()))


def _add_stress(parser: argparse.ArgumentParser, suite: Suite) -> None:
    group = parser.add_argument_group("stress")
    group.add_argument(
        "--mode",
        action="append",
        type=typed(StressMode.parse),
        metavar="MODE",
        help=f"{', '.join(StressMode)}, in any case; repeatable (default: {_modes(suite)})",
    )
    _add_parameters(group, suite, ("stress",))


def _modes(suite: Suite) -> str:
    return "all" if len(suite.modes) == len(StressMode) else ", ".join(suite.modes)


def _add_parameters(group: "argparse._ArgumentGroup", suite: Suite, parts: Sequence[str]) -> None:
    """An option for each parameter of these parts of a cell."""
    usual = Cell(suite.rows[0], StressMode.NONE, suite.work, counts=suite.counts)
    for parameter in PARAMETERS.values():
        if parameter.part in parts and parameter.has_option and _matters(parameter, suite):
            group.add_argument(
                f"--{parameter.name}",
                metavar=parameter.metavar,
                action="append" if parameter.repeatable else "store",
                type=typed(parameter.parse),
                help=f"{parameter.help} (default: {_default(parameter, usual, suite)})",
            )


def _matters(parameter: Parameter, suite: Suite) -> bool:
    """Whether it has an effect on any row of the suite in any mode."""
    rows = suite.rows + suite.peers
    return any(parameter.matters(row, mode) for row in rows for mode in StressMode)


def _default(parameter: Parameter, usual: Cell, suite: Suite) -> str:
    if parameter.name == "size" and suite.sizes:
        return ", ".join(map(str, suite.sizes))
    return parameter.text(usual)


def is_quick(argv: Sequence[str] | None) -> bool:
    """Whether --quick is given: it changes the defaults of the options of pyperf."""
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    early.add_argument("--quick", action="store_true")
    return bool(early.parse_known_args(argv)[0].quick)


def select(parser: argparse.ArgumentParser, args: argparse.Namespace, suite: Suite) -> Selection:
    """What the parsed arguments ask for; ends with the parser's error where they make no sense."""
    values: dict[str, tuple[Any, ...]] = dict(suite.values)
    for parameter in PARAMETERS.values():
        given = getattr(args, parameter.attribute, None)
        several = swept(args.param or (), parameter)
        if several and parameter.name in suite.values:
            name = parameter.name
            parser.error(
                f"--param {name}=... says what stands before the options: give one of them"
            )
        if given is not None and several:
            name = parameter.name
            parser.error(f"--{name} and --param {name}=... say the same: give one of them")
        if given is not None:
            several = given if isinstance(given, list) else [given]
        if several:
            values[parameter.name] = tuple(dict.fromkeys(several))
    plan = suite.quick if args.quick and "size" not in values else ()
    if plan:
        values["size"] = tuple(dict.fromkeys(part.size for part in plan))
    elif suite.sizes:
        values.setdefault("size", suite.sizes)
    return Selection(
        modes=tuple(dict.fromkeys(args.mode or suite.modes)),
        values=values,
        only=re.compile(args.only) if args.only else None,
        peers=args.peers,
        plan=plan,
        sampled=args.sample,
        rows=_rows(args),
    )


def forward(command: list[str], args: argparse.Namespace) -> None:
    """Append our own options to the command line of a worker."""
    for name in _FORWARDED:
        flag, value = "--" + name.replace("_", "-"), getattr(args, name, None)
        if value is True:
            command.append(flag)
        elif isinstance(value, list):
            command.extend(f"{flag}={item}" for item in value)
        elif value is not None and value is not False:
            command.append(f"{flag}={value}")
