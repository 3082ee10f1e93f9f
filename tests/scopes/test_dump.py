"""scopes.dump(): what is open, in words."""

import gc
import io
import re
import sys
import threading
import weakref

import pytest

import scopes

pytestmark = pytest.mark.usefixtures("debugging")

OFF = (
    "debug is off: scopes.debug(True), or SCOPES_DEBUG=1 in the environment, lists the scopes "
    "opened from then on"
)
ADDRESS = r"0x[0-9a-f]+"


def dumped():
    """The lines of a dump."""
    file = io.StringIO()
    scopes.dump(file)
    return file.getvalue().splitlines()


def block(scope):
    """The lines of a dump about one scope, without their addresses."""
    lines = dumped()
    starts = [n for n, line in enumerate(lines) if f" at {id(scope):#x}, " in line]
    assert len(starts) == 1, lines
    found = lines[starts[0] : lines.index("", starts[0])]
    return [re.sub(ADDRESS, "ADDRESS", line) for line in found]


def here(back=0):
    """The line that calls this, less back, as a dump names it."""
    caller = sys._getframe(1)
    return f"{__file__}:{caller.f_lineno - back} in {caller.f_code.co_qualname}"


def test_a_scope_is_told_with_where_it_was_opened(kind):
    scope = kind(limit=1000)
    opened = here(back=1)
    segment = scope.allocate(64)
    scope.callback(bool)
    found = block(scope)
    assert found[:2] == [
        f"{scope.kind} scope at ADDRESS, open: {len(segment)} bytes, limit 1000, 1 callback",
        f"    opened at {opened}",
    ]
    assert found[2].startswith("        called from ")
    getattr(scope, "close", bool)()


def test_callers_are_told_each_on_a_line_of_its_own(kind):
    def inner():
        return kind()

    def outer():
        return inner()

    scope = outer()
    lines = [f"{inner.__code__.co_firstlineno + 1} in {inner.__qualname__}"]
    lines.append(f"{outer.__code__.co_firstlineno + 1} in {outer.__qualname__}")
    lines.append(here(back=3).rsplit(":", 1)[1])
    found = block(scope)
    assert [line.rsplit(":", 1)[1] for line in found[1:4]] == lines
    getattr(scope, "close", bool)()


def test_segments_with_exports_are_told_with_their_lines(kind):
    scope = kind()
    segment, other = scope.allocate(64), scope.allocate(8)
    views = [*map(memoryview, [segment] * 3)]
    line = here(back=1)
    scopes.debug(False)
    views.append(memoryview(segment))
    scopes.debug(True)
    found = block(scope)
    assert "    4 exports of the segment of 64 bytes at ADDRESS" in found
    assert f"        3 taken at {line}" in found
    assert "        1 taken while debug was off" in found
    assert not any("of 8 bytes" in text for text in found)
    del views, other
    assert not any(" of the segment " in text for text in block(scope))
    getattr(scope, "close", bool)()


def test_the_thread_of_a_confined_scope_is_told():
    scope = scopes.ConfinedScope()
    assert f"    thread {threading.get_ident()} (MainThread)" in block(scope)
    scope.close()


def test_a_thread_that_ended_is_told_as_unknown(on_thread):
    box = []
    on_thread(lambda: box.append(scopes.ConfinedScope()))
    assert f"    thread {box[0].owner} (unknown)" in block(box[0])
    with pytest.warns(ResourceWarning):
        box.clear()


@pytest.mark.parametrize("cls", [scopes.SharedScope, scopes.ImplicitScope])
def test_other_scopes_have_no_thread(cls):
    scope = cls()
    assert not any(line.startswith("    thread") for line in block(scope))
    getattr(scope, "close", bool)()


