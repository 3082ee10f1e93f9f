"""Each public name under eight threads at once, seven of which use it while one ends the scope."""

import gc
import io
import os
import sys
import tempfile
import threading
from contextlib import suppress

import public_api
import pytest

import scopes
from scopes import _core

THREADS = 8
ROUNDS = 2
TIMES = 25  # that each thread does it in a round
NBYTES = 64
BYTE = 7
BUDGET = 64 * 2**20
ADDRESS = 4096  # adopted with no bytes: nothing is read there

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("switch_often"),
]


class Owner:
    pass


class Ground:
    """One scope that all threads are on, and what they noted."""

    def __init__(self, kind):
        self.kind = kind
        self.owner = Owner() if kind is scopes.ImplicitScope else None
        self.scope = kind(owner=self.owner) if self.owner else kind(exports="defer")
        self.segment = self.scope.allocate(NBYTES)
        self.segment.fill(BYTE)
        self.pin = self.segment.pin()
        self.opener = threading.get_ident()
        self.ended = []  # by the scope's own callback
        self.ran = []  # by callbacks and releases that the threads registered
        self.done = []  # the thread of each use that went through
        self.scope.callback(self.ended.append, 1)

    def end(self):
        if self.owner:
            self.owner = None
        else:
            self.scope.close()


# ---- what the threads do: it raises what is documented, or goes through --------------------------


def allocate(g):
    assert not any(g.scope.allocate(100))


def adopt(g):
    g.scope.adopt(ADDRESS, 0, g.ran.append)


def array(g):
    assert g.scope.array([1, 2]).tolist() == [1, 2]


def zeros(g):
    assert g.scope.zeros(3).tolist() == [0, 0, 0]


def empty(g):
    assert g.scope.empty(3).shape == (3,)


def callback(g):
    g.scope.callback(g.ran.append, 1)


def closed(g):
    assert g.scope.closed <= g.scope.closed


def kind(g):
    assert g.scope.kind == g.kind.__name__.removesuffix("Scope").lower()


def owner(g):
    expected = {"confined": (g.opener,), "shared": (None,), "implicit": (None, g.owner)}
    found = g.scope.owner
    assert found in expected[g.scope.kind] or isinstance(found, Owner)


def statistics_of_the_scope(g):
    figures = g.scope.statistics()
    assert (figures.live_bytes, figures.exports, figures.segments) in {(NBYTES, 0, 1), (0, 0, 1)}


def repr_of_the_scope(g):
    assert repr(g.scope).startswith(f"<{g.kind.__name__} ")


def new(g):
    getattr(g.kind.__new__(g.kind), "close", bool)()


def getitem(g):
    assert g.segment[0] in (0, BYTE)
    assert len(g.segment[2:5]) == 3


def setitem(g):
    g.segment[3] = BYTE
    g.segment[0:2] = bytes([BYTE, BYTE])


def export(g):
    with memoryview(g.segment) as view:
        assert set(view) == {BYTE}


def release_buffer(g):
    view = memoryview(g.segment)
    g.segment.__release_buffer__(view)


def as_array(g):
    assert len(g.segment.__array__()) == NBYTES


def copy_from(g):
    g.segment.copy_from(bytes([BYTE]) * NBYTES)


def use_a_pin_of_its_own(g):
    with g.segment.pin() as address:
        assert address


def cdata(g):
    assert len(g.segment.cdata("char[]")) == NBYTES


def refused(use):
    """A use that a TypeError refuses, on whichever thread and in whichever state."""

    def refuse(g):
        with pytest.raises(TypeError):
            use(g)

    return refuse


def pass_through_the_pin(g):
    assert g.pin.__enter__()
    g.pin.__exit__(None, None, None)


def leave_the_pin(g):
    assert g.pin.__exit__() is False


def live(cls):
    """A whole life of a scope of that class."""

    def use(g):
        scope = cls()
        assert bytes(scope.allocate(10)) == bytes(10)
        getattr(scope, "close", bool)()

    return use


