from collections.abc import Callable
from xml.etree import ElementTree as ET

import pyperf
import pytest

from results.columns import MARKDOWN, joined
from results.gate.judge import Judgement
from results.gate.junit import junit
from results.gate.limits import Limits
from results.gate.text import document, scores

Row = Callable[..., pyperf.Benchmark]
Judge = Callable[..., Judgement]
OTHER = (1.0, 0.995, 1.004, 1.006, 0.99, 1.005)
WILD = (0.8, 1.2, 0.9, 1.3, 1.0, 0.8)


@pytest.fixture
def mixed(judged: Judge, row: Row) -> Judgement:
    """A regression, a figure that can't be told, one that got better, and one that is ok."""
    names = [f"{name}[NONE]" for name in ("slow", "noisy", "better", "same")]
    before = [row(n, spread=WILD if n == names[1] else OTHER) for n in names]
    after = [
        row(names[0], 1.2e-6),
        row(names[1], 1.15e-6, WILD),
        row(names[2], 0.7e-6),
        row(names[3], gc_time=0.0),
    ]
    return judged(before, after)


@pytest.fixture
def refused(judged: Judge, make_score: Callable[..., pyperf.Benchmark]) -> Judgement:
    return judged(*(make_score(processes=6, metadata={"cpu_count": n}) for n in (2, 8)))


def lines_of(judgement: Judgement) -> list[str]:
    return joined(*document(judgement)).splitlines()


def test_the_verdict_comes_first_and_what_it_rests_on_after(mixed: Judgement) -> None:
    lines = lines_of(mixed)
    assert lines[0] == "gate: regression: 1 of 5 figures"
    regression, noisy = lines.index("regression"), lines.index("too noisy to tell")
    assert lines[regression + 1].split() == [
        *("Figure", "Before", "After", "Units", "Change", "Limit", "Noise")
    ]
    cells = lines[regression + 2].split()
    assert (cells[0], cells[3:9]) == ("slow[NONE]", ["us/op", "+20", "%", "5.0", "%", cells[8]])
    assert lines[noisy + 2].startswith("noisy[NONE]")
    assert "Better: better[NONE] -30 %." in lines
    assert "Not judged: same[NONE]:gc.time (before: not recorded)." in lines
    assert not any(line.startswith("same[NONE] ") for line in lines)
    assert max(map(len, lines)) <= 100


def test_files_that_can_not_be_compared_are_said_so_at_once(refused: Judgement) -> None:
    lines = lines_of(refused)
    assert lines[0] == "gate: not comparable"
    assert lines[2].startswith("Not comparable: machine: ")
    assert "Nothing was judged; --allow NAME judges all the same." in lines


def test_files_of_the_same_figures_are_called_that(judged: Judge, row: Row) -> None:
    assert lines_of(judged(row(), row()))[0] == "gate: ok: both files hold the same figures"


def test_a_quiet_verdict_is_short(judged: Judge, row: Row) -> None:
    found = judged(row(), row(spread=OTHER), Limits({}, {}))
    lines = lines_of(found)
    assert lines[0] == "gate: ok: no regression in 1 figures"
    assert "regression" not in lines


def test_rows_of_two_values_are_said(judged: Judge, row: Row) -> None:
    two = (1.0, 1.001, 1.3, 1.301, 1.0, 1.299)
    lines = lines_of(judged(row(), row(spread=two)))
    text = " ".join(lines)
    assert "Two values: a[NONE], score: after 3 processes at 1.0 and 3 at 1.3 us/op." in text


def test_few_processes_are_said_with_what_helps(judged: Judge, row: Row) -> None:
    lines = lines_of(judged(row(spread=(1, 1.01, 1)), row(spread=(1, 1, 1.01))))
    assert lines[0] == "gate: too noisy to tell: 1 of 1 figures"
    expected = "Too noisy: 1 figures: 3 and 3 processes; 6 or more each are needed, with -p."
    assert expected in lines
    assert "too noisy to tell" not in lines


def test_the_summary_has_the_scores_of_all_rows_with_their_states(mixed: Judgement) -> None:
    rows = [line for line in scores(mixed, MARKDOWN) if line.startswith("|")][2:]
    found = {line.split("|")[1].strip(): line.split("|")[8].strip() for line in rows}
    assert found == {
        "slow[NONE]": "regression",
        "noisy[NONE]": "too noisy to tell",
        "better[NONE]": "ok",
        "same[NONE]": "ok",
    }


def test_junit_has_a_test_case_a_figure(mixed: Judgement) -> None:
    suite = ET.fromstring(junit(mixed).encode()).find("testsuite")
    assert suite is not None
    assert {k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "1",
        "errors": "0",
        "skipped": "2",
    }
    (failed,) = suite.findall("testcase[failure]")
    assert (failed.get("classname"), failed.get("name")) == ("slow[NONE]", "score")
    failure = failed.find("failure")
    assert failure is not None
    assert "+20 %; limit 5.0 %" in str(failure.get("message"))


def test_junit_has_an_error_where_files_can_not_be_compared(refused: Judgement) -> None:
    suite = ET.fromstring(junit(refused).encode()).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
    error = suite.find("testcase/error")
    assert error is not None
    assert str(error.text).startswith("machine: ")


def test_noise_that_was_allowed_is_said_beside_the_verdict(judged: Judge, row: Row) -> None:
    allowing = Limits({}, {}, allow=("noise",))
    found = judged(row(spread=WILD), row(seconds=1.15e-6, spread=WILD), allowing)
    assert lines_of(found)[0] == "gate: ok: no regression in 1 figures, 1 too noisy to tell"
