"""The suite of n arrays of n integers: what it runs, and how much memory each row makes."""

import pytest

from results.files import read
from results.words import figure
from stress.modes import StressMode
from suites.cells import Selection
from suites.multi_array_alloc import ROWS, SIZES, SUITE
from suites.rows import compile_loop
from tests.suites.conftest import Program

FEW = ("--mode", "none", "-p", "1", "-n", "1", "-w", "0", "--loops", "2")
SIZE = 32


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return Program(tmp_path_factory.mktemp("run"), "multi_array_alloc")


@pytest.fixture(scope="module")
def rows(program):
    done = program(*FEW, "--size", str(SIZE), "-o", "a.json")
    assert done.returncode == 0, done.stderr
    return {row.operation: row for row in read(program.folder / "a.json").rows}


def test_sizes_are_the_powers_of_two_up_to_1024(program):
    listed = program("--list", "--mode", "none", "--only", "numpy_rows").stdout
    assert [line.split()[0] for line in listed.splitlines()] == [
        f"numpy_rows[NONE,size={size}]" if size != 1024 else "numpy_rows[NONE]" for size in SIZES
    ]
    assert SIZES == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def test_sizes_are_counts_and_written_as_plain_numbers(program):
    listed = program("--list", "--mode", "none", "--only", "^bytearrays", "--size", "2048").stdout
    assert listed.startswith("bytearrays[NONE,size=2048] ")


def test_a_row_is_measured_for_each_kind_of_array(rows):
    assert list(rows) == [row.name for row in ROWS]


@pytest.mark.parametrize("name", ["scope_segments", "segment_parts", "scope_zeros"])
def test_a_structure_in_a_scope_has_four_bytes_for_each_integer(rows, name):
    assert figure(rows[name], "native.peak") == 4 * SIZE * SIZE


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_each_row_runs_at_the_smallest_and_the_largest_size(row):
    cells = Selection(modes=(StressMode.NONE,), values={"size": (1, 1024)}).cells(SUITE)
    for cell in cells:
        if cell.row is row:
            compile_loop(cell.row, cell.work)(range(2))
