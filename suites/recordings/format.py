"""The files of a recording, the fields of an operation; docs/recording.md tells what they mean."""

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = 1
"""In info.json; a reader refuses a higher one."""

OPERATIONS = "operations.npy"
THREADS = "threads.json"
INFO = "info.json"
RAW = "operations.raw"
"""By the scopes' recorder, until the recording is read first."""
CAPTURE = "capture.memray"
"""By memray, until its process has ended."""
TRUNCATED = ".truncated"
"""Ends the name of a file beside the recorder's, which tells why that is not all."""

NONE = 2**32 - 1
"""In place of an object or a scope where the operation has none."""

MOST_ALIGN = 63
"""Of the field `align`, which is a power of two."""


class Operation(IntEnum):
    """What was done."""

    ALLOCATE = 1
    REALLOCATE = 2
    FREE = 3
    OPEN = 4
    ADOPT = 5
    EXPORT = 6
    UNEXPORT = 7
    CLOSING = 8
    CLOSE = 9
    DROP = 10
    DROP_SCOPE = 11


class Allocator(IntEnum):
    """The kind of ALLOCATE, REALLOCATE and FREE: by what."""

    UNKNOWN = 0
    MALLOC = 1
    CALLOC = 2
    ALIGNED = 3
    MMAP = 4
    PYTHON = 5
    SCOPE = 6


class ScopeKind(IntEnum):
    """The kind of OPEN."""

    UNKNOWN = 0
    CONFINED = 1
    SHARED = 2
    IMPLICIT = 3


class Closing(IntEnum):
    """The kind of CLOSE: by whom."""

    CALL = 0
    FINALIZER = 1


_FIELDS = [
    ("size", "<u8"),
    ("object", "<u4"),
    ("scope", "<u4"),
    ("thread", "<u4"),
    ("operation", "u1"),
    ("kind", "u1"),
    ("align", "u1"),
    ("reserved", "u1"),
]

TIMED = np.dtype([("sequence", "<u8"), ("time_ns", "<u8"), *_FIELDS])
"""Of recordings that know when an operation was."""

UNTIMED = np.dtype([("sequence", "<u8"), *_FIELDS])

EVENT = np.dtype(
    [
        ("sequence", "<u8"),
        ("time_ns", "<u8"),
        ("size", "<u8"),
        ("object", "<u8"),
        ("other", "<u8"),
        ("thread", "<u4"),
        ("operation", "u1"),
        ("kind", "u1"),
        ("align", "u1"),
        ("reserved", "u1"),
    ]
)
"""Of a raw file, where things still have addresses."""

PART = 12
"""An event only: `object` is a part of the segment `other`."""

EVENTS = {member.name.lower(): int(member) for member in Operation} | {"part": PART}
"""What an event may be, by its name."""

INVALID = (
    "an unknown operation",
    "no address",
    "of an object that has ended",
    "at an address where an object is live",
    "of a scope that is closed",
    "of a scope that has ended",
    "a reallocation in a scope",
)
"""Why an event is left out, in the order of resolver.c."""

Events = NDArray[np.void]
"""Events as an array of `EVENT`."""

Operations = NDArray[np.void]
"""Operations as an array of `TIMED` or `UNTIMED`."""

Info = dict[str, Any]
"""What info.json holds."""


class RecordingError(Exception):
    """A recording can't be made, read or trusted; the text names the file and the reason."""


class NothingRecordedError(RecordingError):
    """There is not one operation to make a recording of."""
