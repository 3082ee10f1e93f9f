from collections.abc import Callable
from typing import Any

import pyperf
import pytest

from results.errors import ResultsError
from results.expand import expand, tagged

Make = Callable[..., pyperf.Benchmark]


def one(score: pyperf.Benchmark) -> pyperf.Benchmark:
    (benchmark,) = expand(score)
    return benchmark


def test_a_metric_has_as_many_runs_and_values_as_its_score(make_score: Make) -> None:
    score = make_score(processes=4, values=3, metrics={"rss.peak": 5_000_000})
    metric = one(score)
    assert [len(run.values) for run in metric.get_runs()] == [
        len(run.values) for run in score.get_runs()
    ]


def test_a_metric_is_named_after_its_score(make_score: Make) -> None:
    score = make_score("confined_close[NONE,size=1MiB]", metrics={"gc.time": 1.0})
    assert one(score).get_name() == "confined_close[NONE,size=1MiB]:gc.time"


def test_a_total_is_stored_per_operation(make_score: Make) -> None:
    score = make_score(loops=8, inner_loops=256, metrics={"gc.time": 0.5})
    assert one(score).get_values() == (0.5 / 2048,) * 9


def test_a_total_is_of_the_operations_of_all_threads(make_score: Make) -> None:
    threads = {"scopestress_threads_measured": 4}
    score = make_score(loops=8, inner_loops=256, metrics={"gc.time": 0.5}, metadata=threads)
    assert one(score).get_values() == (0.5 / 8192,) * 9
    assert one(score).get_total_loops() == 8192


def test_a_peak_is_stored_as_it_is(make_score: Make) -> None:
    score = make_score(loops=8, inner_loops=256, metrics={"rss.peak": 5_000_000})
    assert one(score).get_values() == (5_000_000,) * 9


def test_a_time_per_operation_is_not_divided_again(make_score: Make) -> None:
    score = make_score(loops=1024, metrics={"score.cpu": 8e-8})
    assert one(score).get_values() == (8e-8,) * 9


@pytest.mark.parametrize(
    ("metric", "loops"), [("gc.time", 64), ("score.cpu", 64), ("rss.peak", 1), ("gc.share", 1)]
)
def test_raw_values_of_pyperf_are_those_of_a_whole_value(
    make_score: Make, metric: str, loops: int
) -> None:
    assert one(make_score(loops=64, metrics={metric: 3e6})).get_total_loops() == loops


@pytest.mark.parametrize(
    ("metric", "unit", "real"),
    [
        ("gc.time", "second", "s/op"),
        ("score.cpu", "second", "s/op"),
        ("gc.pause.max", "second", "s"),
        ("rss.peak", "byte", "bytes"),
        ("gc.count", "integer", "collections/op"),
        ("gc.share", "integer", "ratio"),
    ],
)
def test_the_unit_is_one_of_pyperf_and_the_real_one_is_beside(
    make_score: Make, metric: str, unit: str, real: str
) -> None:
    benchmark = one(make_score(metrics={metric: 3e6}))
    assert benchmark.get_unit() == unit
    assert benchmark.get_metadata()["scopestress_unit"] == real


def test_a_figure_under_the_floor_is_stored_as_the_floor(make_score: Make) -> None:
    score = make_score(values=2, metrics={"gc.pause.max": [[0.0, 5e-5], [1e-4, 2e-4], [0.0, 0.0]]})
    assert one(score).get_values() == (1e-4, 1e-4, 1e-4, 2e-4, 1e-4, 1e-4)


def test_the_floor_of_a_total_is_divided_like_the_total(make_score: Make) -> None:
    score = make_score(loops=1000, metrics={"gc.time": 0.0})
    assert one(score).get_values() == (1e-4 / 1000,) * 9


def test_zero_without_a_floor_is_stored_above_zero(make_score: Make) -> None:
    assert min(one(make_score(metrics={"gc.share": 0.0})).get_values()) > 0


def test_every_run_has_the_tag_even_the_calibration_run(make_score: Make) -> None:
    score = make_score(metrics={"gc.time": 0.5})
    for benchmark, tag in ((tagged(score), "score"), (one(score), "gc.time")):
        tags = [run.get_metadata()["tags"] for run in benchmark.get_runs()]
        assert tags == [[tag]] * 4


