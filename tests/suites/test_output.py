"""The file of a run, and the line on the terminal."""

import io
import os
from pathlib import Path

import pyperf
import pytest

from results.errors import ResultsError
from stress.modes import StressMode
from suites.cells import Cell
from suites.output import Destination, Progress, wants_colour
from suites.rows import Row, Work


class Runner:
    """As much of a runner as the progress line needs: two cells of equal length."""

    workers_per_cell = 4
    cells = tuple(
        Cell(Row(name, "", body="pass"), StressMode.NONE, Work()) for name in ("first", "second")
    )

    def expected_s(self, cell: Cell) -> float:
        return 10.0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def benchmark(name: str = "close[NONE]") -> pyperf.Benchmark:
    run = pyperf.Run([1.0, 2.0], metadata={"name": name}, collect_metadata=False)
    return pyperf.Benchmark([run])


def values(path: Path) -> dict[str, tuple[float, ...]]:
    return {bench.get_name(): bench.get_values() for bench in pyperf.BenchmarkSuite.load(str(path))}


@pytest.fixture
def progress() -> Progress:
    return Progress(Runner(), io.StringIO())


def test_without_a_name_the_file_has_suite_and_time_in_the_folder_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    destination = Destination.chosen("close", None, None)
    destination.check()
    destination.save([benchmark()])
    (path,) = (tmp_path / "results").iterdir()
    assert path.match("close-[0-9]*-[0-9]*.json")


def test_a_folder_that_can_t_be_made_is_found_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").write_text("a file")
    with pytest.raises(ResultsError, match="the directory results can't be made here"):
        Destination.chosen("close", None, None).check()


def test_a_file_that_exists_is_found_before_anything_runs(tmp_path):
    path = tmp_path / "old.json"
    path.write_text("old")
    with pytest.raises(ResultsError, match="exists already"):
        Destination.chosen("close", str(path), None).check()
    assert path.read_text() == "old"


def test_appending_to_what_is_no_result_file_is_found_before_anything_runs(tmp_path):
    path = tmp_path / "old.json"
    path.write_text("old")
    with pytest.raises(ResultsError, match=r"old\.json"):
        Destination.chosen("close", None, str(path)).check()


def test_appending_begins_a_file_that_is_not_there(tmp_path):
    path = tmp_path / "new.json"
    destination = Destination.chosen("close", None, str(path))
    destination.check()
    destination.save([benchmark()])
    assert values(path) == {"close[NONE]": (1.0, 2.0)}


def test_appending_adds_runs_to_benchmarks_of_the_same_name_and_others_at_the_end(tmp_path):
    path = tmp_path / "new.json"
    Destination.chosen("close", str(path), None).save([benchmark()])
    destination = Destination.chosen("close", None, str(path))
    destination.check()
    destination.save([benchmark("other[NONE]"), benchmark()])
    assert values(path) == {"close[NONE]": (1.0, 2.0, 1.0, 2.0), "other[NONE]": (1.0, 2.0)}


def test_before_anything_is_done_the_time_left_is_the_expectation(progress):
    progress.cell_started(Runner.cells[0])
    assert progress.left_s(elapsed_s=0.0) == 20.0


def test_the_time_left_follows_from_how_the_expectation_held(progress):
    progress.cell_started(Runner.cells[0])
    progress.worker_done()
    progress.worker_done()
    assert progress.left_s(elapsed_s=10.0) == 30.0  # 5 s of work took 10 s, and 15 s are left


def test_cells_before_count_as_done(progress):
    progress.cell_started(Runner.cells[0])
    progress.cell_started(Runner.cells[1])
    assert progress.left_s(elapsed_s=10.0) == 10.0


def test_the_line_names_the_benchmark_and_the_process(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    stream = io.StringIO()
    progress = Progress(Runner(), stream)
    progress.cell_started(Runner.cells[0])
    progress.worker_done()
    progress.worker_started()
    line = stream.getvalue()
    assert line.startswith("\r\x1b[K[1/2] first[NONE]  process 2 of 4  ")
    assert line.endswith(" left")


def test_the_line_is_cut_to_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    stream = io.StringIO()
    progress = Progress(Runner(), stream)
    progress.cell_started(Runner.cells[0])
    progress.worker_started()
    assert len(stream.getvalue().removeprefix("\r\x1b[K")) == 19


def test_colour_is_for_terminals(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert wants_colour(Terminal())
    assert not wants_colour(io.StringIO())


def test_no_color_is_heeded(monkeypatch):
    monkeypatch.setitem(os.environ, "NO_COLOR", "1")
    assert not wants_colour(Terminal())
