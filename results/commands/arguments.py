"""Types of arguments that several commands have."""

import argparse
import re
from typing import TYPE_CHECKING

from results.compare.comparability import FACTS
from results.typed import typed

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"expected a regular expression, found {text!r}: {error}") from None


def fact(text: str) -> str:
    """A name for --allow."""
    if text not in FACTS:
        raise ValueError(f"expected one of {', '.join(FACTS)}; found {text!r}")
    return text


def add_only(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only",
        metavar="REGEX",
        type=typed(pattern),
        help="benchmarks that match by operation (^implicit) or by full name",
    )


def add_selection(parser: argparse.ArgumentParser, metrics: str = "all") -> None:
    """--only and --metric, with the metrics that are taken without it."""
    add_only(parser)
    parser.add_argument(
        "--metric",
        metavar="NAME",
        action="append",
        default=[],
        help=f"score, rss.peak ..., or a pattern as gc.*; repeatable (default: {metrics})",
    )


def add_allow(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow",
        metavar="NAME",
        action="append",
        type=typed(fact),
        default=[],
        help=f"compare although this differs; repeatable: {', '.join(FACTS)}",
    )
