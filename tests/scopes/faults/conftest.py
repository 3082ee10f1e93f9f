"""Makes the calls of the core run out of memory, one after the other, and checks what that leaves.

Needs a core that was built with csrc/faults.h, as ../test_faults.py does; without one, nothing here
runs.
"""

import ctypes
import errno
import gc
import os
import sys
import sysconfig
import textwrap
import weakref
from array import array
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

import scopes
from scopes import Segment, _core

WITHOUT_GIL = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
#: No operation makes so many calls that can fail.
MOST_CALLS = 1000
#: With the same call failing: the least growth of them is what is lost each time.
LIVES = 4
#: Of process statistics, what an operation that failed leaves as it was.
FIGURES = ["live_bytes", "deferred_bytes", "retired_bytes", "open_scopes", "implicit_bytes"]


class Site(ctypes.Structure):
    """A call in the core that can be made to fail, as csrc/faults.h lays it out."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("function", ctypes.c_char_p),
        ("line", ctypes.c_long),
        ("calls", ctypes.c_long),
        ("failures", ctypes.c_long),
    )

    def __str__(self):
        return f"{os.path.basename(self.file.decode())}:{self.line} {self.function.decode()}"


def open_library():
    """The core as a library of C functions; None if it was built without faults."""
    library = ctypes.PyDLL(_core.__file__)
    if not hasattr(library, "faults_sites"):
        return None
    library.faults_begin.argtypes = (ctypes.c_long, ctypes.c_int)
    library.faults_last.restype = ctypes.c_char_p
    for name in ("faults_end", "faults_blocks", "faults_mapped"):
        getattr(library, name).restype = ctypes.c_long
    library.faults_sites.restype = ctypes.POINTER(ctypes.POINTER(Site))
    return library


LIBRARY = open_library()
if LIBRARY is None:
    collect_ignore_glob = ["test_*.py"]


@dataclass(frozen=True)
class Rules:
    """What an operation may do; see survives()."""

    raises: tuple = ()
    effects: bool = False
    loses_addresses: bool = False


def all_sites():
    count = ctypes.c_long()
    found = LIBRARY.faults_sites(ctypes.byref(count))
    return [found[i].contents for i in range(count.value)]


#: Those that have failed in other processes.
FAILED_ELSEWHERE = set()


class Outcome:
    """What an operation came to; `failed` if a call of it was made to fail."""

    value = error = None
    failed = False


class Faults:
    """The sites, and objects that use up the free lists, so that the next ones are new."""

    def __init__(self):
        self.sites = all_sites()
        self.new_scope = self.site("scope_new.c", "_PyObject_GC_New")
        self.new_segment = self.site("segment.c", "_PyObject_GC_New")
        self.types = all_types()
        self.keeper = scopes.SharedScope()
        self.held_scopes, self.held_segments = [], []

    def site(self, file, function):
        return next(s for s in self.sites if str(s).startswith(file) and str(s).endswith(function))

    @staticmethod
    def begin(before, lasts):
        """The call after `before` others fails, or all from it on."""
        LIBRARY.faults_begin(before, lasts)

    @staticmethod
    @contextmanager
    def all_of(function, code):
        """Each call of the function fails with that errno."""
        name = ctypes.create_string_buffer(function.encode())
        LIBRARY.faults_in(name, code)
        yield
        LIBRARY.faults_in(None, errno.ENOMEM)

    @staticmethod
    def end():
        """How many calls have failed."""
        return LIBRARY.faults_end()

    @staticmethod
    def held():
        """Blocks of the C library, and bytes of address space, that the core has."""
        return LIBRARY.faults_blocks(), LIBRARY.faults_mapped()

    def use_up_dead_objects(self):
        calls = self.new_scope.calls
        while self.new_scope.calls == calls:
            self.held_scopes.append(scopes.SharedScope())
        calls = self.new_segment.calls
        while self.new_segment.calls == calls:
            self.held_segments.append(self.keeper.allocate(0))

    def blocks(self):
        """Python's memory blocks, but for those of the objects that are held: each is one."""
        gc.collect()  # it empties Python's own free lists
        sys._clear_type_cache()  # it holds names that were looked up
        return sys.getallocatedblocks() - len(self.held_scopes) - len(self.held_segments)

    def close(self):
        for scope in self.held_scopes:
            scope.close()
        self.keeper.close()
        self.held_scopes.clear()
        self.held_segments.clear()


def process_figures():
    now = scopes.statistics()
    return {name: getattr(now, name) for name in FIGURES}


def figures_of(scope):
    return process_figures(), scope and (scope.statistics(), scope.closed)


def all_types():
    """The types of the core, those that are not exported included."""
    owner = set()
    scope = scopes.ImplicitScope()
    scopes.account(owner, 0)
    watch = weakref.getweakrefs(owner)[0].__callback__
    adoption = next(o for o in gc.get_referents(scope.adopt(4096, 0)) if o not in (scope, Segment))
    others = [type(watch), type(adoption), type(scope.allocate(0).pin())]
    others.append(type(vars(scopes.SharedScope)["__enter__"]))
    return others + [thing for thing in vars(_core).values() if isinstance(thing, type)]


def all_that_is_held(types):
    """What of the core is not given back, but for blocks of Python's own."""
    scopes.trim()
    blocks, mapped = Faults.held()
    references = [sys.getrefcount(kind) for kind in types]
    return process_figures() | {"blocks": blocks, "mapped": mapped, "references": references}