def test_an_owner_is_told_by_type_and_address():
    class Owner:
        def __repr__(self):
            raise RuntimeError("not called")

    owner = Owner()
    scope = scopes.ImplicitScope(owner=owner)
    assert "    owner Owner at ADDRESS" in block(scope)
    del owner
    assert scope.closed
    assert not any(f"{id(scope):#x}" in line for line in dumped())


def test_closed_scopes_are_told_while_exports_hold_their_memory(explicit):
    scope = explicit(exports="defer")
    view = memoryview(scope.allocate(64))
    line = here(back=1)
    scope.close()
    found = block(scope)
    assert found[0] == (
        f"{scope.kind} scope at ADDRESS, closed: its memory goes with its last export"
    )
    assert f"        1 taken at {line}" in found
    view.release()
    assert not any(f"{id(scope):#x}" in line for line in dumped())


def test_a_closing_scope_is_told_as_closing(explicit):
    scope = explicit()
    said = []
    scope.callback(lambda: said.extend(block(scope)))
    scope.close()
    assert said[0] == f"{scope.kind} scope at ADDRESS, closing: 0 bytes, no limit, 0 callbacks"


def test_the_oldest_scope_comes_first():
    opened = [scopes.SharedScope() for _ in range(5)]
    opened[2].close()
    found = [int(line.split()[3][:-1], 16) for line in dumped() if line.startswith("shared")]
    assert found == [id(opened[n]) for n in (0, 1, 3, 4)]
    for scope in opened:
        scope.close()


def test_the_totals_come_last():
    class Frame:
        pass

    frame = Frame()
    scopes.account(frame, 12345)
    with scopes.SharedScope() as scope:
        segment = scope.allocate(1000)
        figures = scopes.statistics()
        assert dumped()[-3:] == [
            f"{figures.open_scopes} open scope{'s' if figures.open_scopes != 1 else ''}",
            f"{figures.live_bytes} bytes live, {figures.deferred_bytes} deferred, "
            f"{figures.retired_bytes} retired, {figures.cached_bytes} cached, "
            f"{figures.mapped_bytes} mapped",
            "12345 bytes of foreign memory accounted, in 1 object",
        ]
        del segment
    del frame
    assert dumped()[-1] == "0 bytes of foreign memory accounted, in 0 objects"


def test_scopes_that_were_opened_while_it_was_off_are_counted():
    scopes.debug(False)
    with scopes.SharedScope() as first, scopes.SharedScope() as second:
        scopes.debug(True)
        found = dumped()
        assert not any(f"{id(scope):#x}" in line for scope in (first, second) for line in found)
        assert found[-3].endswith(", 2 not listed: opened while debug was off")
        with memoryview(first.allocate(64)):
            line = here(back=1)
            found = block(first)
            assert found[1:4:2] == ["    opened while debug was off", f"        1 taken at {line}"]
            assert dumped()[-3].endswith(", 1 not listed: opened while debug was off")


def test_off_it_tells_the_totals_and_how_to_turn_it_on(in_child):
    said = in_child("""
        import scopes
        with scopes.ConfinedScope() as scope:
            segment = scope.allocate(100)
            scopes.dump()
    """)
    lines = said.splitlines()
    assert lines[0] == "1 open scope, 1 not listed: opened while debug was off"
    assert lines[1].startswith("100 bytes live, ")
    assert lines[2:] == ["0 bytes of foreign memory accounted, in 0 objects", OFF]


def test_turned_off_it_tells_what_it_had_seen():
    with scopes.SharedScope() as scope:
        scopes.debug(False)
        assert block(scope)[0].startswith("shared scope")
        assert dumped()[-1] == OFF


def test_it_prints_to_stdout_unless_told(capsys):
    scopes.dump()
    assert capsys.readouterr().out.splitlines() == dumped()
    scopes.dump(file=sys.stderr)
    assert capsys.readouterr().err.splitlines() == dumped()


def test_what_is_no_text_file_is_refused():
    with pytest.raises(TypeError, match=r"\Afile must be a text file or None, found 3\Z"):
        scopes.dump(3)


