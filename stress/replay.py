"""Replays the operations of a recording, in native threads, against something that allocates.

plan = Plan(objects, scopes, threads, timed=False)
engine = Engine(Target.HEAP, plan)
plan.block(operations)  # outside of any clock
ns = engine.run(plan)
engine.release()

csrc/replay_plan.h tells what a plan is, csrc/replay.h what is timed.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Self

from stress.base import StressError
from stress.sampler import system_clock
from stress.spinners import native_library

if TYPE_CHECKING:
    from types import TracebackType

#: What the threads of a replay do at the same time needs a table of so many threads squared.
MOST_THREADS = 4096

_FAULTS = {
    "REPLAY_UNKNOWN_OPERATION": "is none of those that a recording may have",
    "REPLAY_OUT_OF_TABLE": "names an object, a scope or a thread beyond the tables in info.json",
    "REPLAY_LIVE_OBJECT": "allocates an object that exists already",
    "REPLAY_DEAD_OBJECT": "is of an object that does not exist",
    "REPLAY_LIVE_SCOPE": "opens a scope that exists already",
    "REPLAY_DEAD_SCOPE": "is of a scope that does not exist",
    "REPLAY_CLOSED_SCOPE": "is of a scope that is closed",
    "REPLAY_TIME_BACKWARD": "is earlier than the one before it",
}


class Scoping(IntEnum):
    """Whose memory an object is in the replay."""

    FLAT = 0
    """Nobody's: each object is freed by itself, that of a recorded scope with the scope or with its
    last reference, whichever is first."""
    RECORDED = 1
    """The recorded scope's; an object of none has one of its own."""
    THREAD = 2
    """That of one scope a thread, which is closed after the last operation."""
    WINDOW = 3
    """That of a scope for so many allocations of a thread, closed with the last of them."""
    NONE = 4
    """That of a scope of its own."""


class Target(IntEnum):
    """What allocates."""

    NULL = 0
    HEAP = 1
    MMAP = 2
    ARENA = 3


TOUCHES = {"none": 0, "first": 1, "all": 2}


@dataclass(frozen=True)
class Totals:
    """What the operations amount to that have been planned since the beginning.

    live_*: as in info.json, in scopes up to their close. held_*: what the replay has; without
    scopes it has no objects that nothing refers to. adopted: bytes of the largest piece of foreign
    memory. deferred: scopes that were closed while
    something was exported. peak_at: the number of operations after which
    peak_bytes were live for the first time.
    """

    operations: int
    live_objects: int
    live_bytes: int
    peak_bytes: int
    peak_at: int
    held_objects: int
    held_bytes: int
    scopes: int
    adopted: int
    deferred: int


@dataclass(frozen=True)
class Holdings:
    """What a replay has: objects in its table, and what the arena counts in open scopes.

    differing: bytes that were not what had been written there, of a checked replay.
    """

    objects: int
    bytes: int
    differing: int
    scopes: int
    scope_objects: int
    scope_bytes: int


