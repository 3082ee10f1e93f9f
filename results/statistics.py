"""Means, totals and how well they are known.

Values of one process are not independent of each other: they share its addresses and its heap. So
the error of a mean comes from the means of the processes (Kalibera and Jones, "Rigorous
Benchmarking in Reasonable Time", 2013), as half the width of Student's interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from results.schema import Figures

CONFIDENCE = 0.999
"""JMH's: with a hundred rows, one in ten tables has an interval that misses."""
LEAST_PROCESSES = 3
"""Two give an interval of 450 standard deviations: a number that says nothing."""


@dataclass(frozen=True)
class Estimate:
    """An aggregate of `count` values of so many `processes`, in the unit of its metric.

    `error` is the half-width of the interval; None where there is none (a sum, a maximum), or too
    few processes. `value` is None when nothing was measured, or not enough for this aggregate.
    """

    value: float | None
    error: float | None
    count: int
    processes: int


def estimate(figures: Figures) -> Estimate:
    """The sum, maximum or mean over all values, whichever the metric asks for; a percentile is the
    one of all calls, and their number its count.

    A mean is of the values that were measurable; a sum or a maximum of some is none of all.
    """
    values, processes = figures.values, len(figures.by_process)
    if figures.merged is not None:
        return Estimate(figures.merged.value, None, figures.merged.count, processes)
    if not values or (figures.missing and figures.metric.agg != "mean"):
        return Estimate(None, None, len(values), processes)
    if figures.metric.agg == "sum":
        return Estimate(math.fsum(values), None, len(values), processes)
    if figures.metric.agg == "max":
        return Estimate(max(values), None, len(values), processes)
    return Estimate(mean(values), half_width(figures.measured), len(values), processes)


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, summed without loss; ValueError for no values."""
    if not values:
        raise ValueError("expected at least one value, found none")
    return math.fsum(values) / len(values)


def half_width(
    by_process: Sequence[Sequence[float]], confidence: float = CONFIDENCE
) -> float | None:
    """Half the width of the interval of the mean; None under `LEAST_PROCESSES` processes."""
    means = [mean(values) for values in by_process if values]
    if len(means) < LEAST_PROCESSES:
        return None
    centre = mean(means)
    variance = math.fsum((value - centre) ** 2 for value in means) / (len(means) - 1)
    quantile = student_quantile((1 + confidence) / 2, len(means) - 1)
    return quantile * math.sqrt(variance / len(means))


@lru_cache(maxsize=1024)
def student_quantile(probability: float, freedom: float) -> float:
    """The t that Student's distribution stays under with this probability (0.5 and above).

    By bisection on the tail, P(T > t) = I_x(freedom / 2, 1 / 2) / 2 with x = freedom / (freedom +
    t * t) (NIST Digital Library of Mathematical Functions, 8.17; Abramowitz and Stegun, 26.7.1).
    """
    if not 0.5 <= probability < 1:
        raise ValueError(f"expected a probability from 0.5 to below 1, found {probability}")
    if freedom < 1:
        raise ValueError(f"expected 1 or more degrees of freedom, found {freedom}")
    tail = 1 - probability
    low, high = 0.0, 1.0
    while _student_tail(high, freedom) > tail:
        low, high = high, high * 2
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            return middle
        if _student_tail(middle, freedom) > tail:
            low = middle
        else:
            high = middle


def student_p_value(t: float, freedom: float) -> float:
    """The probability that Student's t lies at least as far from 0 as this one, on either side."""
    if freedom < 1:
        raise ValueError(f"expected 1 or more degrees of freedom, found {freedom}")
    return 2 * _student_tail(t, freedom)


def _student_tail(t: float, freedom: float) -> float:
    """P(T > t) for a t of 0 or above; for one below, that of its size."""
    square = t * t
    return _beta(freedom / (freedom + square), square / (freedom + square), freedom / 2, 0.5) / 2


def _beta(x: float, rest: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b); `rest` is 1 - x without its rounding."""
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logarithm + a * math.log(x) + b * math.log(rest))
    # The fraction converges fast on this side only; the symmetry of I covers the other.
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(x, a, b) / a
    return 1 - front * _beta_fraction(rest, b, a) / b


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction DLMF 8.17.22, evaluated from the front by Lentz's method."""
    tiny, most_terms = 1e-300, 10_000
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d or tiny)
    fraction = d
    for m in range(1, most_terms):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            change = d * c
            fraction *= change
        if abs(change - 1) < 1e-15:
            return fraction
    raise ArithmeticError(f"no convergence of the beta function at x={x}, a={a}, b={b}")
