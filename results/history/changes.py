"""Where a series changes its level.

By ruptures: PELT with the squared distance from the mean (Killick, Fearnhead and Eckley, "Optimal
Detection of Changepoints with a Linear Computational Cost", 2012), on logarithms over the noise of
the series. The Bayesian criterion asks 2 log n of a new level and its place; here it is more, since
the noise is an estimate, too, and a change that isn't there costs somebody an afternoon.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from results.statistics import mean

LEAST_POINTS = 6
_LEAST_SEGMENT = 2
_PENALTY = 5.0
_LEAST_NOISE = 0.005
"""Relative: levels of a series that hardly moves are not told apart to the last digit."""
_NORMAL_MAD = 0.6745
"""The median deviation of a normal distribution in its standard deviations."""

HOW_TO_INSTALL = "pip install 'scopestress[report]'"


@dataclass(frozen=True)
class Shift:
    """A new level from the point `index` on: the means of the values before and after."""

    index: int
    before: float
    after: float

    @property
    def change(self) -> float | None:
        """Relative; None from a level of 0."""
        return self.after / self.before - 1 if self.before else None


def has_ruptures() -> bool:
    try:
        import ruptures  # noqa: F401
    except ImportError:
        return False
    return True


def shifts(values: Sequence[float]) -> list[Shift]:
    """The changes of level in the order of the values; none in fewer than `LEAST_POINTS`."""
    if len(values) < LEAST_POINTS:
        return []
    import ruptures

    signal = _signal(values)
    found = ruptures.Pelt(model="l2", min_size=_LEAST_SEGMENT, jump=1).fit(signal)
    ends = found.predict(pen=_PENALTY * math.log(len(values)))
    starts = [0, *ends[:-1]]
    levels = [mean(values[a:b]) for a, b in zip(starts, ends, strict=True)]
    return [
        Shift(starts[i], levels[i - 1], levels[i])
        for i in range(1, len(starts))
        if not math.isclose(levels[i - 1], levels[i], rel_tol=_LEAST_NOISE)
    ]


def _signal(values: Sequence[float]) -> NDArray[np.float64]:
    """The values in units of their noise, which the steps from one to the next show: a change of
    level is one large step among many small ones, so their median doesn't see it."""
    series = np.asarray(values, dtype=float)
    least = _LEAST_NOISE * float(np.abs(series).mean())
    if series.min() > 0:
        series, least = np.log(series), _LEAST_NOISE
    steps = np.abs(np.diff(series))
    noise = float(np.median(steps)) / _NORMAL_MAD / math.sqrt(2)
    scaled: NDArray[np.float64] = series / (max(noise, least) or 1.0)
    return scaled
