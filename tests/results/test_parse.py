"""Files that are none: every error names the file and the place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from results.errors import ResultsError
from results.files import read

WriteJson = Callable[[Any], Path]
GOOD = {"unit": "s", "agg": "sum", "better": "lower", "floor": 1e-4, "values": [0.5, 0.25]}


def file_of(*runs: Any, **more: Any) -> dict[str, Any]:
    metadata = {"name": "a[NONE]", "scopestress_schema": 1}
    return {"version": "1.0", "benchmarks": [{"metadata": metadata, "runs": list(runs)}], **more}


def run_with(metrics: Any) -> dict[str, Any]:
    text = metrics if isinstance(metrics, str) else json.dumps(metrics)
    return {"values": [1.0, 2.0], "metadata": {"scopestress_metrics": text}}


def message(path: Path) -> str:
    with pytest.raises(ResultsError) as caught:
        read(path)
    return str(caught.value).replace(str(path), "FILE")


def test_what_the_other_tests_break_is_good_before(write_json: WriteJson) -> None:
    path = write_json(file_of(run_with({"gc.time": GOOD})))
    assert read(path).rows[0].metrics["gc.time"].values == (0.5, 0.25)


@pytest.mark.parametrize("text", ["", "hello", '{"version": "1.0", "benchm'])
def test_text_that_is_no_json_or_cut_off_is_refused(write_json: WriteJson, text: str) -> None:
    assert message(write_json(text)).startswith("FILE: not JSON or cut off: ")


def test_an_integer_without_end_is_refused(write_json: WriteJson) -> None:
    assert "FILE: not JSON or cut off: " in message(write_json("9" * 5000))


@pytest.mark.parametrize("content", [[], 3, {}, {"benchmarks": []}, {"version": "1.0"}])
def test_other_json_is_refused(write_json: WriteJson, content: Any) -> None:
    assert message(write_json(content)) == "FILE: expected a file of pyperf, found other JSON"


def test_json_nested_without_end_is_refused(write_json: WriteJson) -> None:
    assert message(write_json("[" * 100_000)) == "FILE: not a result: nested too deeply"


def test_another_version_of_pyperfs_format_is_refused(write_json: WriteJson) -> None:
    found = message(write_json({"version": 6, "benchmarks": []}))
    assert found.startswith("FILE: expected version 1.0 of pyperf's format, found 6")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"version": "1.0", "benchmarks": []}, "FILE: there is no benchmark in it"),
        ({"version": "1.0", "benchmarks": {}}, "FILE: expected a list of benchmarks, found dict"),
        ({"version": "1.0", "benchmarks": [7]}, "FILE: benchmark 1: expected an object, found int"),
        (file_of(), "FILE: benchmark 1: there is no run in it"),
        (file_of(7), "FILE: benchmark 1, run 1: expected an object, found int"),
        (
            {"version": "1.0", "benchmarks": [{"runs": [{"values": [1.0]}]}]},
            "FILE: benchmark 1: expected a name in its metadata, found None",
        ),
        (
            file_of({"values": [1.0, 0]}),
            "FILE: benchmark 1, run 1: expected values above 0, found 0",
        ),
        (
            file_of({"values": [1.0], "metadata": {"loops": 0}}),
            "FILE: benchmark 1, run 1: expected loops of 1 or more, found 0",
        ),
        (
            file_of({"values": [1.0], "metadata": []}, metadata=3),
            "FILE: expected metadata by name, found int",
        ),
        (
            file_of({"values": [1.0], "metadata": {"unit": "furlong"}}),
            "FILE: benchmark 'a[NONE]': expected the unit second, byte, integer, found 'furlong'",
        ),
        (
            file_of({"values": [1.0], "metadata": {"scopestress_schema": 2}}),
            "FILE: benchmark 1, run 1: expected scopestress_schema 1, found 2",
        ),
        (
            file_of({"values": [1.0], "metadata": {"scopestress_params": "[1]"}}),
            "FILE: benchmark 'a[NONE]': expected texts by name in scopestress_params, found [1]",
        ),
    ],
)
def test_a_broken_part_is_named_with_its_place(
    write_json: WriteJson, content: Any, expected: str
) -> None:
    assert message(write_json(content)) == expected


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_a_value_that_is_no_number_is_refused(write_json: WriteJson, constant: str) -> None:
    text = json.dumps(file_of({"values": [1.0]})).replace("[1.0]", f"[{constant}]")
    assert message(write_json(text)) == f"FILE: {constant} is not a figure"


def test_a_name_that_is_there_twice_is_refused(write_json: WriteJson) -> None:
    content = file_of({"values": [1.0]})
    content["benchmarks"] *= 2
    assert message(write_json(content)) == "FILE: the benchmark 'a[NONE]' is there twice"


def test_a_name_that_would_break_the_table_is_refused(write_json: WriteJson) -> None:
    content = file_of({"values": [1.0], "metadata": {"name": "a\nb"}})
    expected = "FILE: benchmark 1: expected a name in its metadata, found 'a\\nb'"
    assert message(write_json(content)) == expected


def test_metrics_of_an_unnamed_schema_are_refused(write_json: WriteJson) -> None:
    content = file_of(run_with({"gc.time": GOOD}))
    del content["benchmarks"][0]["metadata"]["scopestress_schema"]
    expected = "FILE: benchmark 1, run 1: expected scopestress_schema 1, found None"
    assert message(write_json(content)) == expected


def test_a_file_of_metrics_alone_is_refused(write_json: WriteJson) -> None:
    content = file_of({"values": [1.0]}, metadata={"scopestress_metric": "gc.time"})
    expected = "FILE: expected benchmarks with scores, found only metrics of others"
    assert message(write_json(content)) == expected


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ("[1", "not JSON or cut off"),
        ('{"gc.time": NaN}', "NaN is not a figure"),
        ("[]", "expected metrics by name, found list"),
        ({"gc.time": 3}, "the metric 'gc.time': expected an object, found int"),
        ({"gc.time": GOOD | {"values": [1]}}, "expected 2 values as in the run, found 1"),
        ({"gc.time": GOOD | {"values": 1}}, "expected a list of values, found 1"),
        ({"gc.time": GOOD | {"values": [1, "2"]}}, "expected numbers up to 1e+60, found '2'"),
        ({"gc.time": GOOD | {"values": [1, True]}}, "expected numbers up to 1e+60, found True"),
        ({"gc.time": GOOD | {"values": [1, 10**400]}}, "expected numbers up to 1e+60, found 1000"),
        ({"gc.time": GOOD | {"agg": "median"}}, "expected sum or max or mean as 'agg'"),
        ({"gc.time": GOOD | {"better": "up"}}, "expected lower or higher as 'better', found 'up'"),
        ({"gc.time": GOOD | {"unit": ""}}, "expected a text as 'unit', found ''"),
        ({"gc.time": GOOD | {"floor": -1}}, "expected 0 or more as 'floor', found -1"),
        ({"gc.time": {"unsupported": 0}}, "expected the reason as text, found 0"),
    ],
)
def test_broken_figures_are_named_with_their_place(
    write_json: WriteJson, metrics: Any, expected: str
) -> None:
    found = message(write_json(file_of({"values": [9.0]}, run_with(metrics))))
    assert found.startswith("FILE: benchmark 1, run 2, scopestress_metrics:")
    assert expected in found


def test_a_metric_of_two_hooks_is_refused(write_json: WriteJson) -> None:
    run = run_with({"gc.time": GOOD})
    run["metadata"]["scopestress_metrics.gc"] = json.dumps({"gc.time": GOOD})
    assert "scopestress_metrics.gc: the metric 'gc.time' is there twice" in message(
        write_json(file_of(run))
    )


def test_a_metric_whose_unit_differs_between_runs_is_refused(write_json: WriteJson) -> None:
    runs = [run_with({"gc.time": GOOD}), run_with({"gc.time": GOOD | {"unit": "ms"}})]
    assert message(write_json(file_of(*runs))) == (
        "FILE: benchmark 'a[NONE]': the metric 'gc.time' differs between runs:"
        " s sum lower and ms sum lower"
    )


def test_a_thousand_rows_are_read(write_json: WriteJson) -> None:
    content = file_of()
    content["benchmarks"] = [
        {"metadata": {"name": f"a{index}[NONE]"}, "runs": [{"values": [1.0]}]}
        for index in range(1000)
    ]
    assert len(read(write_json(content)).rows) == 1000
