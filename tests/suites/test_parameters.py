"""`--param NAME=VALUE,VALUE`: what it means, and what it says about anything else."""

import pytest

from stress.modes import StressMode, StressOptions
from suites.allocators import Allocator
from suites.cells import Cell
from suites.parameters import PARAMETERS, Sweep, swept
from suites.rows import Row, Work

CELL = Cell(Row("a", "nothing", body="pass"), StressMode.NONE, Work())


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("size=1KiB,1MiB", (1024, 1 << 20)),
        ("touch=all", ("all",)),
        ("collect-every=64,256", (64, 256)),
        ("threads=2,4", (2, 4)),
        ("threads-measured=1,2", (1, 2)),
        ("scope=own,shared", ("own", "shared")),
        ("heap-kind=bytes", ("bytes",)),
        ("spin=python,native", ("python", "native")),
        ("allocator=default,malloc", (Allocator(), Allocator.parse("malloc"))),
    ],
)
def test_values_are_separated_by_commas(text, values):
    assert Sweep.parse(text).values == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size", "expected NAME=VALUE or NAME=VALUE,VALUE..., found 'size'"),
        ("colour=red", f"expected one of {', '.join(PARAMETERS)} before the =, found 'colour'"),
        (
            "size=",
            "size: expected a size in bytes, plain or in KiB, MiB, GiB, TiB (64KiB), found ''",
        ),
        ("threads=1,two", "threads: expected a whole number of at least 1, found 'two'"),
        ("touch=all,,none", "touch: expected one of none, first, all; found ''"),
    ],
)
def test_bad_input_says_what_was_expected_and_what_was_found(text, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        Sweep.parse(text)
    assert str(caught.value) == message


def test_a_sweep_is_written_as_it_was_read():
    assert str(Sweep.parse("size=1024,1MiB")) == "size=1024,1MiB"


def test_repeated_sweeps_of_a_parameter_add_up():
    sweeps = [Sweep.parse(text) for text in ("size=1", "touch=all", "size=2,3")]
    assert swept(sweeps, PARAMETERS["size"]) == [1, 2, 3]


@pytest.mark.parametrize(
    "parameter", [p for p in PARAMETERS.values() if p.has_option], ids=lambda p: p.name
)
def test_every_parameter_can_be_read_off_a_cell_and_written_in_its_name(parameter):
    value = parameter.of(CELL)
    assert parameter.parse(parameter.format(value)) == value


def test_every_stress_option_is_a_parameter():
    names = {p.attribute for p in PARAMETERS.values() if p.part == "stress"}
    assert names == set(StressOptions.__dataclass_fields__)


def test_every_part_of_the_work_is_a_parameter():
    names = {p.attribute for p in PARAMETERS.values() if p.part == "work"}
    assert names == set(Work.__dataclass_fields__)
