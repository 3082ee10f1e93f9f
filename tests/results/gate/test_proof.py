"""The gate on real series: pairs of runs drawn from their processes.

Pairs of equals raise no alarm, an alarm being exit status 1 for a pair over all its rows and
metrics; a fifth more in one row is found. The long tests draw the pairs that the claims are about,
the quick ones fewer.
"""

import random
from collections.abc import Callable

import pytest

from results.compare import inference
from results.compare.comparison import Verdict, compare
from results.exit_status import REGRESSION
from results.gate.judge import State, judge
from results.gate.limits import Limits
from results.model import Results

CALM, BUSY = "series-calm.json", "series-busy.json"
DEFAULTS = Limits({}, {})

Counted = Callable[[str, int, int], int]
Drawn = Callable[..., tuple[Results, Results]]
Recorded = Callable[[str], Results]


@pytest.fixture
def alarms(recorded: Recorded, drawn: Drawn) -> Counted:
    """How many pairs of equals of so many processes are called a regression, of so many pairs."""

    def count(name: str, processes: int, pairs: int) -> int:
        series, rng = recorded(name), random.Random(processes)
        both = (drawn(series, processes, rng) for _ in range(pairs))
        return sum(judge(*pair, DEFAULTS).status == REGRESSION for pair in both)

    return count


@pytest.fixture
def found(recorded: Recorded, drawn: Drawn) -> Counted:
    """In how many pairs a fifth more is found in the row, each in turn, that has it."""

    def count(name: str, processes: int, pairs: int) -> int:
        series, rng = recorded(name), random.Random(processes)
        hits = 0
        for pair in range(pairs):
            row = series.rows[pair % len(series.rows)].name
            judgement = judge(*drawn(series, processes, rng, {row: 1.2}), DEFAULTS)
            hits += any(f.change.row.name == row for f in judgement.of(State.REGRESSION))
        return hits

    return count


@pytest.mark.parametrize("name", [CALM, BUSY])
def test_equals_raise_no_alarm(alarms: Counted, name: str) -> None:
    assert alarms(name, 12, 20) == 0


def test_a_fifth_more_in_one_row_is_found(found: Counted) -> None:
    assert found(CALM, 36, 24) >= 23


@pytest.mark.long
@pytest.mark.parametrize("processes", [6, 12, 36])
@pytest.mark.parametrize("name", [CALM, BUSY])
def test_of_200_pairs_of_equals_at_most_2_raise_an_alarm(
    alarms: Counted, name: str, processes: int
) -> None:
    assert alarms(name, processes, 200) <= 2


@pytest.mark.long
def test_of_200_rows_with_a_fifth_more_at_least_195_are_found(found: Counted) -> None:
    assert found(CALM, 36, 200) >= 195


def test_a_fifth_more_is_found_more_often_with_trimmed_means(
    recorded: Recorded, drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = recorded(CALM)

    def told() -> int:
        rng = random.Random(1)
        count = 0
        for row in series.rows * 2:
            changes = compare(*drawn(series, 16, rng, {row.name: 1.2})).changes
            count += any(c.verdict is Verdict.WORSE for c in changes if c.row.name == row.name)
        return count

    trimmed = told()
    monkeypatch.setattr(inference, "TRIMMED", 0.0)
    assert trimmed > told()
