"""The import of the core, a forked child and the end of the module, while memory runs out."""

import ctypes
import errno
import gc
import importlib.util
import sysconfig
import weakref
from contextlib import suppress

import pytest

import scopes
from scopes import _core

WITHOUT_GIL = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
with_gil = pytest.mark.skipif(
    WITHOUT_GIL,
    reason="without a GIL CPython refuses another interpreter, and collects in another order",
)

FIRST_USES = {
    "open": lambda scope: scopes.SharedScope(),
    "open an implicit one": lambda scope: scopes.ImplicitScope(),
    "trim": lambda scope: scopes.trim(),
    "statistics": lambda scope: scopes.statistics(),
    "set_limit": lambda scope: scopes.set_limit(None),
    "set_cache_limit": lambda scope: scopes.set_cache_limit(0),
    "account": lambda scope: scopes.account({1}, 1),
    "peak": lambda scope: _core.window_peak_bytes(False),
    "allocate": lambda scope: scope.allocate(1),
    "dump": lambda scope: scopes.dump(),
}


@pytest.fixture
def new_module():
    """Makes another module object of the core, whose state and arena are its own."""

    def make():
        spec = importlib.util.spec_from_file_location("scopes._core", _core.__file__)
        return importlib.util.module_from_spec(spec)

    gc.freeze()
    yield make
    gc.unfreeze()


# ---- import -------------------------------------------------------------------------------------


def use_functions(module):
    """What a module that was executed in vain is asked for raises, or works."""
    for function, *arguments in (
        (module.statistics,),
        (module.trim,),
        (module.set_limit, None),
        (module.set_cache_limit, 0),
        (module.set_implicit_budget, None),
        (module.account, {1}, 1),
        (module.window_peak_bytes, True),
        (module.debug, True),
        (module.snapshot,),
        (module.allocate, None, 1, 1, True),
    ):
        with suppress(RuntimeError, TypeError):
            function(*arguments)


def test_calling_a_function_before_the_core_was_executed(faults, new_module):
    module = new_module()
    faults.begin(0, lasts=True)
    with pytest.raises(MemoryError):
        module.trim()
    assert faults.end() == 1


@pytest.mark.parametrize("lasts", [False, True])
def test_importing_the_core(faults, new_module, lasts):
    for before in range(1000):
        blocks, mapped = faults.held()
        module, error = new_module(), None
        faults.begin(before, lasts)
        try:
            module.__loader__.exec_module(module)
        except MemoryError as raised:
            error = raised.with_traceback(None)
        failed = faults.end()
        if error is None:
            with module.SharedScope() as scope:
                scope.allocate(10)
            del scope
        else:
            use_functions(module)
        del module
        gc.collect()
        now = faults.held()
        if not WITHOUT_GIL:  # there the types, and with them the module, are never freed
            assert now[0] - blocks <= 2  # its state and arena stay for good
            assert now[1] == mapped
        if not failed:
            break
        assert error is not None or WITHOUT_GIL
    assert before > 20


@pytest.mark.parametrize("name", ["SCOPES_CACHE_LIMIT", "SCOPES_IMPLICIT_BUDGET", "SCOPES_DEBUG"])
def test_importing_the_core_with_settings_that_are_wrong(faults, new_module, monkeypatch, name):
    monkeypatch.setenv(name, "1x")
    raised = set()
    for before in range(10):
        module = new_module()
        faults.begin(before, lasts=False)
        with pytest.raises((MemoryError, ValueError)) as error:
            module.__loader__.exec_module(module)
        faults.end()
        raised.add(error.type)
    assert raised == {MemoryError, ValueError}


def test_the_first_import_of_a_process(fails_in_child):
    """It has the process watched for forks, which the later ones need not."""
    said = fails_in_child("""
        import os
        for calls in range(2):
            fail(calls)
            try:
                import scopes
            except MemoryError:
                print(library.faults_end())
        last = library.faults_last()
        import scopes
        if os.fork() == 0:
            scope = scopes.SharedScope()
            os._exit(scopes.statistics().open_scopes)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
    """)
    assert said == ["1", "1", "1"]


@with_gil
def test_importing_the_core_into_another_interpreter(fails_in_child, in_another_interpreter):
    said = fails_in_child(
        in_another_interpreter(
            "try: import scopes\nexcept MemoryError: print('none')", before="fail(0)"
        )
    )
    assert said == ["none"]


# ---- fork ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", FIRST_USES.values(), ids=FIRST_USES)
def test_the_first_use_in_a_forked_child(faults, fails_in_fork, operation):
    scope = scopes.SharedScope()
    segment = scope.allocate(16)
    segment.fill(7)

    def child():
        with faults.all_of("calloc", errno.ENOMEM), pytest.raises(MemoryError):
            operation(scope)
        segment[0] = 8
        scopes.trim()
        with scopes.SharedScope() as own:
            own.allocate(100)
        assert bytes(segment) == bytes([8]) + bytes([7]) * 15
        now = scopes.statistics()
        assert (now.open_scopes, now.live_bytes) == (0, 0)

    fails_in_fork(child)
    scope.close()


def test_using_an_inherited_scope(faults, fails_in_fork):
    scope = scopes.SharedScope()

    def child():
        scopes.trim()
        with pytest.raises(scopes.ScopeError, match="fork"):
            scope.callback(bool)
        faults.begin(2, lasts=True)
        with pytest.raises(MemoryError):
            scope.callback(bool)
        assert faults.end() == 1

    fails_in_fork(child)
    scope.close()


# ---- the end ------------------------------------------------------------------------------------


class Rest:
    """What can still be reached, by a weak reference, while the collector takes it apart."""

    def __init__(self, late):
        self.late, self.rest = late, self

    def __del__(self):
        self.late.append(weakref.ref(self))


@with_gil
def test_using_a_segment_while_the_collector_takes_the_module_away(faults, new_module):
    """The order is that of ../test_module.py."""
    late, said, memory = [], [], ctypes.create_string_buffer(1)

    def use(address):
        segment = late[0]().segment
        faults.begin(0, lasts=True)
        try:
            segment.toreadonly()
        except BaseException as error:
            said.append(type(error))
        said.append(faults.end())

    threshold = gc.get_threshold()
    gc.set_threshold(0)
    module = new_module()
    first, rest = [], Rest(late)
    first.append(first)
    module.__loader__.exec_module(module)
    with module.SharedScope(exports="defer") as scope:
        scope.callback(bool)
        rest.segment = scope.allocate(16)
    with scopes.SharedScope() as foreign:
        first.append(foreign.adopt(ctypes.addressof(memory), 1, use))
        bytes(memoryview(first[1]))
    del module, first, rest, scope, foreign
    gc.collect()
    gc.set_threshold(*threshold)
    assert said == [MemoryError, 1]
