"""Scopes of each kind, children that may crash, and what is read off this process."""

import ctypes
import functools
import gc
import os
import re
import struct
import subprocess
import sys
import textwrap
import threading
import traceback
import warnings
from collections import namedtuple
from contextlib import contextmanager
from pathlib import Path

import pytest

import scopes

EXPLICIT = {"confined": scopes.ConfinedScope, "shared": scopes.SharedScope}
ALL = EXPLICIT | {"implicit": scopes.ImplicitScope}
CACHE_LIMIT = 64 * 2**20
HAMMER = Path(__file__).parent / "hammer"

#: What stands for a part of a message that differs from run to run.
WILDCARDS = {"ADDRESS": r"0x[0-9a-f]+", "NUMBER": r"\d+", "ANYTHING": ".*"}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item):
    """Lets go of what the test was given, else the last one of a file would hold it."""
    item.funcargs.clear()


@pytest.fixture(params=EXPLICIT.values(), ids=EXPLICIT)
def explicit(request):
    """The class of each scope that has a close()."""
    return request.param


@pytest.fixture(params=ALL.values(), ids=ALL)
def kind(request):
    """The class of each scope."""
    return request.param


@pytest.fixture
def scope(kind):
    """An open scope of each kind."""
    made = kind()
    yield made
    if hasattr(made, "close"):
        made.close()


@pytest.fixture
def explicit_scope(explicit):
    """An open scope of each kind that has a close()."""
    with explicit() as made:
        yield made


@pytest.fixture
def segment(scope):
    """16 bytes, 0 to 15, in a scope of each kind."""
    made = scope.allocate(16)
    made.copy_from(bytes(range(16)))
    return made


@pytest.fixture(autouse=True)
def settings():
    """Limits are those of a fresh process before and after each test."""
    yield
    scopes.set_limit(None)
    scopes.set_cache_limit(CACHE_LIMIT)


@pytest.fixture
def debugging():
    """Debugging help is on, in a test that may switch it."""
    scopes.debug(True)
    yield
    scopes.debug(os.environ.get("SCOPES_DEBUG") == "1")


@pytest.fixture(autouse=True, scope="module")
def nothing_is_left():
    """After the tests of a file, the process has as many scopes and live bytes as before."""
    gc.collect()
    before = scopes.statistics()
    yield
    gc.collect()
    gc.collect()  # what a finalizer of the first one brought forth
    after = scopes.statistics()
    assert (after.open_scopes, after.live_bytes, after.deferred_bytes) == (
        before.open_scopes,
        before.live_bytes,
        before.deferred_bytes,
    )


@pytest.fixture
def whole():
    """A pattern that matches the whole of a message, but for ADDRESS, NUMBER and ANYTHING."""

    def make(message):
        pattern = re.escape(message)
        for name, stands_for in WILDCARDS.items():
            pattern = pattern.replace(name, stands_for)
        return rf"\A{pattern}\Z"

    return make


