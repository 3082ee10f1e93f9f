import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyperf
import pytest

from results.__main__ import main

CommitFile = Callable[..., Path]
ScoreAt = Callable[..., pyperf.Benchmark]
Capture = pytest.CaptureFixture[str]

has_ruptures = pytest.mark.skipif(not find_spec("ruptures"), reason="ruptures is not installed")
has_matplotlib = pytest.mark.skipif(not find_spec("matplotlib"), reason="no matplotlib here")


def run(*arguments: Any) -> int:
    return main(["history", *map(str, arguments)])


@has_ruptures
def test_a_figure_over_commits_is_shown_with_its_change(
    course: list[Path], capsys: Capture
) -> None:
    assert run(course[0].parent) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "12 files, 0000000000 (2026-01-01) to 0000000000 (2026-01-12)"
    row = next(line for line in lines if line.startswith("a[NONE]"))
    assert row.split()[1:6] == ["1.009", "1.499", "us/op", "+49", "%"]
    ticks = row.split()[-1]
    assert (len(ticks), ticks[0], ticks[-1]) == (12, "▁", "█")
    assert "Change: a[NONE] +50 % from 0000000000 (2026-01-08) on." in lines
    assert max(map(len, lines)) <= 100


def test_without_ruptures_the_table_is_shown_and_what_is_missing_said(
    course: list[Path], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ruptures", None)
    assert run(*course) == 0
    out = capsys.readouterr().out
    assert "a[NONE]" in out
    assert "Changes of level are not marked: ruptures is not installed (pip install" in out


def test_bad_files_are_named_the_others_shown_and_it_ends_in_2(
    course: list[Path], capsys: Capture
) -> None:
    bad = course[0].parent / "bad.json"
    bad.write_text('{"version": "1.0", "benchm')
    assert run(course[0].parent) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"results: {bad}: not JSON or cut off")
    assert "12 files" in captured.out
    assert run(bad) == 2


def test_no_figure_is_exit_2(course: list[Path], capsys: Capture) -> None:
    assert run(*course, "--metric", "scroe") == 2
    assert run(*course, "--only", "nothing") == 2
    assert "no file has a figure scroe" in capsys.readouterr().err


@pytest.mark.long
def test_a_thousand_files_are_read(course: list[Path], capsys: Capture) -> None:
    for number in range(1000 - len(course)):
        os.link(course[number % len(course)], course[0].parent / f"x{number:04}.json")
    assert run(course[0].parent) == 0
    out = capsys.readouterr().out
    assert out.startswith("1000 files, ")
    assert len(out.splitlines()) < 30


@has_matplotlib
@pytest.mark.parametrize(("name", "start"), [("h.png", b"\x89PNG"), ("h.svg", b"<?xml")])
def test_a_picture_is_drawn(course: list[Path], name: str, start: bytes) -> None:
    path = course[0].parent / name
    assert run(*course, "-o", path) == 0
    content = path.read_bytes()
    assert content.startswith(start)
    if name.endswith("svg"):
        assert b"score, us/op" in content
        assert b"a[NONE]" in content


@pytest.mark.parametrize(
    ("name", "expected"),
    [("h.gif", "expected a name that ends in .png or .svg"), ("no/h.png", "the directory")],
)
def test_a_picture_that_can_not_be_made_is_told_at_once(
    course: list[Path], capsys: Capture, name: str, expected: str
) -> None:
    pytest.importorskip("matplotlib")
    assert run(*course, "-o", course[0].parent / name) == 2
    captured = capsys.readouterr()
    assert expected in captured.err
    assert captured.out == ""


