"""What recorders leave becomes a recording, whatever became of the recorded process."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import scopes
from scopes import _core
from suites.recordings.finish import finish
from suites.recordings.format import EVENT, NothingRecordedError, Operation, RecordingError
from suites.recordings.loader import load
from suites.recordings.raw import Raw

needs_events = pytest.mark.skipif(
    not hasattr(_core, "start_events"), reason="a build without events"
)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "recording"


def names(recording):
    return [Operation(number).name for number in recording.operations["operation"]]


@pytest.fixture
def left(folder):
    """A folder as the scopes' recorder leaves it, with these sequence numbers in the raw file."""

    def make(sequence, **info):
        folder.mkdir()
        events = np.zeros(len(sequence), EVENT)
        events["sequence"] = sequence
        events["time_ns"] = 10 * events["sequence"]
        events["operation"] = Operation.ALLOCATE
        events["object"] = 100 + events["sequence"]
        events["thread"] = events["sequence"] % 2 + 5
        events.tofile(folder / "operations.raw")
        known = {"format": 1, "source": "scopes", "stopped": True, "truncated": None}
        (folder / "info.json").write_text(json.dumps(known | info))
        (folder / "threads.json").write_text('[{"id": 6, "name": "six", "main": true}]')
        return folder

    return make


# ---- scopes --------------------------------------------------------------------------------------


@needs_events
def test_a_recording_of_scopes_is_finished_when_it_is_loaded(folder):
    with scopes.record(folder), scopes.ConfinedScope() as scope:
        part = scope.allocate(100)[10:20]
        bytes(part)
    del scope, part
    recording = load(folder)
    assert names(recording)[:5] == ["OPEN", "ALLOCATE", "EXPORT", "UNEXPORT", "CLOSE"]
    assert recording.operations["size"].tolist()[:5] == [0, 100, 10, 10, 100]
    assert recording.operations["kind"].tolist()[:2] == [1, 6]
    assert (recording.timed, recording.objects, recording.scopes) == (True, 1, 1)
    assert recording.threads == ({"name": "MainThread", "main": True},)
    assert recording.info["truncated"] is None
    assert sorted(p.name for p in folder.iterdir()) == [
        "info.json",
        "operations.npy",
        "threads.json",
    ]
    assert load(folder).operations.tolist() == recording.operations.tolist()


@needs_events
def test_what_was_opened_before_is_part_of_it(folder):
    scope = scopes.SharedScope()
    older = scope.allocate(10)
    with scopes.record(folder):
        segment = scope.allocate(20)
        memoryview(older).release()
        scope.close()
    del segment, older
    recording = load(folder)
    assert names(recording) == ["OPEN", "ALLOCATE", "CLOSE"]
    assert recording.info["preexisting"] == {"export": 1, "unexport": 1}
    assert recording.info["invalid"] == {}


@needs_events
def test_a_recording_that_goes_on_is_refused(folder):
    with scopes.record(folder):
        scopes.ConfinedScope().close()
        with pytest.raises(RecordingError, match="still being recorded"):
            load(folder)
        scopes.ConfinedScope().close()
    assert names(load(folder)) == ["OPEN", "CLOSE", "DROP_SCOPE"] * 2


def test_a_recording_that_goes_on_in_another_process_is_refused(left):
    folder = left([0, 1], stopped=False)
    code = """
        import fcntl, sys
        file = open(sys.argv[1], "r+b")
        fcntl.lockf(file, fcntl.LOCK_EX)
        print("locked", flush=True)
        sys.stdin.read()
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), folder / "operations.raw"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(RecordingError, match="still being recorded"):
            load(folder)
        process.stdin.close()
    assert len(load(folder).operations) == 2


@needs_events
def test_a_killed_process_leaves_a_truncated_recording(folder):
    code = """
        import os, signal, sys, scopes
        with scopes.record(sys.argv[1]):
            for _ in range(1000):
                scopes.ConfinedScope().close()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), folder], check=False)
    assert done.returncode == -signal.SIGKILL
    recording = load(folder)
    assert recording.info["truncated"] == "the process was ended while it was recorded"
    assert names(recording) == (["OPEN", "CLOSE", "DROP_SCOPE"] * 1000)[: len(names(recording))]
    assert len(names(recording)) > 1500


