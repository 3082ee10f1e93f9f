import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyperf
import pytest

from results.errors import ResultsError
from results.expand import expand
from results.files import append, check_writable, read, write, write_expanded
from results.model import Results
from results.schema import Metric

Make = Callable[..., pyperf.Benchmark]
Read = Callable[..., Results]
Scores = list[pyperf.Benchmark]


def test_scores_come_back_by_process_without_warmups_and_calibration(
    make_score: Make, results_of: Read
) -> None:
    values = [[1.0, 2.0], [3.0, 4.0]]
    (row,) = results_of(make_score(by_process=values, loops=64, inner_loops=4)).rows
    assert row.values == ((1.0, 2.0), (3.0, 4.0))
    assert (row.loops, row.inner_loops) == ((64, 64), 4)


def test_exact_figures_come_back_by_process(make_score: Make, results_of: Read) -> None:
    given = [[0.0, 1e-5], [0.25, 0.125]]
    score = make_score(processes=2, values=2, metrics={"gc.time": given})
    figures = results_of(score).rows[0].metrics["gc.time"]
    assert figures.by_process == ((0.0, 1e-5), (0.25, 0.125))
    assert figures.metric == Metric("gc.time", "s", "sum", "lower", 1e-4)


def test_a_figure_that_was_not_measurable_comes_back_as_none(
    make_score: Make, results_of: Read
) -> None:
    score = make_score(processes=1, values=2, metrics={"gc.share": [[None, 0.5]]})
    assert results_of(score).rows[0].metrics["gc.share"].by_process == ((None, 0.5),)


def test_the_reason_of_an_unsupported_metric_comes_back(make_score: Make, results_of: Read) -> None:
    score = make_score(metrics={"rss.peak": "clear_refs is not writable"})
    assert results_of(score).rows[0].metrics["rss.peak"].unsupported == "clear_refs is not writable"


def test_a_metric_that_one_process_lacks_is_unsupported(make_score: Make, results_of: Read) -> None:
    score = make_score(processes=2, metrics={"gc.time": 0.5})
    score.add_runs(make_score(processes=1, metrics={}))
    reason = results_of(score).rows[0].metrics["gc.time"].unsupported
    assert reason == "recorded by 2 of 3 processes"


def test_figures_of_hooks_with_a_key_each_are_read_together(
    make_score: Make, results_of: Read
) -> None:
    score = make_score(metrics={"gc.time": 0.5, "rss.peak": 1e6}, hooks=True)
    assert set(results_of(score).rows[0].metrics) == {"gc.time", "rss.peak"}


def test_rows_come_back_in_order_and_metric_benchmarks_are_none(
    scores: Scores, results_of: Read
) -> None:
    rows = results_of(*scores).rows
    assert [(row.operation, row.mode, dict(row.params)) for row in rows] == [
        ("baseline", "NONE", {}),
        ("confined_close", "NONE", {"size": "1MiB"}),
        ("implicit_close", "NONE", {"size": "1MiB"}),
    ]


def test_parameters_that_the_name_leaves_out_come_from_the_metadata(
    make_score: Make, results_of: Read
) -> None:
    usual = {"scopestress_params": '{"size": "1KiB", "touch": "first"}'}
    score = make_score("a[NONE,touch=all]", metadata=usual)
    assert results_of(score).rows[0].params == {"size": "1KiB", "touch": "all"}


def test_metadata_is_what_all_rows_have_in_common(scores: Scores, results_of: Read) -> None:
    metadata = results_of(*scores).metadata
    assert metadata["scopestress_python"] == "CPython 3.11.7"
    assert "name" not in metadata


def test_a_plain_pyperf_file_is_read_as_scores(tmp_path: Path, make_score: Make) -> None:
    make_score("json:loads[big]x", 2e-6).dump(str(tmp_path / "plain.json"))
    (row,) = read(tmp_path / "plain.json").rows
    assert (row.operation, row.mode, row.metrics) == ("json:loads[big]x", "", {})


