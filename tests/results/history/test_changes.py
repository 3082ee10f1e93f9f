import random

import pytest

from results.history.changes import LEAST_POINTS, has_ruptures, shifts

pytestmark = pytest.mark.skipif(not has_ruptures(), reason="ruptures is not installed")


def noisy(rng: random.Random, *levels: tuple[float, int]) -> list[float]:
    return [rng.gauss(level, 0.02 * level) for level, count in levels for _ in range(count)]


def test_a_new_level_is_found_where_it_begins() -> None:
    for seed in range(20):
        (found,) = shifts(noisy(random.Random(seed), (1.0, 10), (1.2, 8)))
        assert found.index == 10
        assert found.change == pytest.approx(0.2, abs=0.04)


def test_two_new_levels_are_two_changes() -> None:
    found = shifts(noisy(random.Random(1), (1.0, 10), (2.0, 10), (1.0, 10)))
    assert [(shift.index, round(shift.change or 0, 1)) for shift in found] == [
        (10, 1.0),
        (20, -0.5),
    ]


def test_noise_alone_has_seldom_a_change() -> None:
    series = [noisy(random.Random(seed), (1.0, 30)) for seed in range(100)]
    assert sum(bool(shifts(values)) for values in series) <= 5


def test_a_new_level_out_of_zero_is_found() -> None:
    (found,) = shifts([0.0] * 8 + [0.5] * 8)
    assert (found.index, found.before, found.change) == (8, 0.0, None)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_what_never_varies_has_no_change(value: float) -> None:
    assert shifts([value] * 20) == []


def test_few_points_are_not_looked_at() -> None:
    assert shifts([1.0, 1.0, 1.0, 9.0, 9.0][: LEAST_POINTS - 1]) == []
