from collections.abc import Callable

import pyperf
import pytest

from results.model import Results
from results.table import State, Table, build, common_params

Make = Callable[..., pyperf.Benchmark]
Read = Callable[..., Results]


def labels(table: Table) -> list[tuple[str, str]]:
    return [(line.label, line.row.mode) for line in table.lines]


def test_metrics_stand_under_their_score(make_score: Make, results_of: Read) -> None:
    table = build(results_of(make_score("a[NONE]", metrics={"gc.time": 0.5, "rss.peak": 1e6})))
    assert [line.label for line in table.lines] == ["a", "a:gc.time", "a:rss.peak"]


def test_cpu_time_stands_beside_the_score(make_score: Make, results_of: Read) -> None:
    table = build(results_of(make_score("a[NONE]", metrics={"gc.time": 0.5, "score.cpu": 1e-7})))
    assert [line.label for line in table.lines] == ["a", "a:score.cpu", "a:gc.time"]


def test_rows_keep_the_order_of_the_file_within_a_mode(make_score: Make, results_of: Read) -> None:
    names = ["b[NONE]", "b[MEMORY]", "a[NONE]", "a[MEMORY]"]
    table = build(results_of(*(make_score(name) for name in names)))
    assert labels(table) == [("b", "NONE"), ("a", "NONE"), ("b", "MEMORY"), ("a", "MEMORY")]


def test_a_parameter_has_a_column_where_it_varies(make_score: Make, results_of: Read) -> None:
    names = ["a[NONE,size=1MiB,touch=all]", "a[NONE,size=1KiB,touch=all]"]
    assert build(results_of(*map(make_score, names))).params == ("size",)


def test_a_parameter_that_some_rows_lack_varies_among_the_others(
    make_score: Make, results_of: Read
) -> None:
    same = results_of(
        *map(make_score, ["baseline[NONE]", "a[NONE,size=1MiB]", "b[NONE,size=1MiB]"])
    )
    assert build(same).params == ()
    assert common_params(same.rows) == {"size": "1MiB"}
    other = results_of(
        *map(make_score, ["baseline[NONE]", "a[NONE,size=1KiB]", "b[NONE,size=1MiB]"])
    )
    assert build(other).params == ("size",)
    assert common_params(other.rows) == {}


def test_score_and_cpu_time_share_a_unit(make_score: Make, results_of: Read) -> None:
    table = build(results_of(make_score("a[THREADS]", 1.2e-3, metrics={"score.cpu": 8e-6})))
    assert {table.scale(line).symbol for line in table.lines} == {"us/op"}


def test_lines_too_far_apart_have_units_of_their_own(make_score: Make, results_of: Read) -> None:
    rows = [
        make_score("a[NONE]", metrics={"native.peak": 1024}),
        make_score("b[NONE]", metrics={"native.peak": 800 * 2**20}),
    ]
    table = build(results_of(*rows))
    symbols = [table.scale(line).symbol for line in table.lines if not line.is_score]
    assert symbols == ["KiB", "MiB"]


def test_zero_and_not_measurable_and_unsupported_are_three_states(
    make_score: Make, results_of: Read
) -> None:
    metrics = {"gc.time": 0.0, "gc.share": [[None], [None]], "rss.peak": "not writable"}
    score = make_score(processes=2, values=1, metrics=metrics)
    lines = {line.metric: line for line in build(results_of(score)).lines}
    assert lines["gc.time"].state is State.MEASURED
    assert lines["gc.time"].estimate.value == 0
    assert lines["gc.share"].state is State.NOT_MEASURABLE
    assert lines["rss.peak"].state is State.UNSUPPORTED


@pytest.mark.parametrize(("seconds", "below"), [(0.0, False), (5e-5, True), (2e-4, False)])
def test_a_figure_above_zero_can_be_below_its_resolution(
    make_score: Make, results_of: Read, seconds: float, below: bool
) -> None:
    table = build(results_of(make_score(metrics={"gc.pause.max": seconds})))
    assert table.lines[1].below_floor is below


def test_a_time_per_operation_is_not_held_against_the_floor_of_a_value(
    make_score: Make, results_of: Read
) -> None:
    table = build(results_of(make_score(seconds=2e-10, metrics={"score.cpu": 2e-10})))
    assert not table.lines[1].below_floor