def test_a_file_is_gzipped_where_its_name_says_so(tmp_path: Path, scores: Scores) -> None:
    write(tmp_path / "run.json.gz", scores)
    with gzip.open(tmp_path / "run.json.gz", "rt") as file:
        assert json.load(file)["version"] == "1.0"
    assert len(read(tmp_path / "run.json.gz").rows) == 3


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path, scores: Scores) -> None:
    path = tmp_path / "run.json"
    path.write_text("mine")
    with pytest.raises(ResultsError, match=r"run\.json: exists already; it is not overwritten"):
        write(path, scores)
    assert path.read_text() == "mine"


def test_a_file_that_exists_is_overwritten_when_asked_for(tmp_path: Path, scores: Scores) -> None:
    path = tmp_path / "run.json"
    path.write_text("old")
    write(path, scores, overwrite=True)
    assert len(read(path).rows) == 3


def test_a_link_stays_a_link_to_the_new_file(tmp_path: Path, scores: Scores) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    write(tmp_path / "link.json", scores, overwrite=True)
    assert (tmp_path / "link.json").is_symlink()
    assert len(read(tmp_path / "real.json").rows) == 3


def test_a_missing_directory_is_named(tmp_path: Path, scores: Scores) -> None:
    with pytest.raises(ResultsError, match=r"can't be written: the directory .*/no does not exist"):
        write(tmp_path / "no" / "run.json", scores)


def test_a_file_in_the_place_of_the_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ResultsError, match="file is not a directory"):
        check_writable(tmp_path / "file" / "run.json")


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="expected the name of a file, found a directory"):
        check_writable(tmp_path)


def test_a_directory_without_permission_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ResultsError, match="no permission in the directory"):
        check_writable(tmp_path / "run.json")


def test_no_benchmark_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="nothing to write, not one benchmark"):
        write(tmp_path / "run.json", [])
    assert list(tmp_path.iterdir()) == []


def test_two_benchmarks_of_one_name_make_no_file(tmp_path: Path, make_score: Make) -> None:
    with pytest.raises(ResultsError, match=r"run.json: .*already a benchmark"):
        write(tmp_path / "run.json", [make_score(), make_score()])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_in_the_middle_leaves_the_old_file_and_nothing_else(
    tmp_path: Path,
    scores: Scores,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
) -> None:
    path = tmp_path / "run.json"
    path.write_text("old")

    def fail_midway(suite: pyperf.BenchmarkSuite, file: Any) -> None:
        file.write('{"benchmarks": [')
        file.flush()
        raise failure

    monkeypatch.setattr(pyperf.BenchmarkSuite, "dump", fail_midway)
    with pytest.raises((ResultsError, KeyboardInterrupt)):
        write(path, scores, overwrite=True)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_said_with_the_file(
    tmp_path: Path, scores: Scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ResultsError, match=r"run\.json: can't be written: no space left on device"):
        write(tmp_path / "run.json", scores)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_appears_while_ours_is_written_is_kept(
    tmp_path: Path, scores: Scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.json"
    dump = pyperf.BenchmarkSuite.dump

    def slow_dump(suite: pyperf.BenchmarkSuite, file: Any) -> None:
        dump(suite, file)
        path.write_text("theirs")

    monkeypatch.setattr(pyperf.BenchmarkSuite, "dump", slow_dump)
    with pytest.raises(ResultsError, match="exists already"):
        write(path, scores)
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_appending_begins_a_file_that_is_not_there(tmp_path: Path, scores: Scores) -> None:
    append(tmp_path / "run.json", scores)
    assert len(read(tmp_path / "run.json").rows) == 3


def test_appending_adds_runs_to_benchmarks_of_the_same_name(
    tmp_path: Path, make_score: Make
) -> None:
    path = tmp_path / "run.json"
    write(path, [make_score(processes=2, metrics={"gc.time": 0.5})])
    append(path, [make_score(processes=3, metrics={"gc.time": 0.25})])
    (row,) = read(path).rows
    assert len(row.values) == 5
    assert row.metrics["gc.time"].values == (0.5,) * 6 + (0.25,) * 9


def test_appending_puts_other_benchmarks_at_the_end(tmp_path: Path, make_score: Make) -> None:
    write(tmp_path / "run.json", [make_score("b[NONE]")])
    append(tmp_path / "run.json", [make_score("a[NONE]")])
    assert [row.name for row in read(tmp_path / "run.json").rows] == ["b[NONE]", "a[NONE]"]


def test_appending_runs_of_another_machine_leaves_the_file_as_it_was(
    tmp_path: Path, make_score: Make
) -> None:
    path = tmp_path / "run.json"
    write(path, [make_score()])
    before = path.read_bytes()
    with pytest.raises(ResultsError, match=r"'confined_close\[NONE\]': incompatible.*hostname"):
        append(path, [make_score(metadata={"hostname": "elsewhere"})])
    assert path.read_bytes() == before


def test_runs_timed_call_by_call_do_not_go_together_with_others(
    tmp_path: Path, make_score: Make
) -> None:
    path = tmp_path / "run.json"
    plain, sampled = make_score(), make_score(calls=[[(1e-7, 20)]] * 3)
    for first, second in ((plain, sampled), (sampled, plain)):
        write(path, [first], overwrite=True)
        before = path.read_bytes()
        with pytest.raises(ResultsError, match="expected runs that were all timed call by call or"):
            append(path, [second])
        assert path.read_bytes() == before


def test_appending_adds_the_calls_of_further_runs(tmp_path: Path, make_score: Make) -> None:
    for _ in range(2):
        append(tmp_path / "run.json", [make_score(calls=[[(1e-7, 20)]] * 3)])
    (row,) = read(tmp_path / "run.json").rows
    assert row.samples is not None
    assert row.samples.histogram.count == 120


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"no\.json: can't be read: no such file or directory"):
        read(tmp_path / "no.json")


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ResultsError, match=r"bad\.json: can't be read: .*codec"):
        read(tmp_path / "bad.json")