def run_python(*args, env=None, timeout=60):
    """Runs a new interpreter that finds the scopes of this one; its result."""
    found = Path(scopes.__file__).parents[1]
    path = os.pathsep.join(filter(None, [str(found), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, *args],
        env=os.environ | {"PYTHONPATH": path, "PYTHONFAULTHANDLER": "1"} | (env or {}),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.fixture
def in_child():
    """Runs code in a new interpreter, asserts that it ends well, and returns what it printed."""

    def run(code, *options, status=0, env=None, stderr=""):
        done = run_python(*options, "-c", textwrap.dedent(code), env=env)
        assert (done.returncode, done.stderr) == (status, stderr)
        return done.stdout.strip()

    return run


@pytest.fixture
def in_another_interpreter():
    """Source that runs code, and something before it, in a new interpreter of its process."""

    def source(code, before="", isolated=False):
        return textwrap.dedent(f"""
            try:
                import _interpreters as interpreters
                number = interpreters.create("isolated" if {isolated} else "legacy")
            except ImportError:
                import _xxsubinterpreters as interpreters
                number = interpreters.create(isolated={isolated})
            {before}
            interpreters.run_string(number, {code!r})
            interpreters.destroy(number)
        """)

    return source


@pytest.fixture
def forked():
    """Runs a function in a forked child, and asserts that it returned there."""

    def run(function):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside threads
            child = os.fork()
        if child == 0:
            status = 1
            try:
                function()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0

    return run


@pytest.fixture
def program():
    """Runs a program of hammer/ as in_child runs code, whatever it says on stderr."""

    def run(name, **options):
        seconds = float(options.get("seconds", 0))
        given = [f"--{option}={value}" for option, value in options.items()]
        done = run_python(str(HAMMER / name), *given, timeout=2 * seconds + 120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def unraisable(monkeypatch):
    """What sys.unraisablehook was called with: the type and text of each exception."""
    seen = []
    monkeypatch.setattr(
        sys, "unraisablehook", lambda u: seen.append((u.exc_type, str(u.exc_value)))
    )
    return seen


@pytest.fixture
def no_collections():
    """A context in which the collector must not run once."""

    def collections():
        return [generation["collections"] for generation in gc.get_stats()]

    @contextmanager
    def watch():
        gc.collect()
        before = collections()
        yield
        assert collections() == before

    return watch


@pytest.fixture
def resident():
    """Resident bytes of this process, exactly."""

    def read():
        rollup = Path("/proc/self/smaps_rollup").read_text()
        return int(re.search(r"^Rss: +(\d+) kB", rollup, re.MULTILINE)[1]) * 1024

    return read


@pytest.fixture
def on_thread():
    """Runs a function on another thread and returns or raises what it did."""

    def run(function, *args):
        outcome = {}

        def target():
            try:
                outcome["value"] = function(*args)
            except BaseException as error:
                outcome["error"] = error

        thread = threading.Thread(target=target, name="other")
        thread.start()
        thread.join()
        if "error" in outcome:
            raise outcome["error"]
        return outcome["value"]

    return run


@pytest.fixture
def without_frames():
    """Calls a C function on a thread that runs no Python code, and returns its value."""
    libc = ctypes.CDLL(None)

    def run(function, argument):
        found = []
        call = functools.partial(found.extend, map(function, [argument]))
        routine = ctypes.CFUNCTYPE(None)(call)
        thread = ctypes.c_ulong()
        assert libc.pthread_create(ctypes.byref(thread), None, routine, None) == 0
        assert libc.pthread_join(thread, None) == 0
        return found.pop()

    return run


@pytest.fixture
def switch_often():
    """Threads under the GIL take turns a thousand times as often as usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def together():
    """Runs functions on a thread each, which start at once; the exceptions they ended with."""

    def run(*functions):
        barrier = threading.Barrier(len(functions))
        errors = []

        def target(function):
            barrier.wait()
            try:
                function()
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=target, args=(f,)) for f in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return errors

    return run


#: A record of scopes.record() as it lies in the raw file.
Event = namedtuple("Event", "sequence time size object other thread operation kind align reserved")
RECORD = struct.Struct("<QQQQQIBBBB")
OPERATIONS = {
    1: "allocate",
    4: "open",
    5: "adopt",
    6: "export",
    7: "unexport",
    8: "closing",
    9: "close",
    10: "drop",
    11: "drop_scope",
    12: "part",
}


@pytest.fixture
def folder(tmp_path):
    """Where a recording may go."""
    return tmp_path / "recording"


@pytest.fixture
def read_events():
    """Reads the events in a folder, in order, with the operation's name."""

    def read(folder):
        data = (Path(folder) / "operations.raw").read_bytes()
        found = [Event(*fields) for fields in RECORD.iter_unpack(data)]
        return sorted(event._replace(operation=OPERATIONS[event.operation]) for event in found)

    return read
