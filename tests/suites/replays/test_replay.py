"""The suite from end to end: recordings replayed as a user does."""

import json
import re

import numpy as np
import pytest

pytest.importorskip("stress._native")

from results.files import read
from results.replays import DRIVER
from results.words import figure, words
from suites.recordings.loader import load
from suites.recordings.packed import pack
from suites.recordings.synthetic import Hot, ScopeLives
from suites.recordings.writer import write_json
from tests.suites.conftest import Program

FEW = ("-p", "1", "-n", "1", "-w", "0", "--loops", "1")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    Hot(8_000, live=3_000, threads=3, crossing=0.1, regrown=0.1).write(folder / "hot")
    ScopeLives(300, threads=2, step_ns=1_000).write(folder / "lives")
    pack(load(folder / "hot"), folder / "packed.tar.xz")
    return Program(folder, "replay")


@pytest.fixture(scope="module")
def rows(program):
    done = program("hot", "lives", *FEW, "-o", "a.json")
    assert done.returncode == 0, done.stderr
    return {row.name: row for row in read(program.folder / "a.json").rows}, done.stdout


def test_each_recording_is_replayed_against_all_that_fits_it(rows):
    found, _ = rows
    heaps = ("baseline", "malloc", "mmap", "arena", "pymalloc")
    kinds = ("recorded", "confined", "shared", "implicit", "implicit+budget")
    expected = [f"{row}[NONE,recording=hot]" for row in heaps]
    expected += [f"{row}[NONE,recording=lives]" for row in heaps + kinds]
    assert sorted(found) == sorted(expected)


def test_an_operation_of_the_recording_is_an_operation_of_the_score(rows, program):
    found, _ = rows
    malloc, count = (
        found["malloc[NONE,recording=hot]"],
        len(load(program.folder / "hot").operations),
    )
    assert malloc.inner_loops == malloc.metadata["scopestress_recording_operations"] == count


def test_the_memory_at_the_peak_and_the_share_of_the_replay_stand_beside_the_score(rows):
    malloc = rows[0]["malloc[NONE,recording=hot]"]
    live = malloc.figures("mapped.peak").values[0] / (1 + figure(malloc, "mapped.overhead"))
    # Random sizes of 3,000 objects, of which some are twice as large for a moment.
    assert 1 << 20 < live < 4 << 20
    assert 0 <= figure(malloc, "fragmentation.share") < 1
    assert figure(malloc, DRIVER) > 0


def test_what_is_too_small_at_its_peak_has_no_overhead(rows):
    metric = rows[0]["malloc[NONE,recording=lives]"].figures("mapped.overhead")
    assert metric.unsupported is None
    assert metric.values == ()


def test_the_total_time_and_the_number_of_samples_are_printed(rows):
    found, text = rows
    malloc = found["malloc[NONE,recording=hot]"]
    total_ns = round(1e9 * malloc.values[0][0] * malloc.inner_loops)
    (printed,) = re.findall(
        r"^malloc\[NONE,recording=hot\]: ([\d,]+) ns in all, 1 sample$", text, re.M
    )
    assert abs(int(printed.replace(",", "")) - total_ns) <= 1


def test_a_share_of_the_replay_above_a_fifth_is_a_finding(rows, program):
    results = read(program.folder / "a.json")
    over = [row for row in results.rows if (figure(row, DRIVER) or 0) > 0.2]
    found = [line for line in words(results) if "The replay itself takes" in line]
    assert len(found) == bool(over)


def test_cores_threads_and_stress_are_as_in_every_suite(program):
    options = ("--heap-objects", "1000", "--threads", "1", "--debug-single-value")
    done = program("lives", "--kind", "confined", *options, "--mode", "MEMORY", "--mode", "THREADS")
    assert done.returncode == 0, done.stderr
    assert "THREADS" in done.stdout
    assert "MEMORY" in done.stdout


