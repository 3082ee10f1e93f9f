import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyperf
import pytest

from results.__main__ import BAD_INPUT, main
from results.files import read, write
from results.show import show

Scores = list[pyperf.Benchmark]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path, scores: Scores) -> Path:
    write(tmp_path / "run.json", scores)
    return tmp_path / "run.json"


def test_show_prints_the_table_again(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = io.StringIO()
    show(read(path), expected)
    assert main(["show", str(path)]) == 0
    assert capsys.readouterr().out == expected.getvalue()


def test_show_prints_other_formats(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(path), "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 3


def test_show_says_in_words_what_the_scores_hide(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["show", str(path)])
    assert "- implicit_close[NONE,size=1MiB] takes 18 x as long" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "expected"),
    [("{", "not JSON or cut off"), ([], "expected a file of pyperf, found other JSON")],
)
def test_a_bad_file_is_one_line_and_exit_2(
    write_json: Callable[[Any], Path],
    capsys: pytest.CaptureFixture[str],
    content: Any,
    expected: str,
) -> None:
    bad = write_json(content)
    assert main(["show", str(bad)]) == BAD_INPUT == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"results: {bad}: {expected}")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_file_that_is_not_there_is_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "no.json"]) == BAD_INPUT
    assert "no.json: can't be read: no such file" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [[], ["shew"], ["show"], ["show", "a", "--format", "xml"]])
def test_bad_arguments_are_exit_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert "usage: python -m results" in capsys.readouterr().err


def run_module(*args: str, **environ: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "results", *args],
        cwd=ROOT,
        env=os.environ | environ,
        capture_output=True,
        timeout=60,
    )


def test_a_terminal_without_the_signs_gets_the_table_all_the_same(path: Path) -> None:
    done = run_module("show", str(path), PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Benchmark" in done.stdout


def test_a_reader_that_stops_early_ends_it_quietly(path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "results", "show", str(path)],
            cwd=ROOT,
            stdout=closed,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (0, b"")


def test_expand_writes_the_figures_as_benchmarks(
    tmp_path: Path, make_score: Callable[..., pyperf.Benchmark]
) -> None:
    plain = make_score("timeit", metrics={"gc.time": 0.5}, hooks=True)
    pyperf.BenchmarkSuite([plain]).dump(str(tmp_path / "plain.json"))
    assert main(["expand", str(tmp_path / "plain.json"), "-o", str(tmp_path / "new.json")]) == 0
    names = pyperf.BenchmarkSuite.load(str(tmp_path / "new.json")).get_benchmark_names()
    assert names == ["timeit", "timeit:gc.time"]


def test_expand_overwrites_nothing(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = path.read_bytes()
    assert main(["expand", str(path), "-o", str(path)]) == BAD_INPUT
    assert "exists already; it is not overwritten" in capsys.readouterr().err
    assert path.read_bytes() == before
