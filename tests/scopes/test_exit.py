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
