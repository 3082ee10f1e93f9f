"""memray's records as events: by a reader that gives what a test tells it to."""

from collections import namedtuple
from enum import IntEnum
from types import SimpleNamespace

import pytest

from suites.recordings import memray_capture
from suites.recordings.format import Allocator, Operation, RecordingError
from suites.recordings.memray_capture import Capture

AllocatorType = IntEnum(
    "AllocatorType",
    "PYMALLOC_FREE PYMALLOC_MALLOC PYMALLOC_CALLOC PYMALLOC_REALLOC FREE MALLOC REALLOC CALLOC "
    "POSIX_MEMALIGN ALIGNED_ALLOC MEMALIGN VALLOC PVALLOC MMAP MUNMAP",
)
Record = namedtuple("Record", "tid address size allocator thread_name", defaults=[""])
T = AllocatorType
MAIN, WATCH, WORKER = 1, 2, 3


class Reader:
    metadata = SimpleNamespace(
        main_thread_id=MAIN, python_allocator="pymalloc", trace_python_allocators=True
    )

    def __init__(self, records):
        self._records = records

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def get_allocation_records(self):
        return iter(self._records)


@pytest.fixture
def capture(monkeypatch, tmp_path):
    """A Capture of the given records, behind those that the recorder itself always makes."""

    def make(*records):
        start = [Record(MAIN, 1, 8, T.MALLOC), Record(WATCH, 2, 1000, T.MALLOC)]
        reader = Reader([*start, *records])
        found = SimpleNamespace(FileReader=lambda path: reader, AllocatorType=AllocatorType)
        monkeypatch.setattr(memray_capture, "memray", lambda: found)
        return Capture(tmp_path / "capture")

    return make


@pytest.fixture
def events(capture):
    """What records become, as (operation, object, other, size, kind), without the first of them."""

    def run(*records):
        fields = ["operation", "object", "other", "size", "kind"]
        found = [row for block in capture(*records).blocks() for row in block[fields].tolist()]
        assert found[0] == (Operation.ALLOCATE, 1, 0, 8, Allocator.MALLOC)
        return found[1:]

    return run


A, F, R = Operation.ALLOCATE, Operation.FREE, Operation.REALLOCATE
MALLOC, CALLOC, ALIGNED = Allocator.MALLOC, Allocator.CALLOC, Allocator.ALIGNED
MMAP, PYTHON = Allocator.MMAP, Allocator.PYTHON


@pytest.mark.parametrize(
    ("allocator", "kind"),
    [
        (T.MALLOC, MALLOC),
        (T.CALLOC, CALLOC),
        (T.POSIX_MEMALIGN, ALIGNED),
        (T.ALIGNED_ALLOC, ALIGNED),
        (T.MEMALIGN, ALIGNED),
        (T.VALLOC, ALIGNED),
        (T.PVALLOC, ALIGNED),
        (T.PYMALLOC_MALLOC, PYTHON),
        (T.PYMALLOC_CALLOC, PYTHON),
        (T.MMAP, MMAP),
    ],
)
def test_each_way_to_allocate_has_its_kind(events, allocator, kind):
    assert events(Record(MAIN, 10, 5, allocator)) == [(A, 10, 0, 5, kind)]


@pytest.mark.parametrize(
    ("free", "again", "kind"),
    [(T.FREE, T.REALLOC, MALLOC), (T.PYMALLOC_FREE, T.PYMALLOC_REALLOC, PYTHON)],
)
def test_a_free_and_a_reallocation_at_once_are_joined(events, free, again, kind):
    found = events(Record(MAIN, 10, 0, free), Record(MAIN, 20, 50, again))
    assert found == [(R, 10, 20, 50, kind)]


def test_a_free_by_another_thread_is_none_of_its_halves(events):
    found = events(Record(WORKER, 10, 0, T.FREE), Record(MAIN, 20, 50, T.REALLOC))
    assert found == [(F, 10, 0, 0, MALLOC), (A, 20, 0, 50, MALLOC)]


def test_a_free_of_another_allocator_is_none_of_its_halves(events):
    found = events(Record(MAIN, 10, 0, T.PYMALLOC_FREE), Record(MAIN, 20, 50, T.REALLOC))
    assert found == [(F, 10, 0, 0, PYTHON), (A, 20, 0, 50, MALLOC)]


def test_a_free_that_comes_last_is_not_lost(events):
    found = events(Record(MAIN, 10, 0, T.FREE), Record(MAIN, 20, 0, T.FREE))
    assert found == [(F, 10, 0, 0, MALLOC), (F, 20, 0, 0, MALLOC)]


def test_what_python_failed_to_allocate_is_none(events):
    assert events(Record(MAIN, 0, 5, T.PYMALLOC_MALLOC)) == []


def test_unmapping_all_of_a_mapping_frees_it(events):
    found = events(Record(MAIN, 4096, 5000, T.MMAP), Record(MAIN, 4096, 8192, T.MUNMAP))
    assert found == [(A, 4096, 0, 5000, MMAP), (F, 4096, 0, 0, MMAP)]


def test_unmapping_the_middle_shrinks_a_mapping_and_makes_another(events):
    found = events(Record(MAIN, 4096, 4096 * 5, T.MMAP), Record(MAIN, 4096 * 3, 4096, T.MUNMAP))
    assert found[1:] == [(R, 4096, 4096, 8192, MMAP), (A, 4096 * 4, 0, 8192, MMAP)]


def test_mapping_over_a_mapping_ends_it(events):
    found = events(Record(MAIN, 4096, 4096, T.MMAP), Record(MAIN, 4096, 8192, T.MMAP))
    assert found[1:] == [(F, 4096, 0, 0, MMAP), (A, 4096, 0, 8192, MMAP)]


def test_unmapping_what_is_older_frees_something_unknown(events):
    assert events(Record(MAIN, 4096, 4096, T.MUNMAP)) == [(F, 4096, 0, 0, MMAP)]


def test_what_the_watch_allocates_is_left_out_and_who_frees_it(events):
    found = events(
        Record(WATCH, 50, 16, T.MALLOC),
        Record(WATCH, 50, 0, T.FREE),
        Record(WATCH, 60, 16, T.MALLOC),
        Record(MAIN, 60, 0, T.FREE),
        Record(MAIN, 50, 4, T.MALLOC),
    )
    assert found == [(A, 50, 0, 4, MALLOC)]


def test_what_the_watch_frees_of_others_is_the_main_threads_doing(capture):
    found = capture(Record(WATCH, 1, 0, T.FREE))
    (block,) = found.blocks()
    assert block["operation"].tolist() == [A, F]
    assert block["thread"].tolist() == [MAIN, MAIN]
    assert found.threads() == {MAIN: {"name": "MainThread", "main": True}}


def test_threads_have_their_last_name(capture):
    found = capture(
        Record(WORKER, 10, 1, T.MALLOC, "Thread-1"), Record(WORKER, 20, 1, T.MALLOC, "worker")
    )
    list(found.blocks())
    assert found.threads()[WORKER] == {"name": "worker", "main": False}
    assert found.info() == {"python_allocator": "pymalloc", "python_allocators_traced": True}


def test_a_file_that_is_no_capture_is_refused(tmp_path):
    pytest.importorskip("memray")
    (tmp_path / "capture").write_bytes(b"no capture")
    with pytest.raises(RecordingError, match="capture: "):
        list(Capture(tmp_path / "capture").blocks())


def test_without_memray_it_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "memray", None)
    with pytest.raises(RecordingError, match=r"needs memray: pip install 'scopestress\[record\]'"):
        memray_capture.memray()
