"""Pauses and timelines in the metadata of a run: read back, joined, or refused."""

import json

import pytest

from results import pauses, timeline
from results.errors import ResultsError
from results.files import read, write
from results.histogram import Histogram

POINTS = [[0.0, 10], [0.5, 30], [1.0, 20]]


def recorded(points=POINTS, **changes):
    entry = {"interval": 0.001, "recordings": [{"taken": 9, "cpu": 0.002, "points": points}]}
    return {"scopestress_schema": 1, timeline.TIMELINE_KEY: json.dumps(entry | changes)}


def paused(*lengths):
    return {"scopestress_schema": 1, pauses.PAUSES_KEY: Histogram.of(lengths).encode()}


def test_what_is_stored_is_what_is_read():
    entry = timeline.entry(0.001, [([(0.0, 10), (0.25, 30)], 200, 0.004)])
    metadata = {"scopestress_schema": 1, timeline.TIMELINE_KEY: json.dumps(entry)}
    (found,) = timeline.of_runs([(metadata, "run 1")])
    assert found.interval == 0.001
    assert found.recordings == (timeline.Recording(((0.0, 10), (0.25, 30)), 200, 0.004),)


def test_runs_without_a_recording_are_left_out():
    assert len(timeline.of_runs([({}, "run 1"), (recorded(), "run 2")])) == 1


def test_the_cost_is_of_the_time_that_was_recorded():
    found = timeline.of_runs([(recorded(), "run 1"), (recorded(), "run 2")])
    assert timeline.cost(found) == pytest.approx(0.002)
    assert timeline.cost(()) is None


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({timeline.TIMELINE_KEY: "{}"}, "expected scopestress_schema 1, found None"),
        ({"scopestress_schema": 1, timeline.TIMELINE_KEY: 5}, "expected a line of JSON, found int"),
        ({"scopestress_schema": 1, timeline.TIMELINE_KEY: "[]"}, "expected an object, found list"),
        (recorded(recordings=[]), r"expected a list of recordings, found \[\]"),
        (recorded(recordings=[4]), "expected an object, found int"),
        (recorded(interval=-1), "expected a number from 0 on as 'interval', found -1"),
        (recorded([]), "expected points of seconds and bytes"),
        (recorded([[0, 1, 2]]), "expected points of seconds and bytes"),
        (recorded([[0, "a"]]), "expected points of seconds and bytes"),
        (recorded([[1, 5], [0, 5]]), "expected points in rising time"),
    ],
)
def test_other_timelines_are_refused_with_the_place(metadata, message):
    with pytest.raises(ResultsError, match=f"^run 1.*{message}"):
        timeline.of_runs([(metadata, "run 1")])


def test_pauses_of_all_runs_are_joined():
    runs = [pauses.of_run(paused((1e-3, 4)), "run 1"), pauses.of_run(paused((2e-3, 1)), "run 2")]
    assert pauses.merged(runs).count == 5
    assert pauses.merged([*runs, None]) is None
    assert pauses.merged([]) is None


@pytest.mark.parametrize("value", [5, "HISTFAAA", "nonsense"])
def test_other_pauses_are_refused_with_the_place(value):
    with pytest.raises(ResultsError, match=r"^run 1, scopestress_gc_pauses: "):
        pauses.of_run({"scopestress_schema": 1, pauses.PAUSES_KEY: value}, "run 1")


def test_a_file_gives_both_back_and_pyperfs_metric_benchmarks_hold_neither(
    tmp_path, make_score, quiet
):
    path = tmp_path / "run.json"
    write(path, [make_score(metrics=quiet(), metadata=recorded() | paused((1e-3, 2)))])
    (row,) = read(path).rows
    assert (row.pauses.count, len(row.timelines)) == (6, 3)
    for benchmark in json.loads(path.read_text())["benchmarks"]:
        runs = [run.get("metadata", {}) for run in benchmark["runs"]]
        named = {*benchmark.get("metadata", {}), *(key for run in runs for key in run)}
        if "scopestress_metric" in named:
            assert not named & {pauses.PAUSES_KEY, timeline.TIMELINE_KEY}
