"""Writing, reading and ordering recordings."""

import json

import numpy as np
import pytest

from suites.recordings.format import NONE, TIMED, UNTIMED, Operation, RecordingError
from suites.recordings.loader import load
from suites.recordings.synthetic import Hot, ScopeLives
from suites.recordings.writer import Writer, make_folder


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "recording"
    make_folder(made)
    return made


def rows(*fields, dtype=UNTIMED):
    """Operations of (operation, object, thread) or with a scope as the fourth, a sequence each."""
    block = np.zeros(len(fields), dtype)
    block["sequence"] = np.arange(len(fields))
    for row, (operation, obj, thread, *scope) in zip(block, fields, strict=True):
        row["operation"], row["object"], row["thread"] = operation, obj, thread
        row["scope"] = scope[0] if scope else NONE
    return block


def write(folder, block, **info):
    with Writer(folder, timed=block.dtype == TIMED) as writer:
        writer.append(block)
        writer.finish([{"name": "main", "main": True}], {"objects": 1, "scopes": 0} | info)


@pytest.mark.parametrize("dtype", [UNTIMED, TIMED], ids=["untimed", "timed"])
def test_what_was_written_is_read(folder, dtype):
    block = rows((Operation.ALLOCATE, 0, 0), (Operation.FREE, 0, 0), dtype=dtype)
    write(folder, block, source="csv")
    recording = load(folder)
    assert recording.operations.tolist() == block.tolist()
    assert (recording.timed, recording.objects) == (dtype == TIMED, 1)
    assert recording.threads == ({"name": "main", "main": True},)
    assert (recording.info["source"], recording.info["operations"]) == ("csv", 2)


def test_blocks_are_the_operations_in_turn(folder):
    block = rows(*[(Operation.ALLOCATE, 0, 0), (Operation.FREE, 0, 0)] * 5)
    write(folder, block)
    blocks = [block.copy() for block in load(folder).blocks(4)]
    assert [len(found) for found in blocks] == [4, 4, 2]
    assert np.concatenate(blocks).tolist() == block.tolist()


def test_the_documentation_names_the_fields_and_operations(pytestconfig):
    text = (pytestconfig.rootpath / "docs" / "recording.md").read_text()
    for name in TIMED.names:
        kind = TIMED.fields[name][0].str.lstrip("<|")
        assert f"| `{name}` | {kind} |" in text
    for operation in Operation:
        assert f"| {operation.value} | `{operation.name.lower()}` |" in text


def test_a_folder_that_exists_is_refused(folder):
    with pytest.raises(RecordingError, match=r"exists: expected a name for a new folder"):
        make_folder(folder)


def test_a_writer_that_fails_leaves_no_file(folder):
    with Writer(folder, timed=False) as writer, pytest.raises(TypeError):
        writer.append(rows((Operation.ALLOCATE, 0, 0), dtype=TIMED))
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("info.json", None, "expected a file info.json, found none"),
        ("info.json", "{", "Expecting property name"),
        ("info.json", "[]", "expected a dict, found list"),
        ("info.json", '{"format": 2}', "expected format 1, found 2"),
        ("threads.json", None, "expected a file threads.json, found none"),
        ("operations.npy", None, "expected a file operations.npy, found none"),
        ("operations.npy", "no array", "npy"),
    ],
)
def test_a_recording_that_can_not_be_trusted_is_refused(folder, name, content, message):
    write(folder, rows((Operation.ALLOCATE, 0, 0)))
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content)
    with pytest.raises(RecordingError, match=message):
        load(folder)


def test_an_array_of_something_else_is_refused(folder):
    write(folder, rows((Operation.ALLOCATE, 0, 0)))
    np.save(folder / "operations.npy", np.arange(3))
    with pytest.raises(RecordingError, match=r"expected a list of operations .* int64"):
        load(folder)


def test_operations_that_are_missing_are_noticed(folder):
    write(folder, rows((Operation.ALLOCATE, 0, 0)))
    info = json.loads((folder / "info.json").read_text())
    (folder / "info.json").write_text(json.dumps(info | {"operations": 7}))
    with pytest.raises(RecordingError, match=r"expected 7 operations, .*, found 1"):
        load(folder)


# ---- synthetic -----------------------------------------------------------------------------------


def test_a_hot_recording_is_consistent_to_its_end(tmp_path):
    Hot(5000, live=100, threads=3, crossing=0.2, regrown=0.2).write(tmp_path / "hot")
    recording = load(tmp_path / "hot")
    live = {}
    for sequence, row in enumerate(recording.operations):
        assert row["sequence"] == sequence
        if row["operation"] == Operation.FREE:
            assert live.pop(int(row["object"])) == row["size"]
        else:
            known = int(row["object"]) in live
            assert known == (row["operation"] == Operation.REALLOCATE)
            live[int(row["object"])] = int(row["size"])
    assert max(live) < recording.objects
    assert recording.info["end"] == {"live_objects": len(live), "live_bytes": sum(live.values())}
    assert len(np.unique(recording.operations["thread"])) == len(recording.threads)


def test_scope_lives_keep_to_slots_of_their_thread(tmp_path):
    ScopeLives(10, segments=2, threads=3).write(tmp_path / "lives")
    recording = load(tmp_path / "lives")
    assert (recording.objects, recording.scopes, recording.timed) == (6, 3, True)
    opened = recording.operations["operation"] == Operation.OPEN
    assert np.count_nonzero(opened) == 10
    for slot in ("object", "scope"):
        used = recording.operations[recording.operations[slot] != NONE]
        pairs = np.unique(used[[slot, "thread"]])
        assert len(pairs) == len(np.unique(used[slot]))
