"""From events, which name things by address, to operations, which name them by slot."""

import numpy as np

from stress.spinners import native_library
from suites.recordings.format import (
    EVENT,
    EVENTS,
    INVALID,
    TIMED,
    UNTIMED,
    Events,
    Info,
    Operations,
)

_MOST_OPERATIONS = 3
"""That an event becomes: the end of what was there, the open of an older scope, and itself."""
UNBOUNDED = 2**63


class Resolver:
    """Takes events in order, in blocks of any length. MemoryError where there is none left."""

    def __init__(self, timed: bool) -> None:
        self._ffi, self._lib = native_library("making a recording needs")
        self._dtype = TIMED if timed else UNTIMED
        found = self._lib.resolver_new(timed)
        if found == self._ffi.NULL:
            raise MemoryError
        self._resolver = self._ffi.gc(found, self._lib.resolver_delete)

    def run(self, events: Events, most: int = UNBOUNDED) -> Operations:
        """The operations that these events amount to, up to the event that makes them `most`."""
        events = np.ascontiguousarray(events, EVENT)
        operations = np.empty(_MOST_OPERATIONS * len(events), self._dtype)
        count = self._lib.resolver_run(
            self._resolver,
            self._ffi.from_buffer("recorded_event[]", events),
            len(events),
            most,
            self._ffi.from_buffer("char[]", operations),
        )
        if count < 0:
            raise MemoryError
        return operations[:count]

    def threads(self) -> list[int]:
        """The events' numbers of the threads, in the order of the operations' numbers of them."""
        threads = np.empty(self._lib.resolver_read(self._resolver).threads, "<u4")
        self._lib.resolver_threads(self._resolver, self._ffi.from_buffer("uint32_t[]", threads))
        return [int(number) for number in threads]

    def info(self) -> Info:
        """What info.json tells of all operations so far."""
        found = self._lib.resolver_read(self._resolver)
        return {
            "objects": found.objects,
            "scopes": found.scopes,
            "end": {"live_objects": found.live_objects, "live_bytes": found.live_bytes},
            "peak_bytes": found.peak_bytes,
            "preexisting": {
                name: found.preexisting[number]
                for name, number in EVENTS.items()
                if found.preexisting[number]
            },
            "invalid": {
                reason: found.invalid[number]
                for number, reason in enumerate(INVALID)
                if found.invalid[number]
            },
        }
