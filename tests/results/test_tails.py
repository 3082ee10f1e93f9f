"""What the words say where single calls were timed."""

from collections.abc import Callable
from typing import Any

import pyperf
import pytest

from results.model import Results
from results.words import words

Make = Callable[..., pyperf.Benchmark]
Read = Callable[..., Results]
Metrics = Callable[..., dict[str, Any]]

USUAL = [(1e-7, 9990)]


def tail(seconds: float) -> list[tuple[float, int]]:
    """Ten calls of 10,000 that take so long."""
    return [*USUAL, (seconds, 10)]


@pytest.fixture
def said(make_score: Make, results_of: Read) -> Callable[..., list[str]]:
    """The words on rows of an operation each: name, calls of every process, metrics."""

    def say(*rows: tuple[str, list[tuple[float, int]], dict[str, Any]]) -> list[str]:
        made = [
            make_score(name, 3e-7, calls=[calls] * 3, metrics=metrics)
            for name, calls, metrics in rows
        ]
        return [text for text in words(results_of(*made)) if "one call in" in text]

    return say


Said = Callable[..., list[str]]


def test_calls_alike_have_no_tail(said: Said, quiet: Metrics) -> None:
    assert said(("a[NONE]", [(1e-7, 9000), (3e-7, 1000)], quiet(cpu=3e-7))) == []


def test_a_tail_that_is_little_of_the_time_is_not_told(said: Said, quiet: Metrics) -> None:
    assert said(("a[NONE]", [(1e-7, 99_990), (2e-6, 10)], quiet(cpu=3e-7))) == []


def test_the_collectors_pauses_are_told_as_the_tail(said: Said, thrashing: Metrics) -> None:
    rows = ("implicit[NONE]", tail(2e-4), thrashing(cpu=3e-7))
    assert said(rows) == [
        "implicit[NONE]: one call in 1,000 takes 67 % of the time, which the mean of 300 ns hides;"
        " half of all calls take 100 ns at most, the slowest 200 us. The collector runs in those,"
        " for 46 ms at most."
    ]


def test_waiting_is_told_as_the_tail_of_all_who_wait(said: Said, quiet: Metrics) -> None:
    rows = [(f"{name}[THREADS]", tail(2e-2), quiet(cpu=1e-7)) for name in ("shared", "confined")]
    assert said(*rows) == [
        "shared[THREADS]: one call in 1,000 takes 100 % of the time, which the mean of 300 ns"
        " hides; half of all calls take 100 ns at most, the slowest 20 ms. Those wait for a core or"
        " the GIL. Likewise confined."
    ]


def test_collector_and_waiting_are_told_where_it_is_both(said: Said, thrashing: Metrics) -> None:
    (text,) = said(("implicit[NONE]", tail(2e-3), thrashing(share=0.2, cpu=1e-7)))
    assert text.endswith(
        "The collector runs in some, for 46 ms at most; the others wait for a core or the GIL."
    )


def test_a_tail_without_a_known_cause_is_told_without_one(said: Said, quiet: Metrics) -> None:
    (text,) = said(("a[NONE]", tail(2e-4), quiet(cpu=3e-7)))
    assert text.endswith("the slowest 200 us.")


def test_modes_and_causes_have_lines_of_their_own(
    said: Said, quiet: Metrics, thrashing: Metrics
) -> None:
    rows = [
        ("a[NONE]", tail(2e-4), quiet(cpu=3e-7)),
        ("b[NONE]", tail(2e-4), thrashing(cpu=3e-7)),
        ("a[THREADS]", tail(2e-4), quiet(cpu=1e-7)),
    ]
    assert len(said(*rows)) == 3


def test_the_tail_of_the_empty_operation_is_the_machines(said: Said, quiet: Metrics) -> None:
    assert said(("baseline[NONE]", tail(2e-4), quiet(cpu=3e-7))) == []


def test_a_row_with_too_few_calls_has_no_tail(said: Said, quiet: Metrics) -> None:
    assert said(("a[NONE]", [(1e-7, 2), (1.0, 1)], quiet(cpu=3e-7))) == []
