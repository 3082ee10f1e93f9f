import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyperf
import pytest

from results.compare.comparison import (
    Comparison,
    Selection,
    Verdict,
    check_metrics,
    compare,
    geometric_mean,
)
from results.errors import ResultsError
from results.files import read

Make = Callable[..., pyperf.Benchmark]
Compared = Callable[..., Comparison]
FileOf = Callable[..., Path]
MIB = 2**20


def one(comparison: Comparison, metric: str = "score") -> Any:
    (change,) = (c for c in comparison.changes if c.metric.name == metric)
    return change


@pytest.mark.parametrize(
    ("after", "verdict", "change"),
    [
        (0.85e-6, Verdict.BETTER, -0.15),
        (1.2e-6, Verdict.WORSE, 0.2),
        (1.001e-6, Verdict.SAME, 0.001),
    ],
)
def test_a_score_is_better_worse_or_within_noise(
    compared: Compared, steady: Make, after: float, verdict: Verdict, change: float
) -> None:
    found = one(compared(steady(), steady(seconds=after)))
    assert found.verdict is verdict
    assert found.change == pytest.approx(change)
    assert found.interval[0] < found.change < found.interval[1]


def test_what_is_better_when_higher_is_worse_when_lower(compared: Compared, steady: Make) -> None:
    low, high = ({"alloc.rate": [[v * by] for by in (1, 1.01, 0.99, 1, 1, 1)]} for v in (1e9, 2e9))
    rising = compared(steady(metrics=low), steady(metrics=high))
    falling = compared(steady(metrics=high), steady(metrics=low))
    assert one(rising, "alloc.rate").verdict is Verdict.BETTER
    assert one(falling, "alloc.rate").verdict is Verdict.WORSE


def test_totals_are_compared_by_operation_whatever_the_loops(
    compared: Compared, steady: Make
) -> None:
    found = one(
        compared(
            steady(loops=1024, metrics={"gc.time": 0.02}),
            steady(loops=2048, metrics={"gc.time": 0.04}),
        ),
        "gc.time",
    )
    assert (found.change, found.unit) == (0.0, "s/op")


def test_a_difference_below_the_resolution_is_none(compared: Compared, steady: Make) -> None:
    before, after = (steady(metrics={"rss.peak": 32 * MIB + extra}) for extra in (0, 200_000))
    found = one(compared(before, after), "rss.peak")
    assert found.p_corrected == 0.0
    assert found.verdict is Verdict.SAME


def test_zero_against_zero_is_no_change(compared: Compared, steady: Make) -> None:
    found = one(compared(*(steady(metrics={"gc.time": 0.0}) for _ in "ab")), "gc.time")
    assert (found.change, found.verdict, found.is_nothing) == (0.0, Verdict.SAME, True)


def test_something_out_of_nothing_is_worse_without_a_ratio(
    compared: Compared, steady: Make
) -> None:
    before, after = (steady(loops=1024, metrics={"gc.time": time}) for time in (0.0, 0.5))
    found = one(compared(before, after), "gc.time")
    assert (found.change, found.interval, found.verdict) == (None, None, Verdict.WORSE)
    assert one(compared(after, before), "gc.time").change == -1.0


def test_a_metric_without_figures_says_why(compared: Compared, steady: Make) -> None:
    before = steady(metrics={"rss.peak": "clear_refs is not writable", "gc.time": 0.5})
    after = steady(metrics={"rss.peak": 5e7, "gc.pause.max": [[None]] * 6})
    comparison = compared(before, after)
    notes = {name: one(comparison, name).note for name in ("rss.peak", "gc.time", "gc.pause.max")}
    assert notes == {
        "rss.peak": "before: clear_refs is not writable",
        "gc.time": "after: not recorded",
        "gc.pause.max": "before: not recorded; after: not measurable",
    }
    assert one(comparison, "rss.peak").verdict is Verdict.UNKNOWN


def test_metrics_of_another_unit_are_not_compared(compared: Compared, steady: Make) -> None:
    before, after = steady(metrics={"gc.pause.max": 0.5}), steady(metrics={"gc.pause.max": 0.5})
    for run in after.get_runs():
        metadata = run._metadata
        if "scopestress_metrics" in metadata:
            metadata["scopestress_metrics"] = metadata["scopestress_metrics"].replace('"s"', '"ms"')
    found = one(compared(before, after), "gc.pause.max")
    assert found.verdict is Verdict.UNKNOWN
    assert found.note == ("not the same metric: s (lower is better) against ms (lower is better)")


def test_too_few_processes_are_compared_and_not_tested(
    compared: Compared, make_score: Make
) -> None:
    before, after = (make_score(seconds=s, processes=2) for s in (1e-6, 2e-6))
    found = one(compared(before, after))
    assert found.change == pytest.approx(1.0)
    assert (found.verdict, found.p) == (Verdict.UNKNOWN, None)
    assert found.note == "2 and 2 processes; 3 or more each are needed"


def test_plain_files_of_pyperf_are_compared_by_their_scores(
    tmp_path: Path, make_score: Make
) -> None:
    for name, seconds in (("a", 1e-6), ("b", 2e-6)):
        make_score("json", seconds, metrics=None).dump(str(tmp_path / name))
    comparison = compare(read(tmp_path / "a"), read(tmp_path / "b"))
    assert [c.metric.name for c in comparison.changes] == ["score"]
    assert one(comparison).verdict is Verdict.WORSE


def test_rows_are_matched_by_name_and_the_others_named(compared: Compared, steady: Make) -> None:
    comparison = compared(
        [steady("a[NONE]"), steady("gone[NONE]"), steady("b[NONE]")],
        [steady("b[NONE]"), steady("new[NONE]"), steady("a[NONE]")],
    )
    assert [change.row.name for change in comparison.changes] == ["b[NONE]", "a[NONE]"]
    assert comparison.only_before == ("gone[NONE]",)
    assert comparison.only_after == ("new[NONE]",)


def test_a_row_with_another_collection_period_is_found_and_told(
    compared: Compared, steady: Make
) -> None:
    comparison = compared(
        steady("s[NONE]", inner_loops=256), steady("s[NONE,collect-every=64]", inner_loops=64)
    )
    assert [found.name for found in comparison.differences] == ["collect-every"]
    assert comparison.only_after == ()


def test_files_without_a_common_benchmark_are_refused(compared: Compared, steady: Make) -> None:
    with pytest.raises(ResultsError, match=r"a\.json and .*b\.json have no benchmark in common"):
        compared(steady("a[NONE]"), steady("b[NONE]"))


def test_a_selection_by_name_that_fits_nothing_is_refused(compared: Compared, steady: Make) -> None:
    with pytest.raises(ResultsError, match="no benchmark matches 'xyz'"):
        compared(steady(), steady(), Selection(only=re.compile("xyz")))


def test_only_what_is_selected_is_tested_and_corrected_for(
    compared: Compared, steady: Make
) -> None:
    rows = [
        steady(f"{name}[NONE]", metrics={"gc.time": 0.5, "gc.count": 3, "rss.peak": 5e7})
        for name in "abc"
    ]
    whole = compared(rows, rows)
    part = compared(rows, rows, Selection(only=re.compile("^[ab]"), metrics=("gc.*", "score")))
    assert (whole.tests, part.tests) == (12, 6)
    assert {change.metric.name for change in part.changes} == {"score", "gc.time", "gc.count"}


def test_one_change_among_many_has_to_be_clearer(compared: Compared, make_score: Make) -> None:
    def noisy(name: str, by: float) -> pyperf.Benchmark:
        spread = (0.93, 1.0, 1.07, 0.96, 1.04, 1.0)
        return make_score(name, by_process=[[1e-6 * by * s] for s in spread])

    alone = compared(noisy("a[NONE]", 1.0), noisy("a[NONE]", 1.15))
    names = [f"r{number}[NONE]" for number in range(50)]
    many = compared(
        [noisy("a[NONE]", 1.0), *(noisy(name, 1.0) for name in names)],
        [noisy("a[NONE]", 1.15), *(noisy(name, 1.0) for name in names)],
    )
    assert alone.changes[0].p == many.changes[0].p
    assert alone.changes[0].verdict is Verdict.WORSE
    assert many.changes[0].verdict is Verdict.SAME


def test_small_changes_are_hidden_and_tested_all_the_same(compared: Compared, steady: Make) -> None:
    selection = Selection(min_change=0.05)
    comparison = compared(
        [steady("a[NONE]"), steady("b[NONE]")],
        [steady("a[NONE]", 1.2e-6), steady("b[NONE]", 1.01e-6)],
        selection,
    )
    assert [c.row.name for c in comparison.changes if selection.shows(c)] == ["a[NONE]"]
    assert comparison.tests == 2


def test_the_geometric_mean_leaves_out_zeros(compared: Compared, steady: Make) -> None:
    def rows(*times: float) -> list[pyperf.Benchmark]:
        return [steady(f"r{i}[NONE]", metrics={"gc.time": time}) for i, time in enumerate(times)]

    comparison = compared(rows(0.0, 1.0, 1.0, 0.0), rows(0.0, 2.0, 8.0, 1.0))
    changes = [c for c in comparison.changes if c.metric.name == "gc.time"]
    mean, count = geometric_mean(changes) or (0.0, 0)
    assert (mean, count) == (pytest.approx(4.0), 2)
    assert geometric_mean([]) is None


def test_a_metric_that_no_file_has_is_a_slip(file_of: FileOf, steady: Make) -> None:
    results = read(file_of("a.json", steady(metrics={"gc.time": 0.5})))
    check_metrics(["score", "gc.*"], results)
    with pytest.raises(ResultsError, match=r"expected a metric scroe, found score, gc\.time"):
        check_metrics(["score", "scroe"], results)


# ---- across a parameter --------------------------------------------------------------------------


def test_rows_that_differ_in_a_parameter_are_compared_across_it(
    compared: Compared, steady: Make
) -> None:
    before = [steady("a[NONE,size=1KiB]"), steady("b[NONE]")]
    after = [steady("a[NONE,size=1KiB,under=events]", 2e-6), steady("c[NONE,under=events]")]
    found = compared(before, after, Selection(across=("under",)))
    assert one(found).row.name == "a[NONE,size=1KiB,under=events]"
    assert one(found).change == pytest.approx(1.0)
    assert (found.only_before, found.only_after) == (("b[NONE]",), ("c[NONE,under=events]",))


def test_two_rows_that_become_one_are_refused(compared: Compared, steady: Make) -> None:
    after = [steady("a[NONE,under=events]"), steady("a[NONE,under=debug]")]
    with pytest.raises(ResultsError, match=r"under=events.* and .*under=debug.*: choose one with"):
        compared(steady("a[NONE]"), after, Selection(across=("under",)))


def test_what_differs_in_another_parameter_is_not_compared(
    compared: Compared, steady: Make
) -> None:
    with pytest.raises(ResultsError, match="no benchmark in common"):
        compared(steady("a[NONE]"), steady("a[NONE,size=2]"), Selection(across=("under",)))
