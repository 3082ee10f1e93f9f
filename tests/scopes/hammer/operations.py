"""What the threads of the soak do: each operation knows what it has to find, and asserts it."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from holder import LIMIT, SIZES, Common, Holder, Owner, Piece, close

import scopes

try:
    import numpy as np
except ImportError:
    np = None

#: A child that takes longer hangs.
CHILD_SECONDS = 60


class Worker(Holder):
    """One thread's program."""

    def __init__(self, common: Common, seed: int, *, forks: bool) -> None:
        super().__init__(common, seed)
        self.forks = forks
        self.done: Counter[str] = Counter()

    def run(self, operations: int) -> None:
        names = [name for name in OPERATIONS if self.forks or name != "fork"]
        weights = [OPERATIONS[name][0] for name in names]
        for name in self.rng.choices(names, weights, k=operations):
            outcome = self.do(name)
            self.done[f"{name}: {outcome}" if outcome else name] += 1
        self.end()

    def do(self, name: str) -> str | None:
        """Does it, or tells which of the documented errors kept it from being done."""
        _, operation, fresh = OPERATIONS[name]
        try:
            return operation(self)
        except scopes.ScopeMemoryError:
            return "past a limit"
        except scopes.ScopeClosedError:
            if fresh:
                raise
            return "closed"

    # ---- scopes ------------------------------------------------------------------------------

    def open_confined(self) -> None:
        self.put_scope(scopes.ConfinedScope(limit=LIMIT, exports=self.exports()))

    def open_shared(self) -> None:
        self.open_shared_scope()

    def open_implicit(self) -> None:
        self.put_scope(scopes.ImplicitScope(limit=LIMIT))

    def open_owned(self) -> None:
        owner = self.keep(self.owners, Owner())
        self.put_scope(scopes.ImplicitScope(owner=owner, limit=LIMIT))

    def drop_owner(self) -> None:
        if self.owners:
            self.owners.pop(self.rng.randrange(len(self.owners)))

    def close(self) -> str | None:
        return close(self.scope())

    def with_statement(self) -> str | None:
        kind = self.rng.choice([scopes.ConfinedScope, scopes.SharedScope])
        try:
            with kind() as scope:
                view = memoryview(scope.allocate(self.rng.choice(SIZES)))
                if self.rng.random() < 0.5:
                    raise KeyError("body")
                view.release()
        except KeyError:
            assert scope.closed
            return "the body raised"
        return None

    def leave_open(self) -> None:
        """Dropped, for the reference count to find."""
        scope = self.rng.choice([scopes.ConfinedScope, scopes.ImplicitScope])()
        scope.allocate(self.rng.choice(SIZES))

    def leave_in_cycle(self) -> None:
        scope = scopes.ImplicitScope()
        scope.callback(Owner, scope, memoryview(scope.allocate(self.rng.choice(SIZES))))

    # ---- memory ------------------------------------------------------------------------------

    def allocate(self) -> None:
        align = self.rng.choice([1, 16, 4096])
        segment = self.scope().allocate(self.rng.choice(SIZES), align=align)
        byte = self.rng.randrange(256)
        if len(segment):
            assert segment[0] == segment[-1] == 0
        segment.fill(byte)
        self.keep(self.pieces, Piece(segment, byte))

    def read(self) -> None:
        self.piece().check()

    def write(self) -> str | None:
        piece = self.piece()
        byte = self.rng.randrange(256)
        try:
            piece.segment.copy_from(bytes([byte]) * len(piece.segment))
        except (scopes.ScopeClosedError, TypeError):
            return "closed or readonly"
        # Parts and views of the same memory have another value now.
        self.pieces = [piece]
        self.views.clear()
        self.uncounted.clear()
        piece.byte = byte
        return None

    def slice(self) -> None:
        piece = self.piece()
        ends = sorted(self.rng.randrange(len(piece.segment) + 1) for _ in range(2))
        part = piece.segment[ends[0] : ends[1]]
        if self.rng.random() < 0.3:
            part = part.toreadonly()
        self.keep(self.pieces, Piece(part, piece.byte))

    def compare(self) -> None:
        piece = self.piece()
        # Another thread's collection may find its owner, and close it meanwhile.
        equal = piece.segment == bytes([piece.byte]) * len(piece.segment)
        assert equal or piece.segment.scope.closed

    # ---- what holds it -----------------------------------------------------------------------

    def export(self) -> None:
        piece = self.piece()
        if np is not None and self.rng.random() < 0.5:
            view: Any = np.frombuffer(piece.segment, "u1")
        else:
            view = memoryview(piece.segment)
        self.keep(self.views, (view, piece.byte))

    def read_views(self) -> None:
        for view, byte in self.views:
            assert len(view) == 0 or view[0] == view[-1] == byte, (view[0], byte)

    def release(self) -> None:
        self.views.clear()

    def hold_uncounted(self) -> str | None:
        if np is None:
            return "no NumPy"
        piece = self.piece()
        array = np.ndarray(len(piece.segment), "u1", buffer=piece.segment)
        self.keep(self.uncounted, (array, piece.byte))
        return None

    def read_uncounted(self) -> None:
        for array, byte in self.uncounted:
            assert len(array) == 0 or {int(array[0]), int(array[-1])} <= {0, byte}

    def pin(self) -> None:
        piece = self.piece()
        with piece.segment.pin() as address:
            if len(piece.segment):
                assert ctypes.string_at(address, 1)[0] == piece.byte

    def array(self) -> str | None:
        if np is None:
            return "no NumPy"
        scope = self.scope()
        assert not scope.zeros((3, 5), "i4").any()
        assert scope.array([1, 2, 3]).tolist() == [1, 2, 3]
        return None

    # ---- callbacks, foreign memory -----------------------------------------------------------

    def callback(self) -> None:
        scope = self.scope()
        if self.rng.random() < 0.1 and hasattr(scope, "close"):
            scope.callback(divmod, 1, 0)
        scope.callback(self.common.ran.append, 1)
        self.common.registered.append(1)

    def adopt(self) -> None:
        common = self.common
        segment = self.scope().adopt(common.address, 4096, common.released.append)
        common.adopted.append(1)
        if self.rng.random() < 0.5:
            self.keep(self.views, (memoryview(segment), 0))

    def account(self) -> None:
        owner = Owner()
        scopes.account(owner, self.rng.choice(SIZES) * 10)
        if self.rng.random() < 0.5:
            self.keep(self.owners, owner)

    # ---- with other threads ------------------------------------------------------------------

    def publish(self) -> None:
        """A segment for all threads; who finds it may close it."""
        scope = scopes.SharedScope(exports="defer")
        piece = Piece(scope.allocate(self.rng.choice(SIZES)), self.rng.randrange(256))
        piece.segment.fill(piece.byte)
        slots = self.common.slots
        at = self.rng.randrange(len(slots))
        old, slots[at] = slots[at], piece
        if old is not None:
            old.segment.scope.close()

    def read_published(self) -> str | None:
        piece = self.rng.choice(self.common.slots)
        if piece is None:
            return "nothing there"
        piece.check()
        with memoryview(piece.segment) as view:
            assert len(view) == 0 or view[0] == view[-1] == piece.byte
        piece.segment.scope.allocate(100).fill(1)
        return None

    def close_published(self) -> None:
        piece = self.rng.choice(self.common.slots)
        if piece is not None:
            piece.segment.scope.close()

    def thread(self) -> None:
        """A thread that ends, of whose scopes one is left to this one, another to nobody."""
        confined = scopes.ConfinedScope()
        left: list[scopes.SharedScope] = []

        def live() -> None:
            try:
                confined.allocate(1)
            except scopes.WrongThreadError:
                left.append(scopes.SharedScope())
            with suppress(scopes.ScopeMemoryError), scopes.SharedScope() as scope:
                scope.allocate(1000).fill(1)
                scopes.ImplicitScope().allocate(1000)

        other = threading.Thread(target=live)
        other.start()
        other.join()
        confined.close()
        assert left, "the thread allocated in a scope that is not its own, or failed"
        self.put_scope(left[0]).allocate(1000)

    def fork(self) -> None:
        piece = self.piece()
        child = os.fork()
        if child == 0:
            signal.alarm(CHILD_SECONDS)
            status = 1
            try:
                piece.check()
                with scopes.SharedScope() as scope:
                    scope.allocate(1000).fill(1)
                del scope
                self.end()
                gc.collect()
                assert scopes.statistics().live_bytes == 0
                status = 0
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status == 0, f"the child ended with {status}"

    # ---- settings ----------------------------------------------------------------------------

    def set_budget(self) -> None:
        scopes.set_implicit_budget(self.rng.choice([100_000, 2**20, 2**24]))

    def set_cache_limit(self) -> None:
        scopes.set_cache_limit(self.rng.choice([0, 2**16, 2**22, 2**24]))

    def set_limit(self) -> None:
        live = scopes.statistics().live_bytes
        scopes.set_limit(self.rng.choice([None, None, live + 10_000, 2**27]))

    def trim(self) -> None:
        scopes.trim()

    def collect(self) -> None:
        gc.collect(self.rng.randrange(3))

    def statistics(self) -> None:
        figures = scopes.statistics()
        assert min(figures.mapped_bytes, figures.cached_bytes, figures.retired_bytes) >= 0
        self.scope().statistics()
        repr((self.scope(), self.piece().segment))


