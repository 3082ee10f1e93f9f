"""calibrate, with a stand-in for a suite: a program that copies a file to where -o says."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyperf
import pytest

from results.__main__ import main
from results.gate.noise_file import read_floors

Make = Callable[..., pyperf.Benchmark]
FileOf = Callable[..., Path]
Capture = pytest.CaptureFixture[str]

SUITE = """
import pathlib, shutil, sys
count = pathlib.Path("count")
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
shutil.copy(f"{number}.json", sys.argv[sys.argv.index("-o") + 1])
print("a table that nobody asked for")
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # Temporary files go there, too, so that what is left of them is seen.
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.fixture
def suite(folder: Path, file_of: FileOf, make_score: Make) -> list[str]:
    for number, seconds in enumerate((1e-6, 1.1e-6, 0.95e-6, 1e-6), 1):
        file_of(f"{number}.json", make_score("a[NONE]", seconds, processes=6))
    (folder / "suite.py").write_text(SUITE)
    return [sys.executable, "suite.py", "--quick"]


def test_the_runs_floors_are_written_and_the_gate_reads_them(
    folder: Path, suite: list[str], capsys: Capture
) -> None:
    assert main(["calibrate", "-n", "3", "-o", "noise.json", "--", *suite]) == 0
    captured = capsys.readouterr()
    assert "calibrate: run 3 of 3" in captured.err
    assert "a table that nobody asked for" not in captured.out
    assert captured.out.startswith("Largest difference between two of 3 runs of 6 processes")
    floors = read_floors("noise.json")
    assert floors.floors["a[NONE]"]["score"].relative == pytest.approx(0.15 / 3.05 * 3, rel=0.01)
    assert floors.command == tuple(suite)
    assert main(["gate", "1.json", "2.json", "--noise", "noise.json"]) == 4
    assert list((folder / "temporary").iterdir()) == []


def test_without_a_name_the_file_is_dated_and_in_the_folder_of_results(
    folder: Path, suite: list[str]
) -> None:
    assert main(["calibrate", "-n", "3", "--", *suite]) == 0
    (made,) = (folder / "results").iterdir()
    assert made.name.startswith("noise-")


def test_a_file_that_exists_is_overwritten_only_by_force(
    folder: Path, suite: list[str], capsys: Capture
) -> None:
    (folder / "noise.json").write_text("mine")
    assert main(["calibrate", "-n", "3", "-o", "noise.json", "--", *suite]) == 2
    assert "exists already" in capsys.readouterr().err
    assert not (folder / "count").exists()
    assert main(["calibrate", "-n", "3", "-o", "noise.json", "--force", "--", *suite]) == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "expected a command after --"),
        (["--", sys.executable, "x.py", "-o", "a.json"], "expected a command without -o"),
        (["--", sys.executable, "x.py", "--append=a.json"], "without --append=a.json"),
        (["-n", "2", "--", sys.executable, "x.py"], "expected -n 3 or more, found 2"),
        (["--", "./no-such-program"], "./no-such-program: can't be run: No such file"),
        (["--", sys.executable, "-c", "raise SystemExit(3)"], "run 1 ended with exit status 3"),
        (["--", sys.executable, "-c", "pass"], "run 1 wrote no file with -o"),
    ],
)
def test_a_command_that_does_not_do_is_told_why(
    folder: Path, capsys: Capture, arguments: list[str], expected: str
) -> None:
    assert main(["calibrate", "-onoise.json", *arguments]) == 2
    assert expected in capsys.readouterr().err
    assert not (folder / "noise.json").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_it_leaves_nothing_and_ends_its_run(folder: Path, number: signal.Signals) -> None:
    (folder / "slow.py").write_text(
        "import os, sys, time\nprint(os.getpid(), file=sys.stderr, flush=True)\ntime.sleep(600)\n"
    )
    command = [sys.executable, "-m", "results", "calibrate", "-o", "noise.json", "--"]
    with subprocess.Popen(
        [*command, sys.executable, "slow.py"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "calibrate: run 1 of 5\n"
        child = int(process.stderr.readline())
        process.send_signal(number)
        assert process.wait(30) == 130
        assert "Traceback" not in process.stderr.read()
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert not (folder / "noise.json").exists()
    assert list((folder / "temporary").iterdir()) == []
