"""The recordings in results/traces, and the programs that they were made of."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from suites.recordings.format import NONE, Operation, ScopeKind
from suites.recordings.loader import load

ROOT = Path(__file__).parents[3]
TRACES = sorted((ROOT / "results" / "traces").glob("*.tar.xz"))
NAMES = [path.name.removesuffix(".tar.xz") for path in TRACES]
PROGRAMS = sorted(path.stem for path in (ROOT / "benchmarks" / "traced").glob("*.py"))
MOST_BYTES = 2 << 20


@pytest.fixture(scope="module")
def recordings():
    return {name: load(path) for name, path in zip(NAMES, TRACES, strict=True)}


def test_there_is_one_of_each_program():
    assert NAMES == PROGRAMS
    table = (ROOT / "results" / "traces" / "README.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == NAMES


@pytest.mark.parametrize("path", TRACES, ids=NAMES)
def test_it_is_small_and_whole(path):
    assert path.stat().st_size <= MOST_BYTES
    recording = load(path)
    assert recording.info["truncated"] is None
    assert len(recording.operations) > 50_000


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_a_machine_is_in_it(recordings, name):
    info = recordings[name].info
    text = str((info, recordings[name].threads))
    assert info["command"] == [f"benchmarks/traced/{name}.py"]
    assert not re.search(r"/(home|root|tmp|usr|work|Users)\b", text)
    assert "pid" not in info


@pytest.mark.parametrize("name", NAMES)
def test_what_is_live_at_the_end_adds_up(recordings, name):
    recording = recordings[name]
    operations = recording.operations
    if recording.info["source"] == "memray":
        _, index = np.unique(operations["object"][::-1], return_index=True)
        last = operations[::-1][index]
        live = last[last["operation"] != Operation.FREE]
        found = {"live_objects": len(live), "live_bytes": live["size"].sum()}
        assert found == recording.info["end"]
    else:
        assert recording.info["end"] == {"live_objects": 0, "live_bytes": 0}


def test_threads_free_what_others_allocated(recordings):
    operations = recordings["worker_threads"].operations
    owner, crossing = {}, 0
    for kind, slot, thread in operations[["operation", "object", "thread"]].tolist():
        if kind == Operation.ALLOCATE:
            owner[slot] = thread
        elif kind == Operation.FREE:
            crossing += owner[slot] != thread
    assert crossing > 10_000


def test_the_pipeline_has_scopes_of_two_kinds_exports_and_times(recordings):
    recording = recordings["frame_pipeline"]
    operations = recording.operations
    opened = operations["kind"][operations["operation"] == Operation.OPEN]
    assert set(opened.tolist()) == {ScopeKind.CONFINED, ScopeKind.SHARED}
    assert np.count_nonzero(operations["operation"] == Operation.EXPORT) > 1_000
    assert recording.timed
    assert [thread["name"] for thread in recording.threads] == ["camera", "worker"]
    scope = operations["scope"][operations["scope"] != NONE]
    assert scope.max() < recording.scopes


@pytest.mark.parametrize("name", PROGRAMS)
def test_its_program_runs(name, monkeypatch):
    small = {"DOCUMENTS": 1, "ORDERS": 50, "FRAMES": 5, "CLIENTS": 2, "PACKETS": 20}
    module = runpy.run_path(str(ROOT / "benchmarks" / "traced" / f"{name}.py"))
    main = module["main"]
    for constant, value in small.items():
        if constant in module:
            monkeypatch.setitem(main.__globals__, constant, value)
    if "MODULES" in module:
        monkeypatch.setitem(main.__globals__, "MODULES", ("bisect",))
    if name == "asyncio_echo":
        module["asyncio"].run(main())
    else:
        main()
