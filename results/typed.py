"""Values of command lines."""

import argparse
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def typed(parse: Callable[[str], T]) -> Callable[[str], T]:
    """A parser of one value, for argparse: it drops the text of any error but its own kind."""

    def parsed(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed
