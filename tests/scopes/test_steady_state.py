"""What lives of scopes, repeated, cost the collector and the process."""

import gc
import sysconfig

import pytest

import scopes

MIB = 2**20
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


@pytest.mark.parametrize("nbytes", [1024, MIB])
def test_opening_allocating_and_closing_makes_no_collection(explicit, no_collections, nbytes):
    with no_collections():
        for _ in range(20_000):
            scope = explicit()
            scope.allocate(nbytes)
            scope.close()


def test_a_hundred_thousand_confined_mib_make_no_collection(no_collections):
    with no_collections():
        for _ in range(100_000):
            scope = scopes.ConfinedScope()
            scope.allocate(MIB)
            scope.close()


def test_dropping_implicit_scopes_makes_no_collection(no_collections):
    with no_collections():
        for _ in range(20_000):
            scopes.ImplicitScope().allocate(1024)


def test_many_segments_in_one_scope_make_no_collection_while_they_can_be_in_no_cycle(
    explicit, no_collections
):
    with no_collections():
        for _ in range(50):
            with explicit() as scope:
                for _ in range(400):
                    scope.allocate(64)


def test_a_scope_without_callbacks_is_unknown_to_the_collector(scope):
    segment = scope.allocate(16)
    late = not FREE_THREADED  # there, the collector has to know each from the start
    assert (gc.is_tracked(scope), gc.is_tracked(segment)) == (not late, not late)
    scope.callback(bool)
    later = scope.allocate(16)
    assert [gc.is_tracked(thing) for thing in (scope, segment, later, later[1:2])] == [True] * 4


LIVES = {
    "confined": "with scopes.ConfinedScope() as s: s.allocate(1000).fill(1)",
    "shared": "s = scopes.SharedScope(); s.allocate(1000)[0] = 1; s.close()",
    "implicit": "scopes.ImplicitScope().allocate(1000)",
    "owner": "o = set(); scopes.ImplicitScope(owner=o).allocate(1000); del o",
    "callback": "with scopes.ConfinedScope() as s: s.callback(bool, s.allocate(10))",
    "views": "with scopes.ConfinedScope() as s: memoryview(s.allocate(10)[2:4]).release()",
    "adopt": "with scopes.ConfinedScope() as s: s.adopt(4096, 10, bool)",
    "refused": "with suppress(ValueError): scopes.ConfinedScope(limit=-1)",
    "closed": "s = scopes.SharedScope(); s.close()\nwith suppress(ValueError): s.allocate(1)",
    "in use": "s = scopes.ConfinedScope(); v = memoryview(s.allocate(1000))\n"
    "with suppress(BufferError): s.close()\n"
    "del v; s.close()",
    "deferred": "s = scopes.ConfinedScope(exports='defer'); v = memoryview(s.allocate(100_000))\n"
    "s.close(); del v",
    "raising": "with suppress(ValueError), scopes.SharedScope() as s:\n"
    " for _ in range(3): s.callback(int, 'x')",
    "body": "with suppress(KeyError), scopes.SharedScope() as s: s.callback(int, 'x'); {}[0]",
    "cycle": "s = scopes.ImplicitScope(); s.callback(bool, s)",
    "many": "with scopes.ConfinedScope() as s: k = [s.allocate(n) for n in range(0, 3000, 100)]",
}


@pytest.mark.parametrize("life", LIVES.values(), ids=LIVES)
def test_a_life_repeated_leaves_nothing_behind(in_child, life):
    said = in_child(
        f"""
        import gc, re, scopes, sys
        from contextlib import suppress
        from itertools import pairwise

        def live():
            code = compile({life!r}, "life", "exec")
            for _ in range(2000):
                exec(code, {{"scopes": scopes, "suppress": suppress}})

        def left():
            gc.collect()
            text = open("/proc/self/smaps_rollup").read()
            resident = int(re.search(r"^Rss: +([0-9]+) kB", text, re.M)[1])
            return resident, sys.getallocatedblocks(), scopes.statistics()

        for _ in range(3):
            live()
            left()
        figures = [left()]
        for _ in range(4):
            live()
            figures.append(left())
        # What a life leaves is left in each round; the allocator's own moves come now and then.
        grown = [(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(figures)]
        assert min(kib for kib, _ in grown) < 32, figures  # 16 bytes a life
        assert min(blocks for _, blocks in grown) <= 50, figures
        now = figures[-1][2]
        print(now.live_bytes, now.open_scopes, now.deferred_bytes, now.retired_bytes)
    """
    )
    assert said == "0 0 0 0"