def test_a_gzipped_file_that_was_cut_off_is_refused(tmp_path: Path, scores: Scores) -> None:
    path = tmp_path / "run.json.gz"
    write(path, scores)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ResultsError, match=r"run\.json\.gz: can't be read"):
        read(path)


def per_operation(make_score: Make, values: list[float | None]) -> pyperf.Benchmark:
    """A score as a pyperf hook leaves it: what is per operation is of the whole value."""
    entry = {"unit": "s", "agg": "mean", "floor": 1e-9, "better": "lower", "per": "op"}
    line = json.dumps({"score.cpu": entry | {"values": values}})
    return make_score(
        processes=1,
        values=len(values),
        loops=8,
        inner_loops=4,
        metadata={"scopestress_schema": 1, "scopestress_metrics.cpu": line},
    )


def test_a_figure_of_a_whole_value_is_read_per_operation(
    make_score: Make, results_of: Read
) -> None:
    figures = results_of(per_operation(make_score, [64.0, None])).rows[0].metrics["score.cpu"]
    assert figures.metric.unit == "s/op"
    assert figures.by_process == ((2.0, None),)


def test_a_figure_of_a_whole_value_is_expanded_per_operation(make_score: Make) -> None:
    (metric,) = expand(per_operation(make_score, [64.0, 32.0]))
    assert metric.get_values() == (2.0, 1.0)
    assert metric.get_total_loops() == 32


def test_what_hooks_left_is_expanded_once_and_for_all(tmp_path: Path, make_score: Make) -> None:
    plain = make_score("timeit", metrics={"gc.time": 0.5, "rss.peak": 1e6}, hooks=True)
    pyperf.BenchmarkSuite([plain]).dump(str(tmp_path / "plain.json"))
    write_expanded(tmp_path / "once.json", tmp_path / "plain.json")
    write_expanded(tmp_path / "twice.json", tmp_path / "once.json")
    names = pyperf.BenchmarkSuite.load(str(tmp_path / "once.json")).get_benchmark_names()
    assert names == ["timeit", "timeit:gc.time", "timeit:rss.peak"]
    assert (tmp_path / "once.json").read_bytes() == (tmp_path / "twice.json").read_bytes()


def test_a_file_without_figures_is_not_expanded(tmp_path: Path, make_score: Make) -> None:
    pyperf.BenchmarkSuite([make_score()]).dump(str(tmp_path / "plain.json"))
    with pytest.raises(ResultsError, match="nothing to expand: its runs hold no metrics"):
        write_expanded(tmp_path / "new.json", tmp_path / "plain.json")
    assert not (tmp_path / "new.json").exists()