def with_lives(function, *args):
    """The function between lives of scopes, whose figures it reads or changes."""

    def use(g):
        live(scopes.SharedScope)(g)
        function(*args)
        live(scopes.ImplicitScope)(g)

    return use


def switch_debug(g):
    scopes.debug(True)
    live(scopes.SharedScope)(g)
    scopes.debug(False)


def record(g):
    """One at a time: the others are refused."""
    with (
        tempfile.TemporaryDirectory() as folder,
        suppress(RuntimeError),
        scopes.record(os.path.join(folder, "recording")),
    ):
        live(scopes.SharedScope)(g)


def start_and_stop_events(g):
    with suppress(RuntimeError):
        _core.start_events(None, 100, threading._active)
    live(scopes.SharedScope)(g)
    _core.stop_events()


def account(g):
    scopes.account(Owner(), 1000)


def inner_allocate(g):
    assert len(_core.allocate(g.scope, 10, 64, False)) == 10


OF_SCOPES = {
    "__call__": lambda g: g.scope(),
    "__del__": lambda g: g.scope.__del__(),
    "__enter__": lambda g: g.scope.__enter__(),
    "__exit__": lambda g: g.scope.__exit__(None, None, None),
    "__new__": new,
    "__repr__": repr_of_the_scope,
    "adopt": adopt,
    "allocate": allocate,
    "array": array,
    "callback": callback,
    "close": lambda g: g.scope.close(),
    "closed": closed,
    "empty": empty,
    "kind": kind,
    "owner": owner,
    "statistics": statistics_of_the_scope,
    "zeros": zeros,
}
OF_SEGMENTS = {
    "__array__": as_array,
    "__buffer__": export,
    "__delitem__": refused(lambda g: g.segment.__delitem__(0)),
    "__eq__": lambda g: g.segment == bytes([BYTE]) * NBYTES,
    "__ge__": refused(lambda g: g.segment >= b""),
    "__getitem__": getitem,
    "__gt__": refused(lambda g: g.segment > b""),
    "__hash__": refused(lambda g: hash(g.segment)),
    "__le__": refused(lambda g: g.segment <= b""),
    "__len__": lambda g: range(NBYTES)[len(g.segment) - 1],
    "__lt__": refused(lambda g: g.segment < b""),
    "__ne__": lambda g: g.segment != b"other",
    "__release_buffer__": release_buffer,
    "__repr__": lambda g: repr(g.segment).index("64 bytes"),
    "__setitem__": setitem,
    "cdata": cdata,
    "copy_from": copy_from,
    "fill": lambda g: g.segment.fill(BYTE),
    "nbytes": lambda g: range(NBYTES)[g.segment.nbytes - 1],
    "pin": use_a_pin_of_its_own,
    "readonly": lambda g: [1][g.segment.readonly],
    "scope": lambda g: [g.scope].index(g.segment.scope),
    "toreadonly": lambda g: [0, 1][g.segment.toreadonly().readonly],
}
OF_PINS = {"__enter__": pass_through_the_pin, "__exit__": leave_the_pin}
OF_THE_MODULE = {
    "ConfinedScope": live(scopes.ConfinedScope),
    "ImplicitScope": live(scopes.ImplicitScope),
    "Scope": refused(lambda g: scopes.Scope()),
    "Segment": refused(lambda g: scopes.Segment()),
    "SharedScope": live(scopes.SharedScope),
    "account": account,
    "allocate": inner_allocate,
    "debug": switch_debug,
    "dump": lambda g: scopes.dump(io.StringIO()),
    "record": record,
    "snapshot": with_lives(_core.snapshot),
    "start_events": start_and_stop_events,
    "stop_events": with_lives(_core.stop_events),
    "set_cache_limit": with_lives(scopes.set_cache_limit, 2**16),
    "set_implicit_budget": with_lives(scopes.set_implicit_budget, 1000),
    "set_limit": with_lives(scopes.set_limit, 2**40),
    "statistics": with_lives(scopes.statistics),
    "trim": with_lives(scopes.trim),
    "window_peak_bytes": with_lives(_core.window_peak_bytes, True),
}

#: What a name needs, where that is not always there.
NEEDS = dict.fromkeys(("array", "empty", "zeros", "__array__"), "numpy") | {"cdata": "cffi"}
#: Of names that are used while their scope ends, the errors that tell so.
ALLOWED = (scopes.ScopeClosedError, scopes.WrongThreadError)
#: Of names that let one thread in at a time, or once: what the others get.
ONE_AT_A_TIME = {"__call__", "__enter__"}
#: What confined scopes refuse to all threads but their own.
OF_ONE_THREAD = {
    "adopt",
    "allocate",
    "array",
    "callback",
    "empty",
    "zeros",
    "__call__",
    "__enter__",
}


def races():
    """Class and name of all that is raced for, with what it does and on which kind of scope."""
    for cls in public_api.KINDS:
        for name, use in OF_SCOPES.items():
            if name in public_api.own(cls):
                yield pytest.param(cls, name, use, id=f"{cls.__name__}.{name}")
    for owner_name, table in ("Segment", OF_SEGMENTS), ("Pin", OF_PINS):
        for name, use in table.items():
            if name != "__release_buffer__" or sys.version_info >= (3, 12):
                for cls in public_api.KINDS:
                    yield pytest.param(cls, name, use, id=f"{owner_name}.{name}-{cls.__name__}")
    for name, use in OF_THE_MODULE.items():
        yield pytest.param(scopes.SharedScope, name, use, id=name)


@pytest.fixture(autouse=True)
def usual_budget():
    yield
    scopes.set_implicit_budget(BUDGET)
    scopes.debug(os.environ.get("SCOPES_DEBUG") == "1")


def figures():
    gc.collect()
    now = scopes.statistics()
    return (
        now.live_bytes,
        now.open_scopes,
        now.deferred_bytes,
        now.retired_bytes,
        now.implicit_bytes,
    )


def race(ground, use, allowed):
    """All threads at once; this one, the scope's own, ends it. Errors that are not allowed."""
    barrier, errors = threading.Barrier(THREADS), []

    def work(times):
        barrier.wait()
        for _ in range(times):
            try:
                use(ground)
            except allowed:
                continue
            except BaseException as error:
                errors.append(error)
                return
            ground.done.append(threading.get_ident())

    threads = [threading.Thread(target=work, args=(TIMES,)) for _ in range(THREADS - 1)]
    for thread in threads:
        thread.start()
    work(TIMES // 4)
    ground.end()
    for thread in threads:
        thread.join()
    return errors


@pytest.mark.parametrize(("cls", "name", "use"), list(races()))
def test_a_race_for_a_public_name_ends_in_order(cls, name, use):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    before = figures()
    allowed = (*ALLOWED, scopes.ScopeError) if name in ONE_AT_A_TIME else ALLOWED
    for _ in range(ROUNDS):
        ground = Ground(cls)
        assert race(ground, use, allowed) == []
        now = ground.scope.statistics()
        assert (ground.ended, now.live_bytes, now.exports, now.callbacks) == ([1], 0, 0, 0)
        if name in ("adopt", "callback"):
            assert len(ground.ran) == len(ground.done)
        if name == "__enter__" and use is OF_SCOPES[name]:
            assert len(ground.done) == 1
        if cls is scopes.ConfinedScope and use is OF_SCOPES.get(name) and name in OF_ONE_THREAD:
            assert set(ground.done) <= {ground.opener}
        del ground
    assert figures() == before


def test_each_public_name_has_a_race():
    records = tuple(f"{cls.__name__}." for cls in public_api.RECORDS)
    exempt = {n for n, t in public_api.functions().items() if public_api.is_exception(t)}
    exempt |= {cls.__name__ for cls in public_api.RECORDS}
    wanted = {n for n in public_api.names() if not n.startswith(records)} - exempt
    tables = {"Segment": OF_SEGMENTS, "Pin": OF_PINS}
    tables |= {cls.__name__: OF_SCOPES for cls in public_api.KINDS}
    raced = {f"{owner}.{name}" for owner, table in tables.items() for name in table}
    assert wanted - raced - set(OF_THE_MODULE) == set()