def test_an_error_of_the_file_comes_through():
    class Full(io.StringIO):
        def write(self, text):
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        scopes.dump(Full())


def test_it_keeps_no_scope():
    scope = scopes.ImplicitScope()
    before = scopes.statistics().open_scopes
    dumped()
    del scope
    assert scopes.statistics().open_scopes == before - 1


def test_threads_dump_while_others_open_export_and_close(together):
    switched = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    shared = scopes.SharedScope()
    segment = shared.allocate(64)

    def live():
        for _ in range(100):
            with scopes.ConfinedScope(exports="defer") as scope:
                views = [memoryview(scope.allocate(64)), memoryview(segment)]
                with segment.pin():
                    del views
            scopes.ImplicitScope().allocate(64)

    def switch():
        for number in range(200):
            scopes.debug(number % 2 == 0)
        scopes.debug(True)

    def look():
        for _ in range(30):
            dumped()

    try:
        assert together(live, live, live, look, look, switch) == []
    finally:
        sys.setswitchinterval(switched)
    assert not any(" of the segment " in line for line in block(shared))
    shared.close()
    assert not any(f"{id(shared):#x}" in line for line in dumped())


def test_a_child_lists_its_own_scopes_alone(in_child):
    said = in_child("""
        import io, os, scopes

        def lines():
            file = io.StringIO()
            scopes.dump(file)
            return file.getvalue().splitlines()

        def kinds():
            return [line.split(" at ")[0] for line in lines() if " scope at " in line]

        owned = {1}
        scopes.account(owned, 1000)
        early = scopes.SharedScope(exports="defer")
        old = early.allocate(8)
        scopes.debug(True)
        parents = scopes.SharedScope(exports="defer")
        segment = parents.allocate(64)
        view, pin = memoryview(segment), segment.pin()
        pin.__enter__()
        child = os.fork()
        if child == 0:
            assert kinds() == [] and lines()[-1].startswith("0 bytes")
            own = scopes.ConfinedScope()
            held = memoryview(own.allocate(8))
            more = [memoryview(segment), memoryview(old)]
            try:
                own.close()
            except scopes.ScopeInUseError as error:
                assert "taken at <string>:" in str(error)
            assert kinds() == ["confined scope"]
            pin.__exit__(None, None, None)
            view.release()
            parents.close()
            del more, pin, view, segment, parents
            early.close()
            del old, early
            assert kinds() == ["confined scope"]
            held.release()
            own.close()
            assert kinds() == []
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert kinds() == ["shared scope"] and lines()[-1].startswith("1000 bytes")
        view.release()
        pin.__exit__(None, None, None)
        parents.close()
        early.close()
        print(kinds())
    """)
    assert said == "[]"


def test_scopes_open_at_exit_do_no_harm(in_child):
    said = in_child(
        """
        import atexit, sys, threading, scopes
        scopes.debug(True)
        scope = scopes.SharedScope()
        kept = memoryview(scope.allocate(64))
        sys.cycle = [scopes.ImplicitScope().allocate(64)]
        sys.cycle.append(sys.cycle)
        threading.Thread(target=lambda: [memoryview(scope.allocate(8)) for _ in iter(int, 1)],
                         daemon=True).start()
        print("ends")
    """,
        "-W",
        "ignore",
    )
    assert said == "ends"


def test_it_tells_all_where_the_collector_is_off(explicit_scope):
    gc.disable()
    try:
        assert block(explicit_scope)[0].startswith(explicit_scope.kind)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_scope_that_is_being_freed_is_left_out(kind):
    scope = kind()
    address = id(scope)
    getattr(scope, "close", bool)()
    seen = []
    watch = weakref.ref(scope, lambda _: seen.extend(dumped()))
    del scope
    assert watch() is None
    assert seen
    assert not [line for line in seen if f"{address:#x}" in line]
