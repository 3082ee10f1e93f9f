import re
from collections.abc import Callable
from pathlib import Path

import pyperf
import pytest

from results.compare.comparison import Selection
from results.errors import ResultsError
from results.gate.noise import Floors
from results.gate.noise_file import write_floors
from results.history.points import Point, breaks, find, keys, load

CommitFile = Callable[..., Path]
ScoreAt = Callable[..., pyperf.Benchmark]
ALL = Selection()


def loaded(*paths: Path) -> list[Point]:
    points, errors = load(paths, ALL)
    assert errors == []
    return points


def test_points_are_in_the_order_of_measuring_whatever_their_names(
    commit_file: CommitFile, score_at: ScoreAt
) -> None:
    paths = [
        commit_file(f"{name}.json", day, score_at(name))
        for name, day in zip("abc", (3, 1, 2), strict=True)
    ]
    assert [point.commit for point in loaded(*paths)] == ["b", "c", "a"]


def test_a_point_is_called_by_its_commit_or_else_by_its_file(
    commit_file: CommitFile, score_at: ScoreAt, make_score: ScoreAt
) -> None:
    points = loaded(
        commit_file("a.json", 1, score_at("0123456789abcdef")),
        commit_file("b.json", 2, score_at("0123456789abcdef-dirty")),
        commit_file("c.json", 3, make_score("a[NONE]")),
    )
    assert [point.label for point in points] == ["0123456789", "0123456789+", "c.json"]
    assert [point.dirty for point in points] == [False, True, False]


def test_only_the_figures_that_are_asked_for_are_kept(
    commit_file: CommitFile, score_at: ScoreAt
) -> None:
    scores = [
        score_at("c", name=f"{n}[NONE]", metrics={"gc.time": 1.0, "rss.peak": 5e7}) for n in "ab"
    ]
    selection = Selection(re.compile("^a"), ("gc.*",))
    points, _ = load([commit_file("a.json", 1, *scores)], selection)
    assert keys(points) == [("a[NONE]", "gc.time")]


def test_files_that_can_not_be_read_do_not_stop_the_others(
    tmp_path: Path, commit_file: CommitFile, score_at: ScoreAt
) -> None:
    (tmp_path / "bad.json").write_text("{")
    points, errors = load([tmp_path / "bad.json", commit_file("a.json", 1, score_at("c"))], ALL)
    assert len(points) == 1
    assert str(errors[0]).startswith(f"{tmp_path / 'bad.json'}: not JSON or cut off")


def test_a_folder_holds_its_json_files_without_noise_floors(
    tmp_path: Path, commit_file: CommitFile, score_at: ScoreAt
) -> None:
    path = commit_file("a.json", 1, score_at("c"))
    (tmp_path / "sub").mkdir()
    other = tmp_path / "sub" / "b.json"
    other.write_bytes(path.read_bytes())
    (tmp_path / "notes.txt").touch()
    write_floors(tmp_path / "noise.json", Floors(3, 6, (), "", {}, {}))
    assert find([tmp_path]) == [path, other]


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="there is no result file"):
        find([tmp_path])


def test_a_change_of_circumstances_is_told(commit_file: CommitFile, score_at: ScoreAt) -> None:
    points = loaded(
        commit_file("a.json", 1, score_at("1" * 40)),
        commit_file(
            "b.json", 2, score_at("2" * 40, metadata={"scopestress_python": "CPython 3.12.1"})
        ),
        commit_file(
            "c.json", 3, score_at("3" * 40, metadata={"scopestress_python": "CPython 3.12.1"})
        ),
    )
    assert list(breaks(points)) == ["python: CPython 3.11.7 up to 1111111111, then CPython 3.12.1"]


def test_a_date_that_is_none_is_no_date(commit_file: CommitFile, score_at: ScoreAt) -> None:
    path = commit_file("a.json", 1, score_at("c"))
    path.write_text(path.read_text().replace("2026-01-01", "yesterday"))
    assert loaded(path)[0].date is None
