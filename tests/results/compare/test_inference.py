import math
import random

import pytest

from results.compare.inference import (
    ALPHA,
    Sample,
    centre,
    holm,
    p_value,
    ratio_interval,
    relative_change,
)
from results.statistics import student_p_value

# The first example of Welch's test on Wikipedia: t = -2.46, 25.0 degrees of freedom, P = 0.021.
ONE = [27.5, 21, 19, 23.6, 17, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19, 21.7, 21.4]
OTHER = [27.1, 22, 20.8, 23.4, 23.4, 23.5, 25.8, 22, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4]


def plain(means: list[float]) -> Sample:
    """A sample of which nothing is left out."""
    count, middle = len(means), math.fsum(means) / len(means)
    squares = math.fsum((value - middle) ** 2 for value in means)
    return Sample(count, middle, squares / (count - 1) / count, count - 1)


def normal(rng: random.Random, count: int, mean: float = 100.0, spread: float = 2.0) -> Sample:
    return Sample.of([rng.gauss(mean, spread) for _ in range(count)])


def test_the_test_is_welchs() -> None:
    assert p_value(plain(ONE), plain(OTHER)) == pytest.approx(0.021, abs=0.0005)


@pytest.mark.parametrize("counts", [(4, 7), (9, 12), (20, 20), (31, 15)])
def test_the_test_is_that_of_scipy(counts: tuple[int, int]) -> None:
    stats = pytest.importorskip(
        "scipy.stats", reason="scipy, which comes with ruptures, is missing"
    )
    rng = random.Random(counts[0])
    for _ in range(20):
        one = [rng.lognormvariate(0, 0.5) for _ in range(counts[0])]
        other = [rng.lognormvariate(0.4, 0.2) for _ in range(counts[1])]
        trim = 0.2 if min(counts) >= 8 else 0.0
        expected = stats.ttest_ind(one, other, equal_var=False, trim=trim).pvalue
        found = p_value(Sample.of(one), Sample.of(other))
        assert found is not None
        # The degrees of freedom are rounded down, so ours is never the smaller one.
        assert expected <= found * (1 + 1e-9)
        assert found == pytest.approx(expected, rel=0.2)


def test_equals_are_told_apart_as_seldom_as_alpha_says() -> None:
    rng = random.Random(1)
    p_values = [p_value(normal(rng, 8), normal(rng, 12)) for _ in range(2000)]
    below = sum(p is not None and p < 0.05 for p in p_values) / len(p_values)
    assert 0.03 < below < 0.07


@pytest.mark.parametrize(("after", "p"), [(5.0, 1.0), (5.0 * (1 + 1e-12), 1.0), (6.0, 0.0)])
def test_figures_that_never_vary_are_the_same_or_not(after: float, p: float) -> None:
    assert p_value(Sample.of([5.0] * 4), Sample.of([after] * 4)) == p


@pytest.mark.parametrize("counts", [(2, 30), (30, 2), (1, 1)])
def test_fewer_than_three_processes_are_not_tested(counts: tuple[int, int]) -> None:
    samples = [normal(random.Random(1), count) for count in counts]
    assert p_value(*samples) is None
    assert ratio_interval(*samples) is None


def test_the_interval_leaves_out_one_where_the_test_rejects() -> None:
    rng = random.Random(2)
    seen = set()
    for _ in range(400):
        before, after = normal(rng, 6), normal(rng, 9, rng.choice([100, 102, 105]))
        p, interval = p_value(before, after), ratio_interval(before, after)
        assert p is not None
        assert interval is not None
        rejected = p < ALPHA
        assert (not interval[0] <= 1 <= interval[1]) == rejected
        seen.add(rejected)
    assert seen == {True, False}


def test_the_interval_holds_the_true_ratio_as_often_as_it_says() -> None:
    rng = random.Random(3)
    held = 0
    for _ in range(1000):
        interval = ratio_interval(normal(rng, 6), normal(rng, 6, 120.0, 5.0), 0.95)
        assert interval is not None
        held += interval[0] <= 1.2 <= interval[1]
    assert 930 <= held <= 975


def test_there_is_no_interval_about_a_mean_that_may_be_zero() -> None:
    assert ratio_interval(Sample.of([-1.0, 0.5, 2.0, -1.4]), Sample.of([1.0, 2.0, 3.0])) is None
    assert ratio_interval(Sample.of([0.0] * 3), Sample.of([1.0, 2.0, 3.0])) is None


def test_an_interval_of_figures_that_never_vary_is_a_point() -> None:
    assert ratio_interval(Sample.of([4.0] * 3), Sample.of([5.0] * 3)) == (1.25, 1.25)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [(0.0, 0.0, 0.0), (0.0, 3.0, None), (3.0, 0.0, -1.0), (2.0, 3.0, 0.5), (-1.0, 2.0, None)],
)
def test_a_change_is_safe_at_zero(before: float, after: float, change: float | None) -> None:
    assert relative_change(before, after) == change


def test_holms_correction_is_that_of_the_textbook() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_from_eight_processes_on_a_fifth_at_either_end_is_left_out() -> None:
    means = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1000.0]
    assert centre(means) == 5.5
    assert centre(means[:7]) == 4.0
    assert centre([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 50.0]) == 8.0


def test_outliers_are_all_there_is_to_tell_of_noise_where_the_rest_never_varies() -> None:
    sample = Sample.of([5.0] * 9 + [6.0])
    assert (sample.mean, sample.freedom) == (5.1, 9)
    assert sample.variance > 0


def test_a_p_value_is_that_of_both_sides() -> None:
    assert student_p_value(12.706, 1) == pytest.approx(0.05, abs=1e-5)
    assert student_p_value(-12.706, 1) == student_p_value(12.706, 1)
    with pytest.raises(ValueError, match="1 or more degrees of freedom"):
        student_p_value(1.0, 0.5)