class PlanError(Exception):
    """An operation can't be replayed: `index`, from 0, is the first such one."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(f"operation {index} {reason}")
        self.index = index


class Plan:
    """Operations of a recording, as steps for each thread of a replay; a block at a time.

    objects, scopes, threads: the sizes of the recording's tables. timed: its operations have a
    time. merged: one thread does all. think: operations wait for their time. window: allocations to
    a scope, for Scoping.WINDOW. StressError without memory or where stress._native is not built.
    """

    def __init__(
        self,
        objects: int,
        scopes: int,
        threads: int,
        *,
        timed: bool,
        merged: bool = False,
        think: bool = False,
        scoping: Scoping = Scoping.FLAT,
        window: int = 1024,
    ) -> None:
        self._ffi, self._lib = native_library("a replay needs")
        if threads > MOST_THREADS and not merged:
            raise StressError(
                f"a replay has at most {MOST_THREADS} threads, found {threads}: "
                "merge them with --replay-threads merged"
            )
        how = {
            "objects": objects,
            "scopes": scopes,
            "threads": threads,
            "timed": timed,
            "merged": merged,
            "think": think,
            "scoping": scoping,
            "window": window,
        }
        self.objects = objects
        self.scoping = scoping
        self.native: Any = self._lib.replay_plan_new(self._ffi.new("replay_how *", how)[0])
        if self.native == self._ffi.NULL:
            raise StressError(f"no memory for a replay of {objects} objects, {threads} threads")
        self.threads = self._lib.replay_plan_threads(self.native)
        self._faults = {getattr(self._lib, name): text for name, text in _FAULTS.items()}

    def reset(self) -> None:
        """Back to the beginning of the recording."""
        self._lib.replay_plan_reset(self.native)

    def block(self, operations: Any) -> None:
        """Plan the operations that follow those so far, an array as in the file of a recording.

        The steps of the block before are gone. PlanError for one that can't be.
        """
        raw = self._ffi.from_buffer("char[]", operations.data.cast("B")) if len(operations) else b""
        fault = self._lib.replay_plan_block(self.native, raw, len(operations))
        if fault == self._lib.REPLAY_NO_MEMORY:
            raise StressError("no memory for the steps of a replay")
        if fault:
            raise PlanError(self.totals.operations, self._faults[fault])

    def steps(self, thread: int = 0) -> Any:
        """The steps of a thread, as a buffer of `replay_step`s; valid until the next block."""
        count = self._ffi.new("size_t *")
        steps = self._lib.replay_plan_steps(self.native, thread, count)
        size = count[0] * self._ffi.sizeof("replay_step")
        return self._ffi.buffer(steps, size) if size else b""

    @property
    def totals(self) -> Totals:
        found = self._lib.replay_plan_totals(self.native)
        return Totals(*(getattr(found, name) for name in Totals.__dataclass_fields__))

    def close(self) -> None:
        """Give the memory back; once more does nothing."""
        if self.native is not None:
            native, self.native = self.native, None
            self._lib.replay_plan_delete(native)


class Engine:
    """Executes plans of one shape, with a thread for each list of steps; the calling one for a
    single list.

    python_heap: the functions are those of Python's own allocator of objects, which is called with
    the GIL held: of a plan with one list only. StressError where a thread can't be started.
    """

    def __init__(
        self,
        target: Target,
        plan: Plan,
        *,
        touch: str = "none",
        checked: bool = False,
        sampled: bool = False,
        python_heap: bool = False,
    ) -> None:
        self._ffi, self._lib = native_library("a replay needs")
        self._native: Any = None
        self.threads = plan.threads
        if python_heap and self.threads != 1:
            raise ValueError(f"Python's allocator is for 1 list of steps, found {self.threads}")
        clock = system_clock()
        options = {
            "target": target,
            "heap": _python_heap(self._ffi) if python_heap else self._lib.replay_libc(),
            "touch": TOUCHES[touch],
            "checked": checked,
            "sampled": sampled,
            "by_tsc": clock.name == "rdtscp",
            "objects": plan.objects,
            "threads": self.threads,
        }
        self._holding_gil = python_heap
        self._hz = clock.hz
        native = self._lib.replay_new(self._ffi.new("replay_options *", options)[0])
        if native == self._ffi.NULL:
            raise StressError(
                f"a replay with {self.threads} threads can't be started: "
                f"{os.strerror(self._ffi.errno)}"
            )
        self._native = native
        self._ns = self._ffi.new("uint64_t *")

    def run(self, plan: Plan) -> int:
        """Execute the block that the plan holds; the time in ns. StressError where memory ends."""
        self._ns[0] = 0
        if self._holding_gil:
            error = self._called("replay_run", self._native, plan.native, self._ns)
        else:
            error = self._lib.replay_run(self._native, plan.native, self._ns)
        if error:
            step = self._lib.replay_failed(self._native).step
            raise StressError(
                f"the replay failed at {step.size} bytes for object {step.object}: "
                f"{os.strerror(error)}"
            )
        return int(self._ns[0])

    def _called(self, name: str, *arguments: Any) -> int:
        """Call a function of the library without letting go of the GIL, as cffi would."""
        address = int(self._ffi.cast("uintptr_t", self._ffi.addressof(self._lib, name)))
        pointers = [int(self._ffi.cast("uintptr_t", argument)) for argument in arguments]
        kind = ctypes.PYFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p for _ in pointers))
        return int(kind(address)(*pointers))

    def release(self) -> None:
        """Give back what the operations left, to begin with the recording again."""
        if self._holding_gil:
            self._called("replay_release", self._native)
        else:
            self._lib.replay_release(self._native)

    @property
    def holdings(self) -> Holdings:
        found = self._lib.replay_holds(self._native)
        return Holdings(*(getattr(found, name) for name in Holdings.__dataclass_fields__))

    @property
    def idents(self) -> tuple[int, ...]:
        """Of its threads, as threading has them; none where the calling one does it all."""
        if self.threads == 1:
            return ()
        idents = self._ffi.new("uint64_t[]", self.threads)
        self._lib.replay_idents(self._native, idents)
        return tuple(idents)

    def take(self) -> list[tuple[float, int]]:
        """The single operations since the last call, as pairs of seconds and how many took that
        long; of a sampled replay."""
        buckets = self._lib.replay_buckets()
        counts = self._ffi.new("uint64_t[]", buckets)
        self._lib.replay_take_samples(self._native, counts)
        ticks = self._lib.replay_bucket_ticks
        return [(ticks(i) / self._hz, count) for i, count in enumerate(counts) if count]

    def close(self) -> None:
        """End the threads and give everything back; once more does nothing."""
        if self._native is not None:
            if self._holding_gil:
                self.release()
            native, self._native = self._native, None
            self._lib.replay_delete(native)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _python_heap(ffi: Any) -> dict[str, Any]:
    """Python's allocator of objects. It has no alignment: what it gives has that of 16 bytes."""

    def function(declaration: str, name: str) -> Any:
        found = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
        return ffi.cast(declaration, found.value)

    return {
        "allocate": function("void *(*)(size_t)", "PyObject_Malloc"),
        "allocate_zeroed": function("void *(*)(size_t, size_t)", "PyObject_Calloc"),
        "allocate_aligned": ffi.NULL,
        "reallocate": function("void *(*)(void *, size_t)", "PyObject_Realloc"),
        "release": function("void (*)(void *)", "PyObject_Free"),
    }
