"""The interpreter's exit, whatever is alive then."""

import pytest

EXITS = {
    "open in globals": "scope = KIND(); segment = scope.allocate(100)",
    "cycle": "scope = KIND(); scope.callback(list, (scope, scope.allocate(10)))",
    "view": "view = memoryview(KIND().allocate(100))",
    "deferred": "scope = scopes.SharedScope(exports='defer'); view = memoryview(scope.allocate(9));"
    "scope.close()",
    "pinned": "pin = KIND().allocate(10).pin(); pin.__enter__()",
    "in builtins": "import builtins; builtins.kept = KIND().allocate(10)",
    "in sys": "import sys; sys.kept = KIND().allocate(10); sys.view = memoryview(sys.kept)",
    "owner": "owner = set(); scope = scopes.ImplicitScope(owner=owner); owner_of_owner = scope",
    "atexit": "import atexit; scope = KIND(); atexit.register(lambda: scope.allocate(10)[0])",
    "thread": """
import threading
def run():
    scope = KIND()
    scope.allocate(10)
    threading.local().scope = scope
thread = threading.Thread(target=run)
thread.start()
""",
    "del": """
class Late:
    def __del__(self):
        self.segment[0:4].fill(1)
        with scopes.SharedScope() as other:
            other.allocate(10)
late = Late()
late.segment = scopes.ImplicitScope().allocate(100)
late.self = late
late.scopes = scopes
""",
}


@pytest.mark.parametrize("code", EXITS.values(), ids=EXITS)
@pytest.mark.parametrize("kind", ["ConfinedScope", "ImplicitScope"])
def test_the_interpreter_exits_quietly_whatever_is_alive(in_child, code, kind):
    # ResourceWarnings are ignored unless asked for, as anywhere in Python.
    text = "import scopes\n" + code.replace("KIND", f"scopes.{kind}") + "\nprint('end')"
    assert in_child(text) == "end"


def test_arrays_alive_at_exit_are_read_to_the_end(in_child):
    pytest.importorskip("numpy")
    said = in_child("""
        import os, sys
        import numpy as np, scopes
        with scopes.ConfinedScope() as scope:
            segment = scope.allocate(2**20)
            segment.fill(7)
            array = np.ndarray(2**20, "u1", buffer=segment)
        del segment
        live = scopes.ImplicitScope().zeros(2**17)
        class Late:
            def __init__(self):
                self.arrays, self.write = (array, live), os.write
            def __del__(self):
                self.write(1, self.arrays[0].tobytes()[-3:] + self.arrays[1].tobytes()[-3:])
        sys.late = Late()
    """)
    assert said in ("\7\7\7\0\0\0", "\0" * 6)


def test_the_module_can_be_imported_again_after_its_scopes_were_used(in_child):
    assert (
        in_child("""
        import sys, gc, scopes
        kept = scopes.ImplicitScope().allocate(10)
        for name in [name for name in sys.modules if name.startswith("scopes")]:
            del sys.modules[name]
        del scopes
        gc.collect()
        kept.fill(3)
        import scopes
        with scopes.ConfinedScope() as scope:
            scope.allocate(10).copy_from(kept)
        del kept
        gc.collect()
        print(scopes.statistics().open_scopes)
    """)
        == "0"
    )


# ---- threads that go on --------------------------------------------------------------------------

DAEMONS = {
    "reading": "segment[0]; bytes(segment[0:8]); segment == b'other'",
    "exporting": "memoryview(segment).release(); segment.pin().__enter__()",
    "allocating": "scopes.ImplicitScope().allocate(1000).fill(1); shared.allocate(10)",
    "closing": "with scopes.ConfinedScope() as scope: scope.allocate(1000).fill(1)",
    "unmapping": "with scopes.SharedScope() as scope: scope.allocate(2**25)[0] = 1",
    "callbacks": "with scopes.SharedScope() as scope: scope.callback(str, scope.allocate(10))",
    "adopting": "with scopes.SharedScope() as scope: scope.adopt(4096, 0, str)",
    "owners": "owner = {1}; scopes.ImplicitScope(owner=owner); scopes.account(owner, 9)",
    "collecting": "scope = scopes.ImplicitScope(); scope.callback(str, scope.allocate(100_000))",
    "refused": "try: confined.allocate(1)\n    except scopes.WrongThreadError: pass",
    "settings": "scopes.trim(); scopes.set_cache_limit(0); scopes.statistics()",
}


def exit_beside(daemon):
    return f"""
import threading
import scopes
scopes.set_cache_limit(0)
scopes.set_implicit_budget(1_000_000)
shared, confined = scopes.SharedScope(), scopes.ConfinedScope()
segment = shared.allocate(1000)
all_are_busy = threading.Barrier(5)

def use():
    {daemon}

def run():
    use()
    all_are_busy.wait()
    while True:
        use()

for _ in range(4):
    threading.Thread(target=run, daemon=True).start()
all_are_busy.wait()
for _ in range(50):
    use()
"""


@pytest.mark.parametrize("starts", [3, pytest.param(60, marks=pytest.mark.long)])
@pytest.mark.parametrize("daemon", DAEMONS.values(), ids=DAEMONS)
def test_the_interpreter_exits_quietly_beside_threads_that_go_on(in_child, daemon, starts):
    for _ in range(starts):
        assert in_child(exit_beside(daemon)) == ""


def test_a_callback_that_raises_at_exit_is_unraisable_exactly_once(in_child):
    said = in_child("""
        import os, sys
        sys.unraisablehook = lambda seen, write=os.write: write(1, repr(seen.exc_value).encode())
        import scopes
        scope = scopes.ImplicitScope()
        scope.callback(os.write, 1, b" ran")
        scope.callback(int, "a")
        cycle = [scope, scope.allocate(10), memoryview(scope.allocate(10))]
        cycle.append(cycle)
        del scope, cycle
    """)
    assert said == """ValueError("invalid literal for int() with base 10: 'a'") ran"""
