"""The module object of the core: before it is executed, and while the collector takes it away."""

import re
import sysconfig

import pytest


def test_a_module_that_was_not_executed_says_so(in_child):
    said = in_child("""
        import importlib.util
        module = importlib.util.module_from_spec(importlib.util.find_spec("scopes._core"))
        arguments = {"set_cache_limit": (1,), "set_limit": (1,), "set_implicit_budget": (1,)}
        arguments |= {"account": (module, 1), "window_peak_bytes": (0,), "allocate": (1, 1, 1, 0)}
        arguments |= {"debug": (True,)}
        said = set()
        for name, function in vars(module).items():
            if callable(function) and not name.startswith("__"):
                try:
                    function(*arguments.get(name, ()))
                except RuntimeError as error:
                    said.add(str(error))
        print(*said)
    """)
    assert said == "scopes._core is a module that was not executed: import scopes"


WITHOUT_GIL = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))

#: What a finalizer keeps by a weak reference alone is collected all the same, and can be used until
#: it is taken apart. That goes in the order of making: `first` holds the last segment of foreign
#: memory, whose release runs when its turn has come.
TAKEN_AWAY = """
    import ctypes, gc, importlib.util, weakref
    import scopes
    from scopes import _core

    class Rest:
        def __del__(self):
            late.append(weakref.ref(self))

    def use(address):
        rest = late[0]()
        for name in USES:
            try:
                eval(USES[name])
                print(name, "works", sep=": ")
            except (RuntimeError, TypeError) as error:
                print(name, error, sep=": ")

    late, memory = [], ctypes.create_string_buffer(1)
    gc.disable()
    module = importlib.util.module_from_spec(importlib.util.find_spec("scopes._core"))
    BEFORE
    module.__loader__.exec_module(module)
    AFTER
    first.append(first)
    rest.rest, rest.scope = rest, module.SharedScope()
    rest.scope.callback(bool)
    rest.segment = rest.scope.allocate(16)
    rest.allocate, rest.pin = rest.scope.allocate, rest.segment.pin
    rest.statistics, rest.account = module.statistics, module.account
    rest.open, rest.new = module.SharedScope, module.SharedScope.__new__
    rest.open_implicit, rest.enter = module.ImplicitScope, module.SharedScope.__enter__
    with scopes.SharedScope() as foreign:
        first.append(foreign.adopt(ctypes.addressof(memory), 1, use))
        bytes(memoryview(first[1]))
    del module, first, rest, foreign
    gc.collect()
"""
MAKE = "first, rest = [], Rest()"


@pytest.fixture
def taken_away(in_child):
    """Evaluates expressions while the module is taken away, its types before that or not."""

    def run(uses, *, types):
        if WITHOUT_GIL:
            pytest.skip("the collector has another order there")
        places = {"BEFORE": "", "AFTER": MAKE} if types else {"BEFORE": MAKE, "AFTER": ""}
        places["USES"] = str(uses)
        code = re.sub("|".join(places), lambda match: places[match[0]], TAKEN_AWAY)
        said = in_child(code, "-W", "ignore")
        return dict(line.split(": ", 1) for line in said.splitlines())

    return run


def test_what_is_used_while_the_collector_takes_the_module_away_raises(taken_away):
    told = taken_away(
        {
            "open": "setattr(rest, 'again', rest.open())",
            "enter": "rest.again.__enter__()",
            "enter again": "rest.again.__enter__()",
            "read": "rest.segment[0]",
            "allocate": "rest.again.allocate(1)",
            "allocate in a closed one": "rest.allocate(1)",
            "adopt": "rest.again.adopt(4096, 1)",
            "pin": "rest.pin()",
            "slice": "rest.segment[1:2]",
            "statistics": "rest.statistics()",
            "statistics of a scope": "rest.again.statistics()",
            "account": "rest.account({1}, 1)",
            "close": "rest.again.close()",
        },
        types=False,
    )
    assert {told.pop("open"), told.pop("enter"), told.pop("close")} == {"works"}
    assert told.pop("enter again").startswith("the shared scope at")
    assert told.pop("read").startswith("the shared scope at")
    assert set(told.values()) == {"scopes can't be used any more: its module is gone"}


def test_what_is_used_while_the_collector_takes_the_types_away_raises(taken_away):
    told = taken_away(
        {
            "open": "rest.open()",
            "open by hand": "rest.new(rest.open)",
            "open an implicit one": "rest.open_implicit()",
            "enter": "rest.enter(rest.scope)",
        },
        types=True,
    )
    assert len(told) == 4
    assert all("has no associated module" in error for error in told.values())
