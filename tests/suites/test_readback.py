"""What a process finds of the variables it was meant to get."""

import os

import pytest

from suites.readback import chosen_environ, environ_mismatch, malloc_options


@pytest.fixture(autouse=True)
def only(monkeypatch):
    """Sets variables; others that decide what is measured are gone."""
    for name in chosen_environ():
        monkeypatch.delenv(name)

    def set_variables(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return set_variables


def test_variables_that_decide_what_is_measured_are_told_from_others(only):
    only(SCOPES_DEBUG="1", PYTHONMALLOC="malloc", MALLOC_ARENA_MAX="1", EXAMPLE="1")
    assert chosen_environ() == {
        "SCOPES_DEBUG": "1",
        "PYTHONMALLOC": "malloc",
        "MALLOC_ARENA_MAX": "1",
    }
    assert malloc_options() == {"MALLOC_ARENA_MAX": "1"}


def test_what_was_meant_and_is_there_is_no_mismatch(only):
    only(SCOPES_A="1", SCOPES_A1="2", EXAMPLE="a=b c")
    assert environ_mismatch(["EXAMPLE=a=b c", "SCOPES_A=1", "SCOPES_A1=2"]) is None


def test_what_nobody_has_chosen_and_nobody_expects_does_not_matter(only):
    only(EXAMPLE="1")
    assert environ_mismatch([]) is None
    assert "EXAMPLE" in os.environ


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (["PYTHONMALLOC=malloc"], {}),
        (["EXAMPLE=1"], {"EXAMPLE": "2"}),
        ([], {"LD_PRELOAD": "libother.so"}),
    ],
    ids=["missing", "other", "unexpected"],
)
def test_a_difference_names_both_sides(only, expected, found):
    only(**found)
    there = [f"{name}={value}" for name, value in found.items()]
    assert environ_mismatch(expected) == (
        f"the environment differs: expected {expected}, found {there}"
    )