Operation = Callable[[Worker], str | None]

#: How often in how many, what, and whether it uses scopes of its own, which nobody closes.
OPERATIONS: dict[str, tuple[int, Operation, bool]] = {
    "open confined": (20, Worker.open_confined, True),
    "open shared": (20, Worker.open_shared, True),
    "open implicit": (20, Worker.open_implicit, True),
    "open owned": (10, Worker.open_owned, True),
    "drop an owner": (10, Worker.drop_owner, False),
    "close": (30, Worker.close, False),
    "with statement": (20, Worker.with_statement, True),
    "leave open": (5, Worker.leave_open, True),
    "leave in a cycle": (10, Worker.leave_in_cycle, True),
    "allocate": (100, Worker.allocate, False),
    "read": (100, Worker.read, True),
    "write": (10, Worker.write, False),
    "slice": (40, Worker.slice, False),
    "compare": (20, Worker.compare, False),
    "export": (40, Worker.export, False),
    "read views": (20, Worker.read_views, False),
    "release": (10, Worker.release, False),
    "hold uncounted": (20, Worker.hold_uncounted, False),
    "read uncounted": (20, Worker.read_uncounted, False),
    "pin": (20, Worker.pin, False),
    "array": (10, Worker.array, False),
    "callback": (30, Worker.callback, False),
    "adopt": (20, Worker.adopt, False),
    "account": (10, Worker.account, False),
    "publish": (20, Worker.publish, True),
    "read published": (60, Worker.read_published, False),
    "close published": (20, Worker.close_published, False),
    "thread": (2, Worker.thread, True),
    "fork": (1, Worker.fork, True),
    "set the budget": (2, Worker.set_budget, False),
    "set the cache limit": (2, Worker.set_cache_limit, False),
    "set the limit": (2, Worker.set_limit, False),
    "trim": (2, Worker.trim, True),
    "collect": (1, Worker.collect, True),
    "statistics": (10, Worker.statistics, True),
}