def test_runs_of_a_metric_have_no_date_and_no_duration(make_score: Make) -> None:
    benchmark = one(make_score(metrics={"gc.time": 0.5}))
    assert benchmark.get_dates() is None
    assert [run.get_metadata()["duration"] for run in benchmark.get_runs()] == [0.0] * 4


def test_the_exact_figures_stay_with_the_score_alone(make_score: Make) -> None:
    score = make_score(metrics={"gc.time": 0.5})
    assert all("scopestress_metrics" in run.get_metadata() for run in tagged(score).get_runs()[1:])
    assert not any("scopestress_metrics" in run.get_metadata() for run in one(score).get_runs())


def test_the_score_handed_in_stays_as_it_is(make_score: Make) -> None:
    score = make_score(metrics={"gc.time": 0.5})
    before = [run.get_metadata() for run in score.get_runs()]
    tagged(score), expand(score)
    assert [run.get_metadata() for run in score.get_runs()] == before


@pytest.mark.parametrize(
    "metrics",
    [
        {"alloc.rate": 1e9},
        {"rss.peak": "clear_refs is not writable"},
        {"gc.share": [[0.1, None, 0.1], [0.1] * 3, [0.1] * 3]},
        {},
    ],
    ids=["better when higher", "unsupported", "with a gap", "none"],
)
def test_what_pyperf_could_not_compare_stays_out(make_score: Make, metrics: Any) -> None:
    assert expand(make_score(metrics=metrics)) == []


def test_a_metric_that_only_some_processes_have_stays_out(make_score: Make) -> None:
    score = make_score(processes=1, metrics={"gc.time": 0.5})
    score.add_runs(make_score(processes=1, metrics={}))
    assert expand(score) == []


def test_a_percentile_is_a_benchmark_of_one_value_a_process(make_score: Make) -> None:
    calls = [[(process * 1e-7, 1000)] for process in (1, 2, 3)]
    percentiles = {made.get_name(): made for made in expand(make_score(calls=calls))}
    found = percentiles["confined_close[NONE]:p0.99"]
    values = [run.values for run in found.get_runs()[1:]]
    assert [len(each) for each in values] == [1, 1, 1]
    assert [each[0] for each in values] == pytest.approx([1e-7, 2e-7, 3e-7], rel=1e-3)
    assert found.get_unit() == "second"
    assert found.get_metadata()["tags"] == ["p0.99"]
    assert found.get_total_loops() == 1


def test_a_percentile_that_a_process_cannot_carry_stays_out(make_score: Make) -> None:
    calls = [[(1e-7, 1000)], [(1e-7, 1000)], [(1e-7, 999)]]
    names = [made.get_name().partition(":")[2] for made in expand(make_score(calls=calls))]
    assert names == ["p0.00", "p0.50", "p0.90", "p0.95", "p1.00"]


def test_histograms_stay_with_the_score_alone(make_score: Make) -> None:
    score = make_score(processes=1, calls=[[(1e-7, 1000)]])
    keys = [set(run.get_metadata()) for made in expand(score) for run in made.get_runs()]
    assert not any("scopestress_samples" in found for found in keys)
    assert "scopestress_samples" in tagged(score).get_runs()[1].get_metadata()


def test_a_plain_score_has_no_metrics(make_score: Make) -> None:
    assert expand(make_score(metrics=None)) == []


def test_figures_that_do_not_fit_the_values_are_refused_with_their_place(make_score: Make) -> None:
    score = make_score(values=2, metrics={"gc.time": [[1.0, 1.0], [1.0], [1.0, 1.0]]})
    with pytest.raises(ResultsError) as caught:
        expand(score)
    assert str(caught.value) == (
        "benchmark 'confined_close[NONE]', run 3, scopestress_metrics: the metric 'gc.time':"
        " expected 2 values as in the run, found 1"
    )


def test_tags_of_others_stay_beside_ours(make_score: Make) -> None:
    runs = tagged(make_score(metadata={"tags": ["serialize", "score"]})).get_runs()
    assert [run.get_metadata()["tags"] for run in runs] == [["score", "serialize"]] * 4
