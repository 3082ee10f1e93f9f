from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pyperf
import pytest

from results.__main__ import main
from results.gate.noise import Floor, Floors
from results.gate.noise_file import write_floors

Make = Callable[..., pyperf.Benchmark]
FileOf = Callable[..., Path]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, so that the table of this one isn't read."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def base(file_of: FileOf, make_score: Make) -> str:
    return str(file_of("base.json", make_score("a[NONE]", 1e-6, processes=8)))


@pytest.fixture
def slower(file_of: FileOf, make_score: Make) -> str:
    return str(file_of("slower.json", make_score("a[NONE]", 1.2e-6, processes=9)))


def test_the_exit_status_is_the_verdict(
    base: str, slower: str, file_of: FileOf, make_score: Make, capsys: Capture
) -> None:
    wide = [[1e-6 * by] for by in (0.8, 1.3, 0.9, 1.2, 1.0, 1.4)]
    noisy = str(file_of("noisy.json", make_score("a[NONE]", by_process=wide)))
    elsewhere = str(
        file_of("c.json", make_score("a[NONE]", processes=8, metadata={"cpu_count": 9}))
    )
    statuses = [main(["gate", base, head]) for head in (base, slower, elsewhere, noisy)]
    assert statuses == [0, 1, 3, 4]
    assert capsys.readouterr().out.startswith("gate: ok")


def test_options_set_limits_and_minima(base: str, slower: str) -> None:
    assert main(["gate", base, slower, "--max", "score=30%"]) == 0
    assert main(["gate", base, slower, "--max", "30%"]) == 0
    assert main(["gate", base, slower, "--min", "score=1us"]) == 0
    assert main(["gate", base, slower, "--max", "score=30%", "--max", "score=2%"]) == 1


def test_the_project_sets_limits_that_options_override(
    project: Path, base: str, slower: str
) -> None:
    (project / "pyproject.toml").write_text('[tool.scopestress.gate]\nmax = {score = "30%"}\n')
    assert main(["gate", base, slower]) == 0
    assert main(["gate", base, slower, "--max", "score=5%"]) == 1
    (project / "other.toml").write_text('[tool.scopestress.gate]\nmax = {score = "1%"}\n')
    assert main(["gate", base, slower, "--config", "other.toml"]) == 1
    assert main(["gate", base, slower, "--config", "missing.toml"]) == 2


def test_noise_that_was_calibrated_is_used(project: Path, base: str, slower: str) -> None:
    floors = {"a[NONE]": {"score": Floor(5e-7, 0.5)}}
    write_floors(project / "noise.json", Floors(5, 8, (), "", {}, floors))
    assert main(["gate", base, slower, "--noise", "noise.json"]) == 4
    assert main(["gate", base, slower, "--noise", "noise.json", "--allow", "noise"]) == 0


def test_a_summary_and_a_junit_file_are_written(project: Path, base: str, slower: str) -> None:
    (project / "summary.md").touch()  # as the runners of GitHub make it
    status = main(["gate", base, slower, "--summary", "summary.md", "--junit", "gate.xml"])
    assert status == 1
    summary = (project / "summary.md").read_text()
    assert summary.startswith("**gate: regression: 1 of 1 figures**\n")
    assert "| a[NONE] | 1.0 | 1.2 | us/op | +20 % |" in summary
    assert "<details>" in summary
    suite = ET.parse(project / "gate.xml").getroot().find("testsuite")
    assert suite is not None
    assert suite.get("failures") == "1"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--max", "scroe=5%"], "expected a metric scroe, found score"),
        (["--summary", "no/summary.md"], "no/summary.md: can't be written: the directory no"),
        (["--noise", "base.json"], "base.json: expected noise floors, as calibrate writes"),
        (["--noise", "no.json"], "no.json: can't be read: no such file"),
    ],
)
def test_what_can_not_be_used_is_exit_2(
    base: str, slower: str, capsys: Capture, options: list[str], expected: str
) -> None:
    assert main(["gate", base, slower, *options]) == 2
    captured = capsys.readouterr()
    assert expected in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--max", "score=5"], "expected per cent, as 5%, found '5'"),
        (["--min", "score=x"], "expected a time, a size or a number"),
        (["--allow", "weather"], "invalid choice: 'weather'"),
    ],
)
def test_a_bad_argument_says_what_was_expected(
    base: str, slower: str, capsys: Capture, options: list[str], expected: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["gate", base, slower, *options])
    assert caught.value.code == 2
    assert expected in capsys.readouterr().err
