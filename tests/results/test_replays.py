"""What is told of replays beside their table."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest

from results.model import Results
from results.replays import MOST_DRIVER, totals
from results.show import show
from results.words import words

Loaded = Callable[..., Results]


@pytest.fixture
def replayed(make_score, results_of):
    """The results of rows that replay a recording."""

    def make(*rows: tuple[str, float], driver: float = 0.1, **facts: Any) -> Results:
        metadata = {"scopestress_recording": "work", "scopestress_schema": 1} | facts
        return results_of(
            *(
                make_score(
                    name,
                    seconds,
                    processes=3,
                    values=2,
                    loops=4,
                    inner_loops=1000,
                    metrics={"driver.share": driver},
                    metadata=metadata,
                )
                for name, seconds in rows
            )
        )

    return make


def test_the_total_is_that_of_all_values_and_loops(replayed):
    (row,) = replayed(("malloc[NONE]", 1e-7)).rows
    ns = sum(value for process in row.values for value in process) * 4 * 1000 * 1e9
    assert totals([row]) == ["", f"malloc[NONE]: {ns:,.0f} ns in all, 6 samples"]


def test_other_rows_have_no_total(make_score, results_of):
    assert totals(results_of(make_score()).rows) == []


def test_what_a_recording_lacks_is_told_once(replayed):
    results = replayed(
        ("malloc[NONE]", 1e-7),
        ("mmap[NONE]", 1e-6),
        scopestress_recording_truncated="the disk is nearly full",
        scopestress_recording_left_out=1234,
    )
    lines = totals(results.rows)
    assert lines[-2:] == [
        "The recording work ends before the program did: the disk is nearly full.",
        "The recording work leaves out 1,234 events of what is older than it, or can't be true:"
        " see `python -m suites.record info`.",
    ]
    assert len(lines) == 5


def test_totals_stand_below_the_table(replayed):
    stream = StringIO()
    show(replayed(("malloc[NONE]", 1e-7)), stream)
    assert "ns in all, 6 samples" in stream.getvalue()


@pytest.mark.parametrize(("driver", "found"), [(MOST_DRIVER - 0.01, 0), (MOST_DRIVER + 0.01, 1)])
def test_a_replay_that_measures_itself_is_a_finding(replayed, driver, found):
    results = replayed(("malloc[NONE]", 1e-7), ("arena[NONE]", 2e-7), driver=driver)
    said = [line for line in words(results) if "The replay itself takes" in line]
    assert len(said) == found
    if said:
        assert "arena[NONE], too" in said[0] or "malloc[NONE], too" in said[0]


def test_the_harness_is_not_told_beside_the_driver(replayed):
    results = replayed(("baseline[NONE]", 9e-8), ("malloc[NONE]", 1e-7), driver=0.05)
    assert not [line for line in words(results) if "that part is the harness" in line]
