import random
from collections.abc import Callable

import pytest

from results.gate.modality import two_values

SHAPES: dict[str, Callable[[random.Random], float]] = {
    "normal": lambda rng: rng.gauss(100, 10),
    "uniform": lambda rng: rng.uniform(50, 150),
    "exponential": lambda rng: 50 + rng.expovariate(1 / 50),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [6, 8, 12, 20, 36])
def test_series_of_one_value_are_seldom_taken_for_two(shape: str, count: int) -> None:
    rng = random.Random(count)
    found = sum(
        two_values([SHAPES[shape](rng) for _ in range(count)]) is not None for _ in range(1000)
    )
    assert found <= 25


@pytest.mark.parametrize("count", [8, 12, 20, 36])
def test_series_of_two_values_are_found(count: int) -> None:
    rng = random.Random(count)
    series = [
        [rng.gauss(100 if place % 2 else 130, 1) for place in range(count)] for _ in range(200)
    ]
    found = [two_values(means) for means in series]
    assert sum(each is not None for each in found) >= 190
    assert {each.counts for each in found if each} == {(count // 2, count // 2)}


def test_the_groups_are_told_with_their_means() -> None:
    found = two_values([10.0, 20.0, 10.1, 20.1, 9.9, 19.9, 10.0])
    assert found is not None
    assert (found.counts, found.means) == ((4, 3), (10.0, 20.0))


def test_one_slow_process_is_no_second_value() -> None:
    assert two_values([10.0, 10.1, 9.9, 10.0, 10.2, 9.8, 10.0, 30.0]) is None


def test_values_that_hardly_differ_are_one() -> None:
    assert two_values([1.0, 1.01] * 6) is None
    assert two_values([0.0] * 12) is None


def test_values_that_the_metric_can_not_tell_apart_are_one() -> None:
    ticks = [0.0, 0.004] * 6
    assert two_values(ticks) is not None
    assert two_values(ticks, resolution=0.004) is None


def test_few_processes_are_not_split() -> None:
    assert two_values([1.0, 2.0, 1.0, 2.0]) is None