def run(operation, before, lasts):
    outcome = Outcome()
    Faults.begin(before, lasts)
    try:
        outcome.value = operation()
        outcome.failed = Faults.end() > 0
    except BaseException as error:
        outcome.failed = Faults.end() > 0
        outcome.error = error.with_traceback(None)
    if hasattr(_core, "check"):
        _core.check()
    return outcome


def check_that_it_works(scope):
    segment = scope.allocate(8)
    segment[:] = b"abcdefgh"
    assert bytes(segment) == b"abcdefgh"
    part = segment[2:4]
    del segment
    assert part == b"cd"
    del part
    close(scope)


def close(scope):
    if hasattr(scope, "close"):
        scope.close()


def one_life(scenario, before, lasts, rules):
    """One life of what the scenario makes. True if a call was made to fail."""
    life = scenario()
    scope, operation = next(life)
    was = figures_of(scope)
    outcome = run(operation, before, lasts)
    del operation
    if outcome.error is None:
        assert outcome.failed or not rules.raises, "it raised nothing"
    else:
        allowed = (*rules.raises, MemoryError) if outcome.failed else rules.raises
        assert isinstance(outcome.error, allowed), repr(outcome.error)
        assert rules.effects or figures_of(scope) == was
    with pytest.raises(StopIteration):
        life.send(outcome)
    failed = outcome.failed
    del life, outcome
    if scope is not None and not scope.closed:
        check_that_it_works(scope)
    return failed


def one_life_that_leaves_nothing(types, scenario, before, lasts, rules):
    held = all_that_is_held(types)
    failed = one_life(scenario, before, lasts, rules)
    now = all_that_is_held(types)
    if now != held:
        gc.collect()
        now = all_that_is_held(types)
    if lasts and rules.loses_addresses:
        del now["mapped"], held["mapped"]
    assert now == held
    return failed


def survive(faults, scenario, before, lasts, rules):
    """Some lives with the same call failing: they leave nothing, not even of Python's memory.

    The first ones fill caches of Python's; what each life leaves is a leak.
    """
    if WITHOUT_GIL:  # each collection visits all objects there: growth is left to other builds
        return one_life_that_leaves_nothing(faults.types, scenario, before, lasts, rules)
    gc.collect()
    blocks = array("q", [0] * (LIVES + 1))  # numbers that are no objects, and so no blocks
    for life in range(LIVES):
        faults.use_up_dead_objects()
        blocks[life] = faults.blocks()
        failed = one_life_that_leaves_nothing(faults.types, scenario, before, lasts, rules)
    faults.use_up_dead_objects()
    blocks[LIVES] = faults.blocks()
    grown = [after - before for before, after in pairwise(blocks)]
    assert min(grown) <= 0, f"leaks {grown} blocks"
    return failed


def survive_each_failure(faults, scenario, lasts, rules):
    for before in range(MOST_CALLS):
        failures = [site.failures for site in faults.sites]
        try:
            failed = survive(faults, scenario, before, lasts, rules)
        except BaseException as error:
            now = zip(faults.sites, failures, strict=True)
            names = [str(site) for site, n in now if site.failures > n]
            error.add_note(f"after {before} calls failed {names}")
            raise
        if not failed:
            return
    pytest.fail(f"more than {MOST_CALLS} calls that can fail")


@pytest.fixture(scope="module")
def faults(nothing_is_left):
    made = Faults()
    yield made
    made.close()


@pytest.fixture
def fails_in_fork(faults, forked, tmp_path):
    """Runs a function in a forked child in which a call fails."""

    def run(function):
        def child():
            function()
            (tmp_path / "failed").write_text(LIBRARY.faults_last().decode())

        forked(child)
        FAILED_ELSEWHERE.add((tmp_path / "failed").read_text())

    return run


@pytest.fixture
def fails_in_child(in_child):
    """Runs code in a new interpreter, in which fail(n) has a call fail: that after n others.

    Returns what the code printed.
    """
    start = f"""
        import ctypes
        library = ctypes.PyDLL({_core.__file__!r})
        library.faults_begin.argtypes = (ctypes.c_long, ctypes.c_int)
        library.faults_last.restype = ctypes.c_char_p
        def fail(n):
            library.faults_begin(n, 0)
    """
    end = """
        print(library.faults_last().decode())
    """

    def run(code):
        *said, last = in_child("".join(map(textwrap.dedent, (start, code, end)))).splitlines()
        FAILED_ELSEWHERE.add(last)
        return said

    return run


@pytest.fixture
def survives(faults):
    """Runs lives of a scenario; in each, a call of its operation fails, alone or with all after it.

    The scenario is a generator function. It yields a scope, or None, and the operation; it is sent
    the Outcome, and checks what it knows of it. The operation `raises` these exceptions when no
    call fails. When one does, it may raise MemoryError as well; the figures of the process and of
    the scope are then as before, unless it has `effects`. What the system refuses to unmap while an
    aligned map is made is lost, as addresses.
    """

    def check(scenario, **rules):
        gc.freeze()  # collections are short then
        threshold = gc.get_threshold()
        gc.set_threshold(10**9)
        try:
            for lasts in (False, True):
                survive_each_failure(faults, scenario, lasts, Rules(**rules))
        finally:
            gc.set_threshold(*threshold)
            gc.unfreeze()

    return check


def pytest_sessionfinish():
    """Names the calls that never failed, one a line, in the file that the environment asks for."""
    if (path := os.environ.get("SCOPES_FAULTS_REPORT")) and LIBRARY is not None:
        never = {str(site) for site in all_sites() if site.failures == 0} - FAILED_ELSEWHERE
        Path(path).write_text("".join(f"{name}\n" for name in sorted(never)))
