"""stress._probe.read_held and write_held, the calls on /proc that keep the GIL."""

import re

import pytest

from stress._probe import read_held, write_held


def test_a_file_is_read_whole(tmp_path):
    (tmp_path / "file").write_bytes(b"Name:\tpython\n")
    assert read_held(str(tmp_path / "file")) == b"Name:\tpython\n"


def test_a_file_of_proc_which_has_no_size_is_read():
    assert read_held("/proc/self/status").startswith(b"Name:")


def test_of_a_long_file_the_first_16_kib_are_read(tmp_path):
    (tmp_path / "file").write_bytes(b"a" * 20_000)
    assert read_held(str(tmp_path / "file")) == b"a" * 16384


def test_bytes_are_written(tmp_path):
    file = tmp_path / "file"
    file.touch()
    write_held(str(file), b"5")
    assert file.read_bytes() == b"5"


@pytest.mark.parametrize("call", [read_held, lambda path: write_held(path, b"5")])
def test_a_file_that_cannot_be_opened_is_named(call, tmp_path):
    missing = str(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match=re.escape(missing)):
        call(missing)


def test_a_file_that_refuses_what_is_written_is_named():
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_held("/dev/full", b"5")


def test_a_directory_cannot_be_read(tmp_path):
    with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
        read_held(str(tmp_path))


@pytest.mark.parametrize("call", [read_held, lambda path: write_held(path, b"5")])
def test_a_path_that_is_no_text_is_refused(call):
    with pytest.raises(TypeError, match="must be str, not int"):
        call(5)


@pytest.mark.parametrize("call", [read_held, lambda path: write_held(path, b"5")])
def test_a_path_with_a_null_is_refused(call):
    with pytest.raises(ValueError, match="embedded null character"):
        call("/proc/self/status\0")
