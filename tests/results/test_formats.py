import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pyperf
import pytest

from results import formats
from results.histogram import Histogram
from results.model import Results
from results.show import show
from results.table import build

Make = Callable[..., pyperf.Benchmark]
Read = Callable[..., Results]
Scores = list[pyperf.Benchmark]
Metrics = Callable[..., dict[str, Any]]


def text_of(results: Results) -> list[str]:
    return formats.text(build(results))


def shown(results: Results, format: str = "text", colour: bool = False) -> str:
    stream = io.StringIO()
    show(results, stream, format, colour)
    return stream.getvalue()


def test_text_is_laid_out_as_by_jmh(make_score: Make, results_of: Read) -> None:
    usual = {"scopestress_params": '{"size": "1KiB"}'}
    results = results_of(
        make_score(
            "confined_close[NONE]",
            by_process=[[1.04e-7, 1.06e-7], [1.05e-7, 1.05e-7], [1.051e-7, 1.049e-7]],
            metrics={"gc.time": 0.0, "rss.peak": 32 * 2**20},
            metadata=usual,
        ),
        make_score(
            "implicit_close[NONE,size=1MiB]",
            by_process=[[2.4e-4], [2.5e-4], [2.6e-4]],
            metrics={"gc.time": [[0.0123], [0.02], [0.01]], "rss.peak": 812 * 2**20},
        ),
    )
    assert text_of(results) == [
        "Benchmark                (mode)  (size)  Mode  Cnt    Score      Error  Units",
        "confined_close             NONE    1KiB  avgt    6    0.105  ±       0  us/op",
        "confined_close:gc.time     NONE    1KiB   sum    6        0             ms",
        "confined_close:rss.peak    NONE    1KiB   max    6       32             MiB",
        "implicit_close             NONE    1MiB  avgt    3  250.000  ± 182.437  us/op",
        "implicit_close:gc.time     NONE    1MiB   sum    3     42.3             ms",
        "implicit_close:rss.peak    NONE    1MiB   max    3      812             MiB",
    ]


def test_modes_are_set_apart_by_an_empty_line(make_score: Make, results_of: Read) -> None:
    lines = text_of(results_of(make_score("a[NONE]"), make_score("a[MEMORY]")))
    assert [line.split("  ")[0] for line in lines] == ["Benchmark", "a", "", "a"]


def test_text_is_never_wider_than_its_columns(
    make_score: Make, results_of: Read, thrashing: Metrics
) -> None:
    name = "weakref_finalize_of_an_anonymous_mmap_that_is_shared[MEMORY,heap-kind=bytes,size=1MiB]"
    other = "baseline[MEMORY,heap-kind=containers,size=1KiB]"
    results = results_of(make_score(name, metrics=thrashing()), make_score(other))
    assert max(map(len, text_of(results))) <= 100
    assert all(len(line) <= 100 for line in shown(results).splitlines())


def test_a_shortened_name_keeps_its_metric(make_score: Make, results_of: Read) -> None:
    results = results_of(make_score("x" * 120 + "[NONE]", metrics={"gc.pause.max": 1.0}))
    label = text_of(results)[2].split()[0]
    assert label.startswith("xxx")
    assert "…" in label
    assert label.endswith("xxx:gc.pause.max")


def test_files_of_others_have_no_mode_column(make_score: Make, results_of: Read) -> None:
    assert "(mode)" not in text_of(results_of(make_score("json_loads")))[0]


def test_zero_and_not_measurable_and_unsupported_read_differently(
    make_score: Make, results_of: Read
) -> None:
    metrics = {"gc.time": 0.0, "gc.share": [[None], [None]], "rss.peak": "not writable"}
    lines = text_of(results_of(make_score(processes=2, values=1, metrics=metrics)))
    assert [line.split()[2:] for line in lines[2:]] == [
        ["sum", "2", "0", "ms"],
        ["mean", "0", "n/a"],
        ["unsupported"],
    ]


def test_the_reason_of_an_unsupported_metric_stands_under_the_table(
    make_score: Make, results_of: Read
) -> None:
    results = results_of(make_score(metrics={"rss.peak": "clear_refs is not writable"}))
    assert "unsupported: rss.peak: clear_refs is not writable.\n" in shown(results)


