import re
from collections.abc import Callable
from typing import Any

import pyperf
import pytest

from results.errors import ResultsError
from results.files import read
from results.gate.judge import Judgement, State, judge
from results.gate.limits import Limits
from results.gate.noise import Floor, Floors
from results.model import Results

Row = Callable[..., pyperf.Benchmark]
Judge = Callable[..., Judgement]
MIB = 2**20
OTHER = (1.0, 0.995, 1.004, 1.006, 0.99, 1.005)


def states(judgement: Judgement) -> dict[str, State]:
    return {f"{f.change.row.operation}:{f.change.metric.name}": f.state for f in judgement.figures}


def test_a_row_that_got_slower_is_a_regression(judged: Judge, row: Row) -> None:
    found = judged(
        [row("a[NONE]"), row("b[NONE]")], [row("a[NONE]", 1.2e-6, OTHER), row("b[NONE]")]
    )
    assert states(found) == {"a:score": State.REGRESSION, "b:score": State.OK}
    assert found.status == 1


@pytest.mark.parametrize("seconds", [1e-6, 0.8e-6, 1.04e-6])
def test_a_row_within_its_limit_is_ok(judged: Judge, row: Row, seconds: float) -> None:
    assert judged(row(), row(seconds=seconds, spread=OTHER)).status == 0


def test_more_memory_is_a_regression_while_the_score_stays(judged: Judge, row: Row) -> None:
    found = judged(row(rss_peak=100 * MIB), row(spread=OTHER, rss_peak=120 * MIB))
    assert states(found) == {"a:score": State.OK, "a:rss.peak": State.REGRESSION}


def test_less_of_what_is_better_when_higher_is_a_regression(judged: Judge, row: Row) -> None:
    low, high = row(spread=OTHER, alloc_rate=1e9), row(alloc_rate=2e9)
    assert judged(high, low).status == 1
    assert judged(low, high).status == 0


def test_something_out_of_nothing_is_a_regression(judged: Judge, row: Row) -> None:
    found = judged(row(gc_time=0.0), row(spread=OTHER, gc_time=0.05))
    assert states(found)["a:gc.time"] is State.REGRESSION


def test_nothing_out_of_nothing_is_ok(judged: Judge, row: Row) -> None:
    assert judged(row(gc_time=0.0), row(spread=OTHER, gc_time=0.0)).status == 0


def test_a_change_that_the_metric_can_not_resolve_is_ok(judged: Judge, row: Row) -> None:
    found = judged(row(rss_growth=1 * MIB), row(spread=OTHER, rss_growth=1.2 * MIB))
    assert states(found)["a:rss.growth"] is State.OK


def test_a_change_under_the_absolute_minimum_is_ok(judged: Judge, row: Row) -> None:
    before, after = row(seconds=2e-9), row(seconds=2.4e-9, spread=OTHER)
    assert judged(before, after).status == 0
    assert judged(before, after, Limits({}, {"score": 1e-10})).status == 1


def test_a_limit_decides_how_much_is_too_much(judged: Judge, row: Row) -> None:
    before, after = row(rss_peak=100 * MIB), row(seconds=1.2e-6, spread=OTHER, rss_peak=120 * MIB)
    wide = Limits({"score": 0.25, "rss.*": 0.3}, {})
    assert judged(before, after, wide).status == 0
    assert judged(before, after, Limits({"score": 0.25}, {})).status == 1


def test_a_metric_that_is_off_is_not_even_tested(judged: Judge, row: Row) -> None:
    before, after = row(rss_peak=100 * MIB), row(spread=OTHER, rss_peak=120 * MIB)
    found = judged(before, after, Limits({"rss.peak": None}, {}))
    assert (found.status, list(states(found))) == (0, ["a:score"])
    with pytest.raises(
        ResultsError, match=r"expected a limit for one of score, rss\.peak, found all off"
    ):
        judged(before, after, Limits({"*": None}, {}))


def test_a_change_over_its_limit_within_the_noise_can_not_be_told(judged: Judge, row: Row) -> None:
    wild = (0.8, 1.2, 0.9, 1.3, 1.0, 0.8)
    found = judged(row(spread=wild), row(seconds=1.15e-6, spread=wild))
    assert states(found) == {"a:score": State.NOISY}
    assert found.status == 4
    assert (
        judged(
            row(spread=wild), row(seconds=1.15e-6, spread=wild), Limits({}, {}, allow=("noise",))
        ).status
        == 0
    )


def test_a_regression_counts_more_than_noise(judged: Judge, row: Row) -> None:
    wild = (0.8, 1.2, 0.9, 1.3, 1.0, 0.8)
    before = [row("a[NONE]"), row("b[NONE]", spread=wild)]
    after = [row("a[NONE]", 1.2e-6, OTHER), row("b[NONE]", 1.15e-6, wild)]
    assert judged(before, after).status == 1


def test_fewer_than_six_processes_are_too_few_to_tell(judged: Judge, row: Row) -> None:
    found = judged(row(spread=(0.99, 1, 1.01, 1, 1)), row(spread=(1, 1, 1.02, 1, 1)))
    assert found.status == 4
    assert found.figures[0].reason == "5 and 5 processes; 6 or more each are needed, with -p"


