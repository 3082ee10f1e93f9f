"""The programs of hammer/, each in a child: for a moment here, and for long behind the marker.

SCOPES_SEED, SCOPES_FUZZ_SECONDS, SCOPES_RACE_SECONDS and SCOPES_SOAK_SECONDS set what the long ones
run with. Each prints its seed, and what it did at the end.
"""

import json
import os
import random
from types import SimpleNamespace

import public_api
import pytest
from hostile import NULL_DEVICE, Arguments

SEED = int(os.environ.get("SCOPES_SEED", "1"))

#: What the others print in the end.
NOTHING = "at the end 0 live bytes, 0 open scopes"
#: What no arguments get through to, or hardly any, or none where there is no cffi.
REFUSED = {"Scope", "Segment", "__delitem__", "__lt__", "__le__", "__gt__", "__ge__"}
REFUSED |= {"__release_buffer__", "cdata"}


def seconds(name, default):
    return float(os.environ.get(f"SCOPES_{name}_SECONDS", default))


def show(capsys, text):
    """Shows the counts of a long run, which are quoted."""
    with capsys.disabled():
        print(f"\n{text}")


def by_last_part(counts):
    """The counts of Class.name added up over the classes."""
    sums = {}
    for name, count in counts.items():
        last = name.split(".")[-1]
        sums[last] = {key: sums.get(last, {}).get(key, 0) + n for key, n in count.items()}
    return sums


def test_hostile_arguments_get_documented_exceptions_from_every_public_name(program):
    counts = json.loads(program("fuzz.py", calls=3000, seed=SEED).splitlines()[-1])
    assert set(counts) == public_api.names()
    assert [name for name, count in counts.items() if not count["called"]] == []
    refused = {name for name, count in by_last_part(counts).items() if not count["returned"]}
    assert refused <= REFUSED


def test_events_of_the_fuzzer_go_to_no_file_but_the_null_device():
    harmless = SimpleNamespace(rng=random.Random(SEED), mischief=lambda: None)
    found = [Arguments(harmless).descriptor() for _ in range(2000)]
    numbers = {file for file in found if isinstance(file, int)}
    assert NULL_DEVICE in numbers
    assert {file for file in numbers if 0 <= file < 2**31} == {NULL_DEVICE}


@pytest.mark.long
def test_hostile_arguments_for_a_minute(program, capsys):
    counts = json.loads(program("fuzz.py", seconds=seconds("FUZZ", 60), seed=SEED).splitlines()[-1])
    sums = {key: sum(count[key] for count in counts.values()) for key in counts["trim"]}
    show(capsys, f"fuzz, seed {SEED}: {len(counts)} names {sums}")
    assert sums["returned"] > 0


@pytest.mark.parametrize(("name", "rounds"), [("race.py", 100), ("soak.py", 2)])
def test_threads_leave_nothing_behind(program, name, rounds):
    assert NOTHING in program(name, rounds=rounds, seed=SEED)


@pytest.mark.long
@pytest.mark.parametrize(("name", "usual"), [("race.py", 60), ("soak.py", 600)])
def test_threads_that_go_on_for_long_leave_nothing_behind(program, capsys, name, usual):
    said = program(name, seconds=seconds(name.removesuffix(".py").upper(), usual), seed=SEED)
    show(capsys, said)
    assert NOTHING in said