def test_threads_in_turn_are_put_in_order(left):
    recording = load(left([1, 3, 5, 0, 2, 4]))
    assert recording.operations["time_ns"].tolist() == [0, 10, 20, 30, 40, 50]
    assert recording.operations["object"].tolist() == [0, 1, 2, 3, 4, 5]
    assert recording.operations["thread"].tolist() == [0, 1, 0, 1, 0, 1]
    assert recording.threads == ({"name": "", "main": False}, {"name": "six", "main": True})


def test_what_comes_after_a_gap_is_left_out(left):
    recording = load(left([5, 0, 1, 2, 4], stopped=False))
    assert recording.operations["sequence"].tolist() == [0, 1, 2]
    assert recording.info["truncated"] is not None


def test_a_torn_event_at_the_end_is_left_out(left):
    folder = left([0, 1, 2])
    with (folder / "operations.raw").open("r+b") as file:
        file.truncate(2 * EVENT.itemsize + 7)
    assert len(load(folder).operations) == 2


@pytest.mark.parametrize("block", [1, 2, 100])
def test_blocks_of_any_size_give_the_same(left, block, monkeypatch):
    monkeypatch.setattr("suites.recordings.raw.BLOCK", block)
    raw = Raw(left([2, 0, 3, 1]) / "operations.raw")
    sequence = [int(number) for events in raw.blocks() for number in events["sequence"]]
    assert sequence == [0, 1, 2, 3]


def test_bounds_truncate_and_say_so(left):
    recording = load(left(range(10), max_operations=4))
    assert len(recording.operations) == 4
    assert recording.info["truncated"] == "max_operations=4 was reached"
    assert recording.info["end"]["live_objects"] == 4


def test_a_bound_of_bytes_is_of_what_is_written(left):
    recording = load(left(range(10), max_bytes=100))
    assert recording.operations.nbytes == 80
    assert recording.info["truncated"] == "max_bytes=100 was reached"


def test_nothing_recorded_is_an_error(left):
    with pytest.raises(NothingRecordedError, match="nothing was recorded"):
        load(left([]))


def test_a_folder_without_a_recorders_file_has_nothing_to_finish(tmp_path):
    with pytest.raises(NothingRecordedError, match=r"found no operations\.raw"):
        finish(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only_says_what_can_not_be_done(left):
    folder = left([0])
    folder.chmod(0o500)
    with pytest.raises(RecordingError, match="made a recording when it is read first"):
        load(folder)


def test_what_fails_in_between_leaves_the_raw_file(left, monkeypatch):
    folder = left([0, 1])
    monkeypatch.setattr("suites.recordings.writer.os.fsync", _no_space)
    with pytest.raises(RecordingError, match="No space left"):
        load(folder)
    monkeypatch.undo()
    assert not (folder / "operations.npy").exists()
    assert len(load(folder).operations) == 2


def _no_space(fd):
    raise OSError(28, "No space left on device")


def test_a_lock_is_given_back(left):
    folder = left([0, 1])
    load(folder)
    with (folder / "operations.npy").open("r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@needs_events
def test_threads_of_scopes_keep_their_names(folder):
    def work():
        scopes.ConfinedScope().close()

    with scopes.record(folder):
        work()
        thread = threading.Thread(target=work, name="helper")
        thread.start()
        thread.join()
    recording = load(folder)
    assert [thread["name"] for thread in recording.threads] == ["MainThread", "helper"]
    assert recording.operations["thread"].tolist() == [0, 0, 0, 1, 1, 1]
