"""Random programs of operations against a trivial model: a bytearray a segment, and sums."""

import gc

import pytest

import scopes

pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

KINDS = {
    "confined": lambda: scopes.ConfinedScope(),
    "confined deferring": lambda: scopes.ConfinedScope(exports="defer"),
    "shared": lambda: scopes.SharedScope(),
    "shared deferring": lambda: scopes.SharedScope(exports="defer"),
    "implicit": lambda: scopes.ImplicitScope(),
}
SIZES = st.one_of(
    st.sampled_from([0, 1, 63, 64, 65, 4096, 16_383, 16_384, 16_385, 65_536, 65_537]),
    st.integers(0, 300),
)
BYTES = st.integers(0, 255)
FRACTIONS = st.floats(0, 1)


class Modelled:
    """A scope and what is known of it."""

    def __init__(self, kind):
        self.kind = kind
        self.scope = KINDS[kind]()
        self.closed = False
        self.live = 0
        self.exports = 0
        self.ran = []
        self.registered = 0


class Part:
    """A segment, the bytes it should have, and where in them it lies."""

    def __init__(self, owner, segment, memory, start, readonly=False):
        self.owner, self.segment, self.memory = owner, segment, memory
        self.start, self.readonly = start, readonly
        self.nbytes = len(segment)

    @property
    def expected(self):
        return bytes(self.memory[self.start : self.start + self.nbytes])

    def refuses(self, use):
        if self.owner.closed:
            with pytest.raises(scopes.ScopeClosedError):
                use()
            return True
        if self.readonly:
            with pytest.raises(TypeError):
                use()
            return True
        return False


class View:
    def __init__(self, part, view):
        self.part, self.view = part, view