def test_percentiles_are_of_all_calls_and_stand_under_their_score(
    make_score: Make, results_of: Read
) -> None:
    calls = [[(1e-7, 500), (2e-6, 5)], [(1e-7, 500), (2e-6, 5)], [(1e-7, 500)]]
    results = results_of(make_score("a[NONE]", calls=calls, metrics={"score.cpu": 1e-7}))
    lines = [line.split() for line in text_of(results)[1:]]
    assert [line[:4] for line in lines[:2]] == [
        ["a", "NONE", "sample", "9"],
        ["a:score.cpu", "NONE", "mean", "9"],
    ]
    assert lines[2:] == [
        ["a:p0.00", "NONE", "sample", "1510", "100.0", "ns"],
        ["a:p0.50", "NONE", "sample", "1510", "100.0", "ns"],
        ["a:p0.90", "NONE", "sample", "1510", "100.0", "ns"],
        ["a:p0.95", "NONE", "sample", "1510", "100.0", "ns"],
        ["a:p0.99", "NONE", "sample", "1510", "100.0", "ns"],
        ["a:p0.999", "NONE", "sample", "1510", "n/a"],
        ["a:p0.9999", "NONE", "sample", "1510", "n/a"],
        ["a:p1.00", "NONE", "sample", "1510", "2.00", "us"],
    ]


def test_what_is_to_know_of_samples_stands_under_the_table(
    make_score: Make, results_of: Read
) -> None:
    printed = shown(results_of(make_score(calls=[[(1e-7, 500)]] * 3)))
    clock = "sample: single calls timed by rdtscp at 2100 MHz, with 27 ns of the sampler in each.\n"
    assert clock in printed
    assert "n/a: p0.999, p0.9999: fewer than 10 calls took longer.\n" in printed
    assert "in some or all of the values" not in printed


def test_programs_get_the_percentiles_of_the_processes_and_the_histogram_of_all(
    make_score: Make, results_of: Read
) -> None:
    calls = [[(1e-7, 1000)], [(3e-7, 1000)], [(3e-7, 500)]]
    results = results_of(make_score("a[NONE]", calls=calls))
    (row,) = json.loads(shown(results, "json"))["rows"]
    found = row["metrics"]["p0.99"]
    assert (found["value"], found["count"], found["aggregation"]) == (3.001e-7, 2500, "sample")
    assert found["values"] == [[1e-7], [3.001e-7], [None]]
    assert row["samples"]["count"] == 2500
    assert Histogram.decode(row["samples"]["histogram"]).count == 2500
    rows = list(csv.DictReader(io.StringIO(shown(results, "csv"))))
    assert [rows[5][column] for column in ("metric", "value", "count")] == [
        "p0.99",
        "3.001e-07",
        "2500",
    ]


def test_a_score_without_samples_has_none(make_score: Make, results_of: Read) -> None:
    (row,) = json.loads(shown(results_of(make_score()), "json"))["rows"]
    assert "samples" not in row


def test_the_note_of_a_metric_stands_under_the_table_once(
    make_score: Make, results_of: Read
) -> None:
    entry = {"unit": "s", "agg": "sum", "better": "lower", "floor": 4e-3, "values": [0.1]}
    metrics = {name: entry | {"note": "counted in ticks of 4 ms"} for name in ("cpu.user", "cpu.x")}
    metadata = {"scopestress_schema": 1, "scopestress_metrics": json.dumps(metrics)}
    results = results_of(
        *(make_score(name, by_process=[[1e-7]], metadata=metadata) for name in ("a", "b"))
    )
    assert shown(results).count("cpu.user, cpu.x: counted in ticks of 4 ms.\n") == 1
    notes = [row["note"] for row in csv.DictReader(io.StringIO(shown(results, "csv")))]
    assert notes == ["", "counted in ticks of 4 ms", "counted in ticks of 4 ms"] * 2


def test_too_few_processes_have_no_error_and_are_told_why(
    make_score: Make, results_of: Read
) -> None:
    printed = shown(results_of(make_score(processes=2)))
    assert "± n/a" in printed
    assert "n/a: an error needs 3 processes or more, there are 2.\n" in printed


def test_what_the_error_is_stands_under_the_table(make_score: Make, results_of: Read) -> None:
    expected = "Error: half the 99.9 % confidence interval, from the process means.\n"
    assert expected in shown(results_of(make_score(processes=3)))
    assert expected not in shown(results_of(make_score(processes=2)))


def test_a_figure_below_its_resolution_is_not_claimed(make_score: Make, results_of: Read) -> None:
    printed = shown(results_of(make_score(metrics={"gc.pause.max": 5e-5})))
    assert "<100.0" in printed
    assert "<: measured, and below the resolution of the metric.\n" in printed


def test_the_machine_stands_beside_the_figures(make_score: Make, results_of: Read) -> None:
    expected = (
        "Measured with CPython 3.11.7, Linux 6.1.0, Some CPU @ 2.50GHz, gc thresholds 700,10,10.\n"
    )
    assert expected in shown(results_of(make_score()))


def test_the_probes_that_were_on_stand_beside_the_figures(
    make_score: Make, results_of: Read
) -> None:
    on = {"scopestress_probes": "alloc,gc"}
    expected = "Probes on: alloc, gc.\n"
    assert expected in shown(results_of(make_score(metadata=on)))
    assert expected in shown(results_of(make_score(metadata=on)), "markdown")
    assert "Probes on" not in shown(results_of(make_score()))