def test_files_of_the_same_figures_are_ok_however_few(judged: Judge, row: Row) -> None:
    found = judged(row(spread=(1.0, 1.5)), row(spread=(1.0, 1.5)))
    assert (found.status, found.identical) == (0, True)


@pytest.mark.parametrize(("allow", "status"), [((), 3), (("rows",), 0)])
def test_a_row_that_is_gone_can_hide_a_regression(
    judged: Judge, row: Row, allow: tuple[str, ...], status: int
) -> None:
    before, after = [row("a[NONE]"), row("b[NONE]")], [row("a[NONE]", spread=OTHER)]
    found = judged(before, after, Limits({}, {}, allow=allow))
    assert found.status == status
    assert (found.refusals + found.allowed) == ("rows: gone are b[NONE]",)


@pytest.mark.parametrize(("allow", "status"), [((), 3), (("metrics",), 0)])
def test_a_metric_that_is_gone_can_hide_a_regression(
    judged: Judge, row: Row, allow: tuple[str, ...], status: int
) -> None:
    found = judged(row(gc_count=5.0), row(spread=OTHER), Limits({}, {}, allow=allow))
    assert found.status == status
    assert (found.refusals + found.allowed) == (
        "metrics: gc.count of a[NONE] is gone: not recorded",
    )


def test_a_metric_that_became_another_can_hide_a_regression(
    files: Callable[..., tuple[Results, Results]], row: Row
) -> None:
    base, head = files(row(gc_pause_max=0.5), row(spread=OTHER, gc_pause_max=0.5))
    path = head.path
    path.write_text(path.read_text().replace('\\"unit\\": \\"s\\"', '\\"unit\\": \\"ms\\"'))
    found = judge(base, read(path), Limits({}, {}))
    assert found.status == 3
    assert found.refusals[0].startswith(
        "metrics: gc.pause.max of a[NONE]: not the same metric: s ("
    )


def test_rows_and_metrics_that_are_new_are_no_reason_to_fail(judged: Judge, row: Row) -> None:
    found = judged(row("a[NONE]"), [row("a[NONE]", spread=OTHER, gc_count=5.0), row("b[NONE]")])
    assert found.status == 0
    assert states(found)["a:gc.count"] is State.SKIPPED


def test_files_of_other_machines_are_not_judged(
    judged: Judge, make_score: Callable[..., pyperf.Benchmark]
) -> None:
    before, after = (make_score(processes=6, metadata={"cpu_count": n}) for n in (2, 8))
    found = judged(before, after)
    assert found.status == 3
    assert found.refusals[0].startswith("machine: ")
    assert judged(before, after, Limits({}, {}, allow=("machine",))).status == 0


def floors(row: str, floor: Floor, **more: Any) -> Floors:
    given: dict[str, Any] = {"processes": 6, "facts": {}} | more
    return Floors(5, given["processes"], (), "", given["facts"], {row: {"score": floor}})


def test_a_calibrated_floor_takes_the_place_of_the_processes_own(judged: Judge, row: Row) -> None:
    before, after = row(), row(seconds=1.2e-6, spread=OTHER)
    assert judged(before, after, None, floors("a[NONE]", Floor(1e-8, 0.01))).status == 1
    assert judged(before, after, None, floors("a[NONE]", Floor(1e-8, 0.3))).status == 4
    assert judged(before, after, None, floors("other[NONE]", Floor(1e-8, 0.3))).status == 1


def test_fewer_processes_than_in_calibration_have_a_higher_floor(judged: Judge, row: Row) -> None:
    before, after = row(), row(seconds=1.2e-6, spread=OTHER)
    assert judged(before, after, None, floors("a[NONE]", Floor(1e-8, 0.15))).status == 1
    many = floors("a[NONE]", Floor(1e-8, 0.15), processes=24)
    assert judged(before, after, None, many).status == 4


def test_floors_of_another_machine_are_not_used(judged: Judge, row: Row) -> None:
    foreign = floors("a[NONE]", Floor(1e-8, 0.01), facts={"python": ("CPython 3.12.1",)})
    found = judged(row(), row(spread=OTHER), None, foreign)
    assert found.status == 3
    assert found.refusals == (
        "python: CPython 3.12.1 when noise was calibrated, CPython 3.11.7 here",
    )
    assert judged(row(), row(spread=OTHER), Limits({}, {}, allow=("python",)), foreign).status == 0


def test_only_the_rows_that_are_asked_for_are_judged(judged: Judge, row: Row) -> None:
    before = [row("a[NONE]"), row("b[NONE]")]
    after = [row("a[NONE]", 1.2e-6, OTHER), row("b[NONE]")]
    assert judged(before, after, Limits({}, {}, only=re.compile("^b"))).status == 0
    assert judged(before, after, Limits({}, {}, only=re.compile("^a"))).status == 1


def test_a_series_of_two_values_is_told(judged: Judge, row: Row) -> None:
    two = (1.0, 1.001, 1.3, 1.301, 1.0, 1.299)
    found = judged(row(spread=two), row(spread=two, seconds=1.001e-6))
    before, after = found.figures[0].bimodal
    assert before is not None
    assert after is not None
    assert before.counts == (3, 3)
    assert before.means == pytest.approx((1.0003e-6, 1.3e-6), rel=1e-3)
