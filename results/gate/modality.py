"""Series that lie about two values, as of code whose addresses fall one way or the other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from results.statistics import mean

_LEAST_PROCESSES = 6
_LEAST_SHARE = 0.2
"""Of the processes: fewer are outliers and not a second value."""
_LEAST_DISTANCE = 0.02
"""Relative: closer values aren't worth a word."""
_GAP = 2.2
"""Over the square root of the number of processes: the share of the distance between two groups
that lies empty between them. Of series of one value (normal, uniform, exponential) about one in a
hundred has such a gap, from 6 to 36 processes; tests/results/gate/test_modality.py counts them."""


@dataclass(frozen=True)
class TwoValues:
    """Two groups of processes, the lower one first, and the mean of each."""

    counts: tuple[int, int]
    means: tuple[float, float]


def two_values(means: Sequence[float], resolution: float = 0.0) -> TwoValues | None:
    """The two groups of a series of process means; None if it lies about one value, or about two
    that are no further apart than the metric can resolve.

    They are split where the gap is widest in relation to the distance of their means.
    """
    count = len(means)
    if count < _LEAST_PROCESSES:
        return None
    ordered = sorted(means)
    least = max(2, math.ceil(_LEAST_SHARE * count))
    splits = [_gap(ordered, place) for place in range(least, count - least + 1)]
    widest = max(range(len(splits)), key=splits.__getitem__)
    if splits[widest] < min(_GAP / math.sqrt(count), 0.9):
        return None
    low, high = ordered[: least + widest], ordered[least + widest :]
    centres = mean(low), mean(high)
    if centres[1] - centres[0] <= max(_LEAST_DISTANCE * abs(centres[1]), resolution):
        return None
    return TwoValues((len(low), len(high)), centres)


def _gap(ordered: Sequence[float], place: int) -> float:
    """The gap before this place over the distance between the means of both sides."""
    distance = mean(ordered[place:]) - mean(ordered[:place])
    return (ordered[place] - ordered[place - 1]) / distance if distance > 0 else 0.0
