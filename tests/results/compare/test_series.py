from collections.abc import Callable
from pathlib import Path

import pyperf
import pytest

from results.compare.series import Series, series
from results.files import read

Make = Callable[..., pyperf.Benchmark]
SeriesOf = Callable[..., Series | None]


@pytest.fixture
def series_of(file_of: Callable[..., Path]) -> SeriesOf:
    def make(score: pyperf.Benchmark, name: str) -> Series | None:
        return series(read(file_of("one.json", score)).rows[0], name)

    return make


def test_a_process_is_one_number_the_mean_of_its_values(
    make_score: Make, series_of: SeriesOf
) -> None:
    found = series_of(make_score(by_process=[[1.0, 3.0], [4.0, 4.0]]), "score")
    assert found is not None
    assert (found.means, found.unit, found.resolution) == ((2.0, 4.0), "s/op", 0.0)


def test_a_total_is_an_operations_and_so_is_its_resolution(
    make_score: Make, series_of: SeriesOf
) -> None:
    score = make_score(processes=2, values=2, loops=8, inner_loops=256, metrics={"gc.time": 0.5})
    found = series_of(score, "gc.time")
    assert found is not None
    assert (found.means, found.unit) == ((0.5 / 2048,) * 2, "s/op")
    assert found.resolution == 1e-4 / 2048


def test_a_total_of_several_threads_is_divided_by_the_operations_of_all(
    make_score: Make, series_of: SeriesOf
) -> None:
    score = make_score(
        loops=8, metrics={"gc.time": 0.5}, metadata={"scopestress_threads_measured": 4}
    )
    found = series_of(score, "gc.time")
    assert found is not None
    assert found.means == (0.5 / 32,) * 3


def test_a_peak_is_the_mean_of_the_values_and_does_not_grow_with_their_number(
    make_score: Make, series_of: SeriesOf
) -> None:
    few, many = [[1e6, 3e6]] * 2, [[1e6, 3e6] * 10] * 2
    for numbers in (few, many):
        score = make_score(
            by_process=[[1.0] * len(n) for n in numbers], metrics={"rss.peak": numbers}
        )
        found = series_of(score, "rss.peak")
        assert found is not None
        assert (found.means, found.resolution) == ((2e6, 2e6), 262144)


def test_values_that_were_not_measurable_are_left_out(
    make_score: Make, series_of: SeriesOf
) -> None:
    score = make_score(
        processes=3, values=2, metrics={"gc.share": [[None, 0.5], [None, None], [0.1, 0.3]]}
    )
    found = series_of(score, "gc.share")
    assert found is not None
    assert found.means == (0.5, 0.2)


@pytest.mark.parametrize(
    "metrics",
    [{}, {"rss.peak": "why"}, {"rss.peak": [[None] * 3] * 3}],
    ids=["absent", "why", "gaps"],
)
def test_what_was_not_measured_has_no_series(
    make_score: Make, series_of: SeriesOf, metrics: dict[str, object]
) -> None:
    assert series_of(make_score(metrics=metrics), "rss.peak") is None
