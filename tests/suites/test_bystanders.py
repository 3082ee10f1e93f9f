"""What a row takes from the stress threads: from their rates to slowdowns in the file."""

import json

import pyperf
import pytest

from stress.base import Stress
from stress.modes import StressMode, StressOptions
from stress.probes.bystander import BystanderProbe, bystander_figures
from suites.bystanders import WITHOUT_BASELINE, slowdowns, with_slowdowns
from suites.cells import Cell
from suites.measure import Measurement
from suites.rows import Row, Work

BASELINE = Row("baseline", "nothing", body="pass", sized=False)
CLOSE = Row("close", "something", body="pass")
THREADS = StressMode.THREADS


class Fake(Stress):
    """Stress threads whose turns the test counts."""

    turns = 0

    def spins(self):
        return self.turns


def benchmark(cell, *rates):
    """A calibration run, and a process a list of rates."""
    runs = [
        pyperf.Run([], warmups=[(1, 1.0)], metadata={"name": cell.name}, collect_metadata=False)
    ]
    for values in rates:
        entry = {"unit": "turns/s", "agg": "mean", "better": "higher", "floor": 0, "values": values}
        metadata = {
            "name": cell.name,
            "scopestress_metrics": json.dumps({"bystander.rate": entry, "other": {}}),
        }
        values = [1.0] * len(values)
        runs.append(pyperf.Run(values, metadata=metadata, collect_metadata=False))
    return pyperf.Benchmark(runs)


def found(benchmark):
    """The entries of bystander.slowdown, run by run, of those that have metrics."""
    lines = [run.get_metadata().get("scopestress_metrics") for run in benchmark.get_runs()]
    return [json.loads(line)["bystander.slowdown"] for line in lines if line]


def values(benchmark):
    return [entry["values"] for entry in found(benchmark)]


@pytest.mark.parametrize(
    ("turns", "duration_s", "rate"),
    [(500, 0.25, 2000), (500, 10.0, 50), (0, 0.25, 0), (5, 0.0, None)],
)
def test_a_rate_is_of_all_turns_in_a_second(turns, duration_s, rate):
    assert bystander_figures(turns, duration_s) == {"bystander.rate": rate}


def test_turns_of_the_window_count_and_no_others():
    stress, probe = Fake(), BystanderProbe()
    probe.attach(stress, ())
    stress.turns = 1000
    probe.before()
    stress.turns += 300
    probe.after()
    stress.turns += 5000
    assert probe.figures(0.5, 1) == {"bystander.rate": 600}


def test_a_slowdown_is_the_usual_rate_over_the_rate():
    assert slowdowns(100.0, [50.0, 200.0, 100.0]) == [2.0, 0.5, 1.0]


def test_threads_that_did_nothing_have_no_slowdown():
    assert slowdowns(100.0, [0.0, None]) == [None, None]
    assert slowdowns(0.0, [50.0]) == [None]


def test_the_usual_rate_is_the_mean_beside_the_baseline():
    cells = [Cell(BASELINE, THREADS, Work()), Cell(CLOSE, THREADS, Work())]
    base, close = with_slowdowns(
        cells, [benchmark(cells[0], [80.0, 120.0], [100.0]), benchmark(cells[1], [50.0], [25.0])]
    )
    assert values(close) == [[2.0], [4.0]]
    assert values(base) == [[1.25, 100 / 120], [1.0]]


def test_a_row_at_another_size_is_held_against_the_same_baseline():
    cells = [Cell(BASELINE, THREADS, Work()), Cell(CLOSE, THREADS, Work(size=1 << 20))]
    _, close = with_slowdowns(cells, [benchmark(cells[0], [100.0]), benchmark(cells[1], [50.0])])
    assert values(close) == [[2.0]]


def test_every_stress_has_its_own_baseline():
    python, native = StressOptions(), StressOptions(spin="native")
    cells = [
        Cell(row, THREADS, Work(), stress)
        for stress in (python, native)
        for row in (BASELINE, CLOSE)
    ]
    rates = ([100.0], [50.0], [9000.0], [3000.0])
    made = with_slowdowns(cells, list(map(benchmark, cells, rates)))
    assert [values(one) for one in made] == [[[1.0]], [[2.0]], [[1.0]], [[3.0]]]


def test_without_a_baseline_the_slowdown_is_unsupported_with_the_reason():
    cells = [Cell(BASELINE, THREADS, Work(threads_measured=2)), Cell(CLOSE, THREADS, Work())]
    _, close = with_slowdowns(cells, [benchmark(cells[0], [100.0]), benchmark(cells[1], [50.0])])
    assert found(close) == [{"unsupported": WITHOUT_BASELINE}]


def test_a_benchmark_without_a_rate_stays_as_it_is():
    cell = Cell(CLOSE, StressMode.NONE, Work())
    plain = benchmark(cell)
    assert with_slowdowns([cell], [plain]) == [plain]


def test_runs_keep_what_else_they_hold():
    cell = Cell(BASELINE, THREADS, Work())
    before = benchmark(cell, [100.0])
    (after,) = with_slowdowns([cell], [before])
    assert [run.values for run in after.get_runs()] == [run.values for run in before.get_runs()]
    assert [run.warmups for run in after.get_runs()] == [run.warmups for run in before.get_runs()]
    assert "other" in json.loads(after.get_runs()[1].get_metadata()["scopestress_metrics"])


@pytest.mark.parametrize("spin", ["python", "native"])
def test_stress_threads_of_both_kinds_have_a_rate(spin):
    cell = Cell(BASELINE, THREADS, Work(), StressOptions(threads=1, spin=spin))
    with Measurement(cell, ("bystander",)) as measurement:
        measurement.value(2_000_000)
        (rate,) = measurement.metrics(1)["bystander.rate"]["values"]
    assert rate > 0


def test_without_stress_threads_there_is_no_figure_of_them():
    with Measurement(Cell(BASELINE, StressMode.NONE, Work()), ("bystander", "gc")) as measurement:
        measurement.value(1)
        assert "bystander.rate" not in measurement.metrics(1)


@pytest.mark.long
def test_who_keeps_the_gil_slows_the_python_threads_down():
    greedy = Row(
        "greedy", "keeps the GIL", setup="numbers = range(20_000_000)", body="sum(numbers)"
    )
    rates = {}
    for row, loops in ((BASELINE, 10_000_000), (greedy, 3)):
        with Measurement(Cell(row, THREADS, Work()), ("bystander",)) as measurement:
            measurement.value(loops)
            (rates[row.name],) = measurement.metrics(1)["bystander.rate"]["values"]
    assert slowdowns(rates["baseline"], [rates["greedy"]])[0] > 2


def test_a_run_leaves_slowdowns_in_its_file_and_table(suite, tmp_path):
    only = ("--mode", "threads", "--only", "^(baseline|confined_close)$", "-o", "a.json")
    done = suite(*only, "--threads", "1", "-p2", "-n1", "-w0", "-l100000")
    assert done.returncode == 0, done.stderr
    names = pyperf.BenchmarkSuite.load(str(tmp_path / "a.json")).get_benchmark_names()
    assert "confined_close[THREADS,threads=1]:bystander.slowdown" in names
    assert not [name for name in names if name.endswith("bystander.rate")]
    assert "confined_close:bystander.slowdown" in done.stdout
    assert "confined_close:bystander.rate" in done.stdout
