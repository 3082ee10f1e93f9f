"""A recording as one small file."""

import io
import json
import lzma
import subprocess
import tarfile

import numpy as np
import pytest

from suites.recordings.format import INFO, OPERATIONS, THREADS, RecordingError
from suites.recordings.loader import load
from suites.recordings.packed import pack
from suites.recordings.synthetic import Hot, ScopeLives


@pytest.fixture
def folder(tmp_path):
    Hot(5_000, live=100, threads=2).write(tmp_path / "hot")
    return tmp_path / "hot"


@pytest.mark.parametrize(
    "recording", [Hot(3_000, live=50, threads=3), ScopeLives(100)], ids=["untimed", "timed"]
)
def test_what_was_packed_is_read_as_its_folder(tmp_path, recording):
    recording.write(tmp_path / "made")
    file = tmp_path / "made.tar.xz"
    pack(load(tmp_path / "made"), file)
    found, expected = load(file), load(tmp_path / "made")
    assert (found.operations == expected.operations).all()
    assert (found.threads, found.info) == (expected.threads, expected.info)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


def test_blocks_are_those_of_the_folder(folder, tmp_path):
    pack(load(folder), tmp_path / "hot.tar.xz")
    blocks = [block.copy() for block in load(tmp_path / "hot.tar.xz").blocks(700)]
    assert {len(block) for block in blocks[:-1]} == {700}
    assert (np.concatenate(blocks) == load(folder).operations).all()


def test_it_is_small(folder, tmp_path):
    pack(load(folder), tmp_path / "hot.tar.xz")
    assert (tmp_path / "hot.tar.xz").stat().st_size < (folder / OPERATIONS).stat().st_size / 5


def test_tar_makes_the_folder_of_it_again(folder, tmp_path):
    pack(load(folder), tmp_path / "hot.tar.xz")
    (tmp_path / "again").mkdir()
    subprocess.run(["tar", "-xJf", "../hot.tar.xz"], cwd=tmp_path / "again", check=True)
    for name in (INFO, THREADS, OPERATIONS):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_nothing_is_overwritten_and_nothing_is_packed_twice(folder, tmp_path):
    file = tmp_path / "hot.tar.xz"
    pack(load(folder), file)
    with pytest.raises(RecordingError, match=r"hot\.tar\.xz exists: expected a name"):
        pack(load(folder), file)
    with pytest.raises(RecordingError, match="it is packed already"):
        pack(load(file), tmp_path / "again.tar.xz")
    with pytest.raises(RecordingError, match=r"expected a name that ends with \.tar\.xz"):
        pack(load(folder), tmp_path / "hot.zip")
    with pytest.raises(RecordingError, match="can't be written"):
        pack(load(folder), tmp_path / "nowhere" / "hot.tar.xz")


def _with(path, **files):
    """A file as pack makes it, of these contents."""
    with lzma.open(path, "wb") as stream, tarfile.open(fileobj=stream, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name.replace("_", "."))
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"info_json": b"{}"}, "expected format 1, found None"),
        ({"info_json": b"["}, "not a packed recording, or cut off"),
        ({"operations_npy": b"x"}, "not a packed recording, or cut off"),
        ({"threads_json": None}, "expected a file threads.json in it, found none"),
    ],
)
def test_what_is_none_is_refused(folder, tmp_path, change, message):
    names = {"info_json": INFO, "threads_json": THREADS, "operations_npy": OPERATIONS}
    files = {key: (folder / name).read_bytes() for key, name in names.items()} | change
    path = _with(tmp_path / "bad.tar.xz", **{k: v for k, v in files.items() if v is not None})
    with pytest.raises(RecordingError, match=message):
        load(path)


def test_what_was_cut_off_is_refused(folder, tmp_path):
    file = tmp_path / "hot.tar.xz"
    pack(load(folder), file)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(RecordingError, match="not a packed recording, or cut off"):
        load(file)
    file.write_bytes(b"")
    with pytest.raises(RecordingError):
        load(file)


def test_the_number_of_operations_has_to_be_that_of_info(folder, tmp_path):
    info = json.loads((folder / INFO).read_text())
    info["operations"] += 1
    files = {
        "info_json": json.dumps(info).encode(),
        "threads_json": (folder / THREADS).read_bytes(),
        "operations_npy": (folder / OPERATIONS).read_bytes(),
    }
    with pytest.raises(RecordingError, match=r"expected \d+ operations, as info.json says"):
        load(_with(tmp_path / "bad.tar.xz", **files))