@pytest.mark.parametrize(
    "options",
    [
        ("hot", "--target", "malloc", "--replay-threads", "merged"),
        ("packed.tar.xz", "--target", "malloc", "--touch", "all"),
        ("hot", "--target", "arena", "--param", "scope-by=thread,window,none", "--window", "10"),
        ("lives", "--target", "arena", "--kind", "confined", "--think", "recorded"),
        ("hot", "--target", "malloc", "--sample"),
        ("lives", "--kind", "shared", "--sample", "--touch", "first"),
        ("hot", "--target", "pymalloc", "--under", "tracemalloc"),
        ("lives", "--kind", "confined", "--under", "listener"),
        ("lives", "--kind", "implicit", "--under", "debug"),
        ("lives", "--kind", "confined", "--param", "under=none,events,alloc-probe"),
    ],
    ids=" ".join,
)
def test_options_are_measured_and_stand_in_the_name(program, options, tmp_path):
    listed = program(*options, "--list")
    assert listed.returncode == 0, listed.stderr
    done = program(*options, *FEW, "-o", str(tmp_path / "a.json"))
    assert done.returncode == 0, done.stderr
    for line in listed.stdout.splitlines():
        assert f"{line.split()[0]}: " in done.stdout


def test_rows_that_a_watcher_can_not_see_are_left_out(program):
    listed = program("lives", "--list", "--under", "events").stdout
    assert {line.split("[")[0] for line in listed.splitlines() if "under=events" in line} == {
        *("recorded", "confined", "shared", "implicit", "implicit+budget")
    }
    assert "pymalloc" not in listed


def test_a_tracker_is_a_before_and_an_after(program):
    for name, under in (("before.json", "none"), ("after.json", "tracemalloc")):
        options = ("hot", "--target", "pymalloc", "--under", under, *FEW)
        done = program(*options, "-p", "3", "-o", name)
        assert done.returncode == 0, done.stderr
    before, after = (read(program.folder / name).rows[0] for name in ("before.json", "after.json"))
    assert np.mean(after.values) > np.mean(before.values)
    compared = Program.__call__(
        _Results(program.folder), "compare", "before.json", "after.json", "--across", "under"
    )
    assert compared.returncode == 0, compared.stderr
    assert re.search(r"pymalloc +\d+\.\d+ +\d+\.\d+", compared.stdout)


class _Results(Program):
    def _with(self, call, arguments, variables, **options):
        import subprocess
        import sys

        command = [sys.executable, "-m", "results", *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)


# ---- --check -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [(), ("--replay-threads", "merged"), ("--param", "scope-by=thread,window,none")]
)
def test_check_finds_what_was_recorded(program, options):
    done = program("hot", "lives", "--check", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) >= 13
    assert all(line.endswith(": holds what was recorded") for line in lines)


def test_check_runs_with_the_allocator_that_is_asked_for(program):
    done = program("lives", "--check", "--kind", "confined", "--allocator", "malloc")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "confined[NONE,allocator=malloc,recording=lives]: holds what was recorded\n"
    )


def test_an_end_that_is_not_what_was_recorded_is_told(program):
    Hot(500, live=50).write(program.folder / "wrong")
    info = json.loads((program.folder / "wrong" / "info.json").read_text())
    info["end"]["live_bytes"] += 1
    write_json(program.folder / "wrong" / "info.json", info)
    done = program("wrong", "--check")
    assert done.returncode == 2
    said = info["end"]
    assert f"expected {said['live_objects']} objects of {said['live_bytes']} bytes" in done.stderr


# ---- bad input -----------------------------------------------------------------------------------


def test_a_recording_that_can_not_be_is_refused(program):
    Hot(500, live=50).write(program.folder / "impossible")
    path = program.folder / "impossible" / "operations.npy"
    operations = np.load(path)
    operations["object"][7] = 3
    np.save(path, operations)
    done = program("impossible", *FEW, "--target", "malloc")
    assert done.returncode == 1
    assert "operation 7 allocates an object that exists already" in done.stderr
    assert "nothing was written" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "expected a recording first"),
        (("--list",), "expected a recording first"),
        (("nowhere",), "nowhere: expected the folder of a recording, found no folder"),
        (("nowhere.tar.xz",), "nowhere.tar.xz: expected a recording, found no such file"),
        (("hot", "--target", "glibc"), "expected one of malloc, mmap, arena, pymalloc"),
        (("hot", "--kind", "confined"), "nothing matches"),
        (("a,b",), "expected a recording whose name has no space"),
        (("hot", "./hot"), "two that are called hot"),
        (("hot", "--think", "always"), "expected one of none, recorded"),
        (("hot", "--scope-by", "size"), "scope-by"),
        (("hot", "--param", "recording=lives"), "says what stands before the options"),
    ],
)
def test_bad_input_is_named(program, arguments, message):
    done = program(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_help_needs_no_recording(program):
    done = program("--help")
    assert done.returncode == 0
    assert "--scope-by WHAT" in done.stdout
