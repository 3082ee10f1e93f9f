"""Importing a table of events."""

import pytest

from suites.recordings.finish import write
from suites.recordings.format import Allocator, Operation, RecordingError, ScopeKind
from suites.recordings.loader import load
from suites.recordings.table import COLUMNS, Table
from suites.recordings.writer import make_folder


@pytest.fixture
def imported(tmp_path):
    """The recording that is made of the text."""

    def run(text):
        (tmp_path / "table.csv").write_text(text)
        make_folder(tmp_path / "recording")
        write(tmp_path / "recording", Table(tmp_path / "table.csv"), {"format": 1, "source": "csv"})
        return load(tmp_path / "recording")

    return run


def test_a_table_becomes_a_recording(imported):
    recording = imported(
        "operation,object,size,thread,kind,align,becomes\n"
        "allocate,0x10,100,main,malloc,64,\n"
        "reallocate,0x10,200,worker,malloc,,0x20\n"
        "allocate,0x10,7,main,calloc,,\n"
        "free,0x20,,main,,,\n"
    )
    rows = recording.operations[["operation", "object", "size", "thread", "kind", "align"]]
    assert rows.tolist() == [
        (Operation.ALLOCATE, 0, 100, 0, Allocator.MALLOC, 6),
        (Operation.REALLOCATE, 0, 200, 1, Allocator.MALLOC, 0),
        (Operation.ALLOCATE, 1, 7, 0, Allocator.CALLOC, 0),
        (Operation.FREE, 0, 200, 0, 0, 0),
    ]
    assert not recording.timed
    assert recording.threads == (
        {"name": "main", "main": True},
        {"name": "worker", "main": False},
    )
    assert recording.info["end"] == {"live_objects": 1, "live_bytes": 7}


def test_scopes_and_times_can_be_imported(imported):
    recording = imported(
        "time_ns,operation,scope,object,of,size,kind\n"
        "10,open,s,,,,shared\n"
        "20,allocate,s,a,,100,scope\n"
        "30,part,,p,a,50,\n"
        "40,drop,,a,,,\n"
        "50,close,s,,,,finalizer\n"
        "60,drop,,p,,,\n"
        "70,drop_scope,s,,,,\n"
    )
    assert recording.timed
    assert recording.operations["time_ns"].tolist() == [10, 20, 50, 60, 70]
    assert recording.operations["kind"].tolist() == [ScopeKind.SHARED, Allocator.SCOPE, 1, 0, 0]
    assert recording.operations["size"].tolist() == [0, 100, 100, 100, 0]


def test_a_size_that_stays_where_it_is_needs_no_new_address(imported):
    recording = imported("operation,object,size\nallocate,a,1\nreallocate,a,2\nfree,a,\n")
    assert recording.operations["size"].tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"line 1: expected the names of the columns, operation among them; found \[\]"),
        ("object,size\n", r"line 1: .* operation among them; found \['object', 'size'\]"),
        ("operation,adress\n", r"line 1: expected columns of operation, .*; found 'adress'"),
        ("operation,object\nmalloc,1\n", r"line 2: expected as operation one of .*'malloc'"),
        ("operation,object\nallocate,1\n", r"line 2: expected a size of allocate, found none"),
        ("operation,object,size\nallocate,1,-1\n", r"line 2: expected as size a whole .*'-1'"),
        ("operation,object,size\nallocate,1,1\nfree,1,x\n", r"line 3: expected as size .*'x'"),
        ("operation,object,align\nfree,1,3\n", r"line 2: expected as align a power of two, .*'3'"),
        ("operation,object,kind\nfree,1,new\n", r"line 2: .* one of unknown, malloc, .*'new'"),
        ("operation,scope,kind\nopen,1,mmap\n", r"line 2: .* one of unknown, confined, .*'mmap'"),
        ("operation,object,time_ns\nfree,1,5\nfree,2,4\n", r"line 3: .* at least 5, .* found 4"),
        ("operation,object,time_ns\nfree,1,\n", r"line 2: expected as time_ns a whole number"),
    ],
)
def test_a_line_that_makes_no_sense_is_named(imported, text, message):
    with pytest.raises(RecordingError, match=rf"table\.csv, {message}"):
        imported(text)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(RecordingError, match=r"none\.csv: No such file"):
        Table(tmp_path / "none.csv")


def test_the_documentation_names_the_columns(pytestconfig):
    text = (pytestconfig.rootpath / "docs" / "recording.md").read_text()
    for column in COLUMNS:
        assert f"`{column}`" in text
