"""Rows that were timed call by call: each percentile is a figure, a process an observation."""

from collections.abc import Callable

import pyperf
import pytest

from results.compare.comparison import Comparison, Verdict

Make = Callable[..., pyperf.Benchmark]
Compared = Callable[..., Comparison]


@pytest.fixture
def tail(make_score: Make) -> Callable[..., pyperf.Benchmark]:
    """A row whose slowest 2 % of 2,000 calls take so long, in six processes that differ a bit."""

    def make(slow: float) -> pyperf.Benchmark:
        calls = [[(1e-6, 1960), (slow * by, 40)] for by in (1, 1.01, 0.99, 1.005, 0.995, 1)]
        return make_score("a[NONE]", processes=6, calls=calls)

    return make


def test_a_longer_tail_is_worse_while_the_median_stays(
    compared: Compared, tail: Callable[..., pyperf.Benchmark]
) -> None:
    verdicts = {c.metric.name: c.verdict for c in compared(tail(1e-4), tail(2e-4)).changes}
    assert (verdicts["p0.50"], verdicts["p0.99"]) == (Verdict.SAME, Verdict.WORSE)


def test_a_percentile_that_the_calls_can_not_carry_is_not_compared(
    compared: Compared, tail: Callable[..., pyperf.Benchmark]
) -> None:
    changes = {c.metric.name: c for c in compared(tail(1e-4), tail(2e-4)).changes}
    found = changes["p0.9999"]
    assert (found.verdict, found.change) == (Verdict.UNKNOWN, None)
    assert found.note == "before: not measurable; after: not measurable"


def test_a_percentile_is_the_mean_over_processes_and_not_the_worst_of_them(
    compared: Compared, tail: Callable[..., pyperf.Benchmark]
) -> None:
    changes = {c.metric.name: c for c in compared(tail(1e-4), tail(1e-4)).changes}
    before = changes["p0.99"].before.sample
    assert before is not None
    assert before.mean == pytest.approx(1e-4, rel=0.002)