def test_without_matplotlib_it_is_said_what_to_install(
    course: list[Path], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(*course, "-o", course[0].parent / "h.png") == 2
    assert (
        "a picture needs matplotlib: pip install 'scopestress[report]'" in capsys.readouterr().err
    )


def test_an_unknown_format_is_refused(course: list[Path], capsys: Capture) -> None:
    assert run(*course, "--export", "xml", "x") == 2
    assert "expected asv or github-action-benchmark, found 'xml'" in capsys.readouterr().err


def test_the_newest_run_is_exported_for_github_action_benchmark(
    commit_file: CommitFile, score_at: ScoreAt, tmp_path: Path
) -> None:
    metrics = {"rss.peak": 5e7, "alloc.rate": 1e9, "gc.time": 0.0}
    paths = [
        commit_file("a.json", 1, score_at("a" * 40, 9e-6, metrics=metrics)),
        commit_file("b.json", 2, score_at("b" * 40, 1e-6, metrics=metrics)),
    ]
    assert run(*paths, "--export", "github-action-benchmark", tmp_path / "out.json") == 0
    entries = json.loads((tmp_path / "out.json").read_text())
    # What the action reads of each: extractCustomBenchmarkResult of its src/extract.ts.
    assert {entry["name"] for entry in entries} == {
        "a[NONE]",
        "a[NONE]:rss.peak",
        "a[NONE]:gc.time",
    }
    for entry in entries:
        assert set(entry) <= {"name", "unit", "value", "range", "extra"}
        assert isinstance(entry["value"], float)
    score = entries[0]
    assert (score["unit"], score["value"]) == ("s/op", pytest.approx(1e-6, rel=0.01))
    assert score["extra"] == "3 processes, bbbbbbbbbb"


def git(folder: Path, *arguments: str) -> str:
    environ = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    author = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
    command = ["git", *author, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environ, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def exported(tmp_path: Path, commit_file: CommitFile, score_at: ScoreAt) -> tuple[Path, list[str]]:
    """A directory for asv with the figures of two commits of a repository, and the commits."""
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "-q")
    commits, paths = [], []
    for day in (1, 2):
        git(repository, "commit", "-q", "--allow-empty", "-m", f"day {day}")
        commits.append(git(repository, "rev-parse", "HEAD"))
        scores = [
            score_at(commits[-1], 1e-6 * day, name, metrics={"rss.peak": 5e7 * day})
            for name in ("open[NONE]", "open[NONE,size=1MiB]", "open[MEMORY]")
        ]
        paths.append(commit_file(f"{day}.json", day, *scores))
    paths.append(commit_file("dirty.json", 3, score_at(f"{commits[-1]}-dirty", 5e-6)))
    assert run(*paths, "--export", "asv", tmp_path / "asv", "--repo", repository) == 0
    return tmp_path / "asv", commits


def test_figures_are_exported_in_asvs_format(
    exported: tuple[Path, list[str]], capsys: Capture
) -> None:
    folder, commits = exported
    benchmarks = json.loads((folder / "results" / "benchmarks.json").read_text())
    assert benchmarks["open.score"]["param_names"] == ["mode", "size"]
    assert benchmarks["open.score"]["params"] == [["NONE", "MEMORY"], ["1MiB", "-"]]
    assert benchmarks["open.score"]["unit"] == "seconds"
    files = sorted((folder / "results" / "bench").glob("*-python3.11.7.json"))
    assert sorted(path.name[:8] for path in files) == sorted(commit[:8] for commit in commits)
    newest = next(path for path in files if path.name.startswith(commits[1][:8]))
    found = json.loads(newest.read_text())
    columns = dict(zip(found["result_columns"], found["results"]["open.score"], strict=True))
    # NONE at 1 MiB, NONE, MEMORY at 1 MiB, which was not measured, MEMORY.
    assert columns["result"] == [pytest.approx(2e-6, rel=0.01)] * 2 + [
        None,
        pytest.approx(2e-6, rel=0.01),
    ]
    assert len(columns["samples"][0]) == 3


def test_asv_itself_publishes_and_shows_them(exported: tuple[Path, list[str]]) -> None:
    pytest.importorskip("asv", reason="asv is not installed")
    folder, commits = exported

    def asv(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "asv", *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    asv("publish")
    assert (folder / "html" / "index.json").exists()
    shown = asv("show", "--machine", "bench", "--details", commits[1])
    assert "open.score [bench/python3.11.7]" in shown
    assert "2.00" in shown


def test_files_without_commits_can_not_be_exported_to_asv(
    commit_file: CommitFile, make_score: ScoreAt, tmp_path: Path, capsys: Capture
) -> None:
    path = commit_file("a.json", 1, make_score("a[NONE]"))
    assert run(path, "--export", "asv", tmp_path / "asv") == 2
    assert "nothing to export to asv: expected files with the commit" in capsys.readouterr().err
    assert not (tmp_path / "asv").exists()
