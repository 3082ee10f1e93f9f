import csv
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyperf
import pytest

from results.__main__ import main

Make = Callable[..., pyperf.Benchmark]
FileOf = Callable[..., Path]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def a(file_of: FileOf, make_score: Make) -> str:
    return str(file_of("a.json", make_score("x[NONE]", metrics={"gc.count": 3})))


@pytest.fixture
def b(file_of: FileOf, make_score: Make) -> str:
    return str(file_of("b.json", make_score("x[NONE]", 2e-7, metrics={"gc.count": 3})))


@pytest.fixture
def elsewhere(file_of: FileOf, make_score: Make) -> str:
    metadata = {"scopestress_python": "CPython 3.12.1", "cpu_count": 8}
    return str(file_of("c.json", make_score("x[NONE]", metadata=metadata)))


def test_a_comparison_ends_in_0_whatever_it_finds(a: str, b: str, capsys: Capture) -> None:
    assert main(["compare", a, b]) == 0
    assert "; 100 % worse" in capsys.readouterr().out


def test_what_is_not_comparable_is_said_first_and_ends_in_3(
    a: str, elsewhere: str, capsys: Capture
) -> None:
    assert main(["compare", a, elsewhere]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Not comparable: python: CPython 3.11.7 against CPython 3.12.1"
    assert any(line.startswith("Benchmark") for line in lines)


def test_what_is_allowed_by_name_ends_in_0(a: str, elsewhere: str, capsys: Capture) -> None:
    assert main(["compare", a, elsewhere, "--allow", "python"]) == 3
    assert main(["compare", a, elsewhere, "--allow", "python", "--allow", "machine"]) == 0
    assert "Allowed: python" in capsys.readouterr().out


@pytest.mark.parametrize("format", ["csv", "json"])
def test_formats_for_programs_keep_the_warning_out_of_the_data(
    a: str, elsewhere: str, capsys: Capture, format: str
) -> None:
    assert main(["compare", a, elsewhere, "--format", format]) == 3
    captured = capsys.readouterr()
    assert captured.err.startswith("Not comparable: python")
    if format == "csv":
        assert {line["benchmark"] for line in csv.DictReader(captured.out.splitlines())} == {"x"}
    else:
        assert len(json.loads(captured.out)["comparisons"]) == 1


def test_several_files_are_held_against_the_first(
    a: str, b: str, elsewhere: str, capsys: Capture
) -> None:
    assert main(["compare", a, b, elsewhere, "--metric", "score"]) == 3
    out = capsys.readouterr().out
    assert out.startswith("C: Not comparable: python")
    assert "+100 %*" in out


def test_blocks_are_the_layout_of_the_jdk(a: str, b: str, capsys: Capture) -> None:
    main(["compare", a, b, "--layout", "blocks", "--metric", "score"])
    lines = capsys.readouterr().out.splitlines()
    assert lines.index("# Before") < lines.index("# After")
    assert lines[lines.index("# After") + 1].endswith("; 100 % worse")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--metric", "scroe"], "expected a metric scroe, found score, gc.count"),
        (["--only", "nothing"], "no benchmark matches 'nothing'"),
    ],
)
def test_a_selection_of_nothing_is_exit_2(
    a: str, b: str, capsys: Capture, options: list[str], expected: str
) -> None:
    assert main(["compare", a, b, *options]) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--only", "("], "expected a regular expression, found '('"),
        (["--min-change", "5"], "expected per cent, as 5%, found '5'"),
        (["--allow", "weather"], "expected one of python, build"),
    ],
)
def test_a_bad_argument_says_what_was_expected(
    a: str, b: str, capsys: Capture, options: list[str], expected: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["compare", a, b, *options])
    assert caught.value.code == 2
    assert expected in capsys.readouterr().err


def thousand(path: Path, score: pyperf.Benchmark) -> None:
    """A file of 1,000 benchmarks, in the form in which pyperf writes them, which takes minutes."""
    pyperf.BenchmarkSuite([score]).dump(str(path))
    whole = json.loads(path.read_text())
    (runs,) = (benchmark["runs"] for benchmark in whole["benchmarks"])
    whole["benchmarks"] = [
        {"metadata": whole["metadata"] | {"name": f"row{number}[NONE]"}, "runs": runs}
        for number in range(1000)
    ]
    del whole["metadata"]
    path.write_text(json.dumps(whole))


def test_files_of_a_thousand_benchmarks_are_compared_in_two_seconds_of_cpu(
    tmp_path: Path, make_score: Make
) -> None:
    for name, seconds in (("a.json", 1e-7), ("b.json", 1.1e-7)):
        thousand(tmp_path / name, make_score(seconds=seconds, processes=20, metrics=None))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "results", "compare", "a.json", "b.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) > 1000
    assert after.ru_utime - before.ru_utime < 2
