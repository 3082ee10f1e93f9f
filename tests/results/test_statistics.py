import math
import statistics as stdlib

import pytest

from results.schema import Figures, Metric
from results.statistics import estimate, half_width, mean, student_quantile

# Percentage points of Student's t, upper tail 0.0005 and 0.025, as any printed table has them
# (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2).
TABLE = [
    (0.9995, 1, 636.619),
    (0.9995, 2, 31.599),
    (0.9995, 3, 12.924),
    (0.9995, 5, 6.869),
    (0.9995, 9, 4.781),
    (0.9995, 19, 3.883),
    (0.9995, 30, 3.646),
    (0.9995, 60, 3.460),
    (0.9995, 120, 3.373),
    (0.975, 1, 12.706),
    (0.975, 4, 2.776),
    (0.975, 10, 2.228),
    (0.975, 100, 1.984),
]


@pytest.mark.parametrize(("probability", "freedom", "printed"), TABLE)
def test_quantiles_are_those_of_printed_tables(
    probability: float, freedom: int, printed: float
) -> None:
    assert student_quantile(probability, freedom) == pytest.approx(printed, abs=0.0006)


@pytest.mark.parametrize("probability", [0.5, 0.75, 0.975, 0.9995])
def test_quantiles_have_their_closed_form_at_one_degree_of_freedom(probability: float) -> None:
    closed = math.tan(math.pi * (probability - 0.5))
    assert student_quantile(probability, 1) == pytest.approx(closed, rel=1e-9, abs=1e-12)


def test_quantiles_have_their_closed_form_at_two_degrees_of_freedom() -> None:
    alpha = 4 * 0.9995 * 0.0005
    closed = 2 * (0.9995 - 0.5) * math.sqrt(2 / alpha)
    assert student_quantile(0.9995, 2) == pytest.approx(closed, rel=1e-9)


def test_quantiles_end_in_those_of_the_normal_distribution() -> None:
    normal = stdlib.NormalDist().inv_cdf(0.9995)
    assert student_quantile(0.9995, 10**7) == pytest.approx(normal, rel=1e-5)


@pytest.mark.parametrize(("probability", "freedom"), [(0.4, 5), (1.0, 5), (0.9, 0)])
def test_quantiles_that_do_not_exist_are_refused(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        student_quantile(probability, freedom)


def test_the_error_is_students_interval_of_the_process_means() -> None:
    by_process = [[1.0, 3.0], [4.0, 4.0], [5.0, 7.0]]  # means 2, 4, 6
    expected = 31.599 * 2.0 / math.sqrt(3)
    assert half_width(by_process) == pytest.approx(expected, rel=1e-4)


def test_values_within_a_process_do_not_narrow_the_error() -> None:
    few = [[2.0], [4.0], [6.0]]
    many = [[2.0] * 100, [4.0] * 100, [6.0] * 100]
    assert half_width(many) == half_width(few)


@pytest.mark.parametrize("processes", [0, 1, 2])
def test_fewer_than_three_processes_have_no_error(processes: int) -> None:
    assert half_width([[1.0, 2.0]] * processes) is None


def test_the_mean_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at least one value, found none"):
        mean([])


@pytest.mark.parametrize(("agg", "value"), [("sum", 10.0), ("max", 4.0), ("mean", 2.5)])
def test_an_aggregate_is_over_all_values_of_all_processes(agg: str, value: float) -> None:
    found = estimate(Figures(Metric("m", "s", agg), ((1.0, 2.0), (3.0, 4.0))))
    assert (found.value, found.count, found.processes) == (value, 4, 2)


@pytest.mark.parametrize("agg", ["sum", "max"])
def test_totals_and_maxima_have_no_error(agg: str) -> None:
    assert estimate(Figures(Metric("m", "s", agg), ((1.0,), (2.0,), (3.0,)))).error is None


def test_a_mean_is_of_the_values_that_were_measurable() -> None:
    found = estimate(Figures(Metric("m", "ratio"), ((0.1, None), (0.3, 0.2))))
    assert (found.value, found.count) == (pytest.approx(0.2), 3)


@pytest.mark.parametrize("agg", ["sum", "max"])
def test_a_total_or_maximum_of_some_values_is_none_of_all(agg: str) -> None:
    assert estimate(Figures(Metric("m", "s", agg), ((0.1, None), (0.3, 0.2)))).value is None
