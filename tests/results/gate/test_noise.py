import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyperf
import pytest

from results.compare.series import Series
from results.errors import ResultsError
from results.files import read
from results.gate.noise import Floor, Floors, calibrated, split_floor
from results.gate.noise_file import is_noise_file, read_floors, write_floors
from results.schema import Metric

FileOf = Callable[..., Path]
Row = Callable[..., pyperf.Benchmark]


def series(*means: float) -> Series:
    return Series(Metric("score", "s/op"), "s/op", means, 0.0)


def test_the_floor_of_a_file_is_what_its_halves_differ_by() -> None:
    # The halves 1 1 1 and 4 4 4 are 3 apart; those of six processes move by the root of 2 less.
    assert split_floor(series(1, 1, 1, 4, 4, 4)) == pytest.approx(3 / math.sqrt(2))


def test_a_drift_makes_a_higher_floor_than_the_same_values_in_turns() -> None:
    drifting, turning = split_floor(series(1, 1, 1, 4, 4, 4)), split_floor(series(1, 4, 1, 4, 1, 4))
    assert drifting is not None
    assert turning is not None
    assert drifting > 2 * turning


def test_values_that_never_vary_have_a_floor_of_zero() -> None:
    assert split_floor(series(*[2.0] * 6)) == 0.0


@pytest.mark.parametrize("count", [1, 3, 5])
def test_fewer_than_six_processes_have_no_floor(count: int) -> None:
    assert split_floor(series(*[1.0] * count)) is None


def test_more_processes_have_a_lower_floor() -> None:
    rng = random.Random(1)
    floors = {
        count: [
            split_floor(series(*(rng.gauss(1, 0.1) for _ in range(count)))) or 0 for _ in range(50)
        ]
        for count in (7, 28)
    }
    assert sum(floors[28]) < 0.8 * sum(floors[7])


def test_a_calibrated_floor_is_the_largest_difference_of_two_runs(
    file_of: FileOf, row: Row
) -> None:
    runs = [
        read(file_of(f"{n}.json", row(seconds=seconds, rss_peak=peak, gc_time=0.0)))
        for n, (seconds, peak) in enumerate([(1e-6, 5e7), (1.1e-6, 5e7), (0.9e-6, 6e7)])
    ]
    floors = calibrated(runs, ["run"], "2026-01-01")
    found = floors.floors["a[NONE]"]
    assert found["score"].absolute == pytest.approx(0.2e-6)
    assert found["score"].relative == pytest.approx(0.2)
    assert found["rss.peak"].absolute == pytest.approx(1e7)
    assert found["gc.time"] == Floor(0.0, None)
    assert (floors.runs, floors.processes) == (3, 6)
    assert floors.facts["python"] == ("CPython 3.11.7",)
    assert "probes" not in floors.facts


def test_two_runs_are_too_few_to_calibrate(file_of: FileOf, row: Row) -> None:
    runs = [read(file_of(f"{n}.json", row())) for n in range(2)]
    with pytest.raises(ResultsError, match="expected 3 runs or more, found 2"):
        calibrated(runs, [], "")


def test_runs_of_other_benchmarks_are_not_one_thing(file_of: FileOf, row: Row) -> None:
    runs = [read(file_of(f"{n}.json", row(f"{name}[NONE]"))) for n, name in enumerate("aab")]
    with pytest.raises(ResultsError, match=r"2\.json: expected the benchmarks of .*0\.json, found"):
        calibrated(runs, [], "")


FLOORS = Floors(
    5,
    6,
    ("python", "-m", "suites.scope_close"),
    "2026-01-01T12:00:00+00:00",
    {"python": ("CPython 3.11.7",), "machine": ("", "Some CPU", "2 CPUs")},
    {"a[NONE]": {"score": Floor(1e-8, 0.01), "gc.time": Floor(0.0, None)}},
)


def test_floors_come_back_from_their_file(tmp_path: Path) -> None:
    write_floors(tmp_path / "noise.json", FLOORS)
    assert read_floors(tmp_path / "noise.json") == FLOORS


def test_a_file_of_floors_is_told_from_others(tmp_path: Path, file_of: FileOf, row: Row) -> None:
    write_floors(tmp_path / "noise.json", FLOORS)
    assert is_noise_file(tmp_path / "noise.json")
    assert not is_noise_file(file_of("a.json", row()))
    assert not is_noise_file(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"scopestress_noise": 2}, "expected scopestress_noise 1, found 2"),
        ({"runs": 0}, "expected runs of 1 or more, found 0"),
        ({"processes": "6"}, "expected processes of 1 or more, found '6'"),
        ({"command": "run"}, "expected a list as 'command', found 'run'"),
        ({"facts": []}, "expected an object as 'facts', found []"),
        ({"facts": {"python": 3}}, "facts, 'python': expected a list, found 3"),
        ({"floors": {"a": []}}, "floors, 'a': expected a dict, found []"),
        ({"floors": {"a": {"score": 3}}}, "floors, 'a', 'score': expected an object, found 3"),
        (
            {"floors": {"a": {"score": {"absolute": -1, "relative": None}}}},
            "floors, 'a', 'score': expected floors of 0 or more, found",
        ),
        ({"floors": {"a": {"score": {}}}}, "floors, 'a', 'score': expected floors of 0 or more"),
    ],
)
def test_a_broken_file_of_floors_is_named_with_the_place(
    tmp_path: Path, change: dict[str, Any], expected: str
) -> None:
    path = tmp_path / "noise.json"
    write_floors(path, FLOORS)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ResultsError) as caught:
        read_floors(path)
    assert str(caught.value).startswith(f"{path}: {expected}")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": "1.0"}', '{"a": NaN}'])
def test_other_files_are_no_floors(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ResultsError, match=r"x\.json: "):
        read_floors(tmp_path / "x.json")