def test_probes_that_were_on_in_some_rows_only_are_told_apart(
    make_score: Make, results_of: Read
) -> None:
    rows = [
        make_score("a[NONE]", metadata={"scopestress_probes": "gc"}),
        make_score("b[NONE]", metadata={"scopestress_probes": "gc,alloc"}),
    ]
    assert "Probes on: gc; in other rows gc, alloc.\n" in shown(results_of(*rows))


def test_the_allocators_stand_beside_the_figures(make_score: Make, results_of: Read) -> None:
    found = {"scopestress_object_allocator": "pymalloc", "scopestress_malloc": "libjemalloc.so.2"}
    printed = " ".join(shown(results_of(make_score(metadata=found))).split())
    assert "gc thresholds 700,10,10, objects from pymalloc, malloc of libjemalloc.so.2." in printed


def test_parameters_that_do_not_vary_stand_under_the_table(
    make_score: Make, results_of: Read
) -> None:
    params = {"scopestress_params": '{"touch": "first", "size": "1KiB"}'}
    printed = shown(results_of(make_score("a[NONE]", metadata=params)))
    assert "\nParameters: size=1KiB, touch=first.\n" in printed
    assert "Parameters" not in shown(results_of(make_score("a[NONE]")))


def test_text_is_coloured_only_when_asked(scores: Scores, results_of: Read) -> None:
    results = results_of(*scores)
    assert "\x1b" not in shown(results)
    coloured = shown(results, colour=True)
    assert coloured.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "") == shown(
        results
    )


@pytest.mark.parametrize("format", ["csv", "markdown", "json"])
def test_other_formats_are_never_coloured(scores: Scores, results_of: Read, format: str) -> None:
    assert "\x1b" not in shown(results_of(*scores), format, colour=True)


def test_csv_has_a_line_a_figure_with_exact_values_and_units(
    make_score: Make, results_of: Read
) -> None:
    score = make_score(
        "a[NONE,size=1MiB]", by_process=[[0.1]], metrics={"gc.time": [[1 / 3]], "rss.peak": "no"}
    )
    rows = list(csv.DictReader(io.StringIO(shown(results_of(score), "csv"))))
    assert [(row["metric"], row["value"], row["unit"]) for row in rows] == [
        ("score", "0.1", "s/op"),
        ("gc.time", repr(1 / 3), "s"),
        ("rss.peak", "unsupported", ""),
    ]
    assert {row["size"] for row in rows} == {"1MiB"}
    assert (rows[0]["error"], rows[1]["error"], rows[2]["note"]) == ("n/a", "", "no")


def test_json_holds_the_exact_values_by_process(make_score: Make, results_of: Read) -> None:
    score = make_score("a[NONE]", by_process=[[0.1], [0.2], [0.4]], metrics={"gc.time": 1 / 3})
    (row,) = json.loads(shown(results_of(score), "json"))["rows"]
    assert row["score"]["values"] == [[0.1], [0.2], [0.4]]
    assert row["metrics"]["gc.time"]["value"] == 1.0
    assert row["metrics"]["gc.time"]["values"] == [[1 / 3]] * 3
    assert row["metrics"]["gc.time"]["unit"] == "s"


def test_json_tells_null_from_zero_and_gives_the_reason(make_score: Make, results_of: Read) -> None:
    metrics = {"gc.time": 0.0, "gc.share": [[None], [None]], "rss.peak": "no"}
    score = make_score(processes=2, values=1, metrics=metrics)
    (row,) = json.loads(shown(results_of(score), "json"))["rows"]
    found = row["metrics"]
    assert (found["gc.time"]["state"], found["gc.time"]["value"]) == ("measured", 0.0)
    assert (found["gc.share"]["state"], found["gc.share"]["value"]) == ("n/a", None)
    assert found["rss.peak"] == {"state": "unsupported", "reason": "no"}


def test_markdown_has_the_cells_of_the_text(make_score: Make, results_of: Read) -> None:
    results = results_of(
        make_score("a[NONE]", by_process=[[1e-6]] * 3, metrics={"gc.pause.max": 5e-5})
    )
    assert shown(results, "markdown").splitlines()[:4] == [
        "| Benchmark | (mode) | Mode | Cnt | Score | Error | Units |",
        "| :--- | ---: | ---: | ---: | ---: | ---: | :--- |",
        "| a | NONE | avgt | 3 | 1.000 | ± 0 | us/op |",
        "| a:gc.pause.max | NONE | max | 3 | &lt;100.0 |  | us |",
    ]


def test_an_unknown_format_is_refused(scores: Scores, results_of: Read) -> None:
    with pytest.raises(ValueError, match="expected one of text, csv, markdown, json, found 'xml'"):
        shown(results_of(*scores), "xml")
