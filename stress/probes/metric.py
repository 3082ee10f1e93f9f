"""A secondary figure: what it is called, how it is counted, added up and judged."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """A figure beside the score.

    name: as in tables and files ("gc.time"). unit: of one value. agg: how the values of a run make
    one figure. better: the direction that is an improvement. floor: the resolution in the same
    unit; nothing is claimed below it, and 0 says that every value counts. note: what a reader of
    the figure should know, as the end of a sentence; mostly nothing.
    """

    name: str
    unit: str
    agg: Literal["sum", "max", "mean"]
    better: Literal["lower", "higher"]
    floor: float
    note: str = ""