class Programs(RuleBasedStateMachine):
    opened = Bundle("opened")
    parts = Bundle("parts")
    views = Bundle("views")

    def __init__(self):
        super().__init__()
        gc.collect()
        self.before = scopes.statistics()
        self.all = []
        self.held = []  # all parts and views, which the bundles would keep alive

    def hold(self, thing):
        self.held.append(thing)
        return thing

    @rule(target=opened, kind=st.sampled_from(sorted(KINDS)))
    def open(self, kind):
        made = Modelled(kind)
        self.all.append(made)
        return made

    @rule(target=parts, owner=opened, nbytes=SIZES, align=st.sampled_from([1, 16, 64, 4096, 2**16]))
    def allocate(self, owner, nbytes, align):
        if owner.closed:
            with pytest.raises(scopes.ScopeClosedError):
                owner.scope.allocate(nbytes, align=align)
            return multiple()
        segment = owner.scope.allocate(nbytes, align=align)
        with segment.pin() as address:
            assert address % align == 0
        assert bytes(segment) == bytes(nbytes)
        owner.live += nbytes
        return self.hold(Part(owner, segment, bytearray(nbytes), 0))

    @rule(target=parts, part=parts, first=FRACTIONS, last=FRACTIONS, readonly=st.booleans())
    def slice(self, part, first, last, readonly):
        start, stop = (int(len(part.segment) * fraction) for fraction in (first, last))
        if part.owner.closed:
            with pytest.raises(scopes.ScopeClosedError):
                part.segment[start:stop]
            return multiple()
        made = part.segment[start:stop]
        if readonly:
            made = made.toreadonly()
        readonly = readonly or part.readonly
        return self.hold(Part(part.owner, made, part.memory, part.start + start, readonly))

    @rule(part=parts, byte=BYTES)
    def fill(self, part, byte):
        if part.refuses(lambda: part.segment.fill(byte)):
            return
        part.segment.fill(byte)
        n = len(part.segment)
        part.memory[part.start : part.start + n] = bytes([byte]) * n

    @rule(part=parts, at=FRACTIONS, byte=BYTES)
    def write(self, part, at, byte):
        if not len(part.segment):
            return
        index = min(int(len(part.segment) * at), len(part.segment) - 1)
        if part.refuses(lambda: part.segment.__setitem__(index, byte)):
            return
        part.segment[index] = byte
        part.memory[part.start + index] = byte

    @rule(part=parts, data=st.binary(max_size=70), at=FRACTIONS)
    def copy_from(self, part, data, at):
        offset = int(len(part.segment) * at)
        if part.refuses(lambda: part.segment.copy_from(data, offset)):
            return
        if offset + len(data) > len(part.segment):
            with pytest.raises(ValueError, match="don't fit"):
                part.segment.copy_from(data, offset)
            return
        part.segment.copy_from(data, offset)
        first = part.start + offset
        part.memory[first : first + len(data)] = data

    @rule(part=parts)
    def read(self, part):
        if part.owner.closed:
            with pytest.raises(scopes.ScopeClosedError):
                bytes(part.segment)
        else:
            assert bytes(part.segment) == part.expected
            assert part.segment == part.expected

    @rule(target=views, part=parts)
    def export(self, part):
        if part.owner.closed:
            with pytest.raises(scopes.ScopeClosedError):
                memoryview(part.segment)
            return multiple()
        part.owner.exports += 1
        return self.hold(View(part, memoryview(part.segment)))

    @rule(view=consumes(views))
    def release(self, view):
        assert bytes(view.view) == view.part.expected
        view.view.release()
        view.part.owner.exports -= 1

    @rule(view=views, byte=BYTES)
    def write_through_a_view(self, view, byte):
        if not view.view.readonly and len(view.view):
            view.view[0] = byte
            view.part.memory[view.part.start] = byte

    @rule(owner=opened)
    def callback(self, owner):
        if owner.closed:
            with pytest.raises(scopes.ScopeClosedError):
                owner.scope.callback(owner.ran.append, owner.registered)
            return
        owner.scope.callback(owner.ran.append, owner.registered)
        owner.registered += 1

    @rule(owner=opened)
    def close(self, owner):
        if owner.kind == "implicit":
            return
        if owner.exports and "deferring" not in owner.kind and not owner.closed:
            with pytest.raises(scopes.ScopeInUseError, match=f"while {owner.exports} buffers"):
                owner.scope.close()
            assert owner.ran == []
            return
        owner.scope.close()
        owner.closed, owner.live = True, 0
        assert owner.ran == list(range(owner.registered))[::-1]

    @rule(part=consumes(parts))
    def drop(self, part):
        part.segment = None

    @rule()
    def trim(self):
        scopes.trim()

    @rule(nbytes=st.integers(0, 2**20))
    def set_cache_limit(self, nbytes):
        scopes.set_cache_limit(nbytes)

    @invariant()
    def the_figures_are_those_of_the_model(self):
        now = scopes.statistics()
        open_ones = [made for made in self.all if not made.closed]
        assert now.live_bytes - self.before.live_bytes == sum(made.live for made in open_ones)
        assert now.open_scopes - self.before.open_scopes == len(open_ones)
        for made in self.all:
            figures = made.scope.statistics()
            assert (figures.live_bytes, figures.exports) == (made.live, made.exports)
            assert made.scope.closed == made.closed
        if hasattr(scopes._core, "check"):
            scopes._core.check()

    def teardown(self):
        for thing in self.held:
            if isinstance(thing, View):
                thing.view.release()
            else:
                thing.segment = None
        for made in self.all:
            if made.kind != "implicit":
                made.scope.close()
            made.scope = None
        gc.collect()
        now, before = scopes.statistics(), self.before
        assert (now.live_bytes, now.open_scopes) == (before.live_bytes, before.open_scopes)
        assert (now.retired_bytes, now.deferred_bytes) == (
            before.retired_bytes,
            before.deferred_bytes,
        )


def test_programs_of_operations_do_what_the_model_does():
    run_state_machine_as_test(
        Programs,
        settings=settings(
            max_examples=60,
            database=None,
            stateful_step_count=50,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
