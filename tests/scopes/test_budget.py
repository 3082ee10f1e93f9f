"""The byte budget of what nobody closes: implicit scopes and accounted memory."""

import gc
import sysconfig

import pytest

import scopes

MIB = 2**20
BUDGET = 64 * MIB


class Node:
    """An object in a reference cycle with itself."""

    def __init__(self, memory):
        self.me, self.memory = self, memory


@pytest.fixture(autouse=True)
def fresh_budget():
    gc.collect()
    scopes.set_implicit_budget(BUDGET)
    yield
    scopes.set_implicit_budget(BUDGET)
    gc.collect()


@pytest.fixture
def forced():
    """A function: collections forced since the test began, by generation."""
    before = scopes.statistics().forced_collections

    def since():
        now = scopes.statistics().forced_collections
        return tuple(n - b for n, b in zip(now, before, strict=True))

    return since


def drop_in_cycles(count, nbytes):
    """The highest implicit bytes seen while so many segments die in cycles."""
    highest = 0
    for _ in range(count):
        Node(scopes.ImplicitScope().allocate(nbytes))
        highest = max(highest, scopes.statistics().implicit_bytes)
    return highest


def test_dead_cycles_stay_under_the_budget(forced):
    assert drop_in_cycles(800, MIB) <= BUDGET
    assert 1 <= sum(forced()) <= 40


def test_without_a_budget_nothing_is_forced(forced):
    scopes.set_implicit_budget(None)
    drop_in_cycles(200, MIB)
    assert (sum(forced()), scopes.statistics().implicit_budget) == (0, None)


def test_a_small_budget_holds_small_segments():
    scopes.set_implicit_budget(MIB)
    assert drop_in_cycles(5000, 4096) <= MIB


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="each collection is a full one"
)
def test_the_young_generation_is_enough_for_young_garbage(forced):
    drop_in_cycles(500, MIB)
    assert forced()[0] > 0
    assert forced()[1:] == (0, 0) or sum(forced()[1:]) < forced()[0]


def test_with_the_collector_disabled_nothing_is_forced_unless_asked(forced):
    gc.disable()
    try:
        drop_in_cycles(100, MIB)
        assert sum(forced()) == 0
        scopes.set_implicit_budget(BUDGET, when_gc_disabled=True)
        drop_in_cycles(1, MIB)
        assert sum(forced()) > 0
    finally:
        gc.enable()


def test_a_live_set_that_grows_is_collected_as_often_as_it_doubles(forced):
    scopes.set_implicit_budget(MIB)
    kept = [scopes.ImplicitScope().allocate(64 * 1024) for _ in range(1024)]
    assert 1 <= forced()[-1] <= 8
    now = scopes.statistics()
    assert now.implicit_budget >= now.implicit_bytes == len(kept) * 64 * 1024


def test_the_budget_shrinks_when_the_live_set_is_gone():
    scopes.set_implicit_budget(MIB)
    kept = [scopes.ImplicitScope().allocate(MIB) for _ in range(32)]
    assert scopes.statistics().implicit_budget >= 32 * MIB
    del kept
    for _ in range(300):
        scopes.ImplicitScope().allocate(MIB)
    assert scopes.statistics().implicit_budget <= 2 * MIB


def test_large_segments_that_are_dropped_at_once_force_nothing(forced):
    scopes.set_implicit_budget(MIB)
    for _ in range(100):
        scopes.ImplicitScope().allocate(4 * MIB)
    assert sum(forced()) == 0


def test_one_small_live_segment_does_not_make_large_ones_force_each_time(forced):
    scopes.set_implicit_budget(MIB)
    kept = scopes.ImplicitScope().allocate(1000)
    for _ in range(100):
        scopes.ImplicitScope().allocate(4 * MIB)
    assert (sum(forced()) <= 6, len(kept)) == (True, 1000)


def test_explicit_scopes_never_feed_the_budget(explicit, forced):
    scopes.set_implicit_budget(MIB)
    before = scopes.statistics().implicit_bytes
    with explicit() as scope:
        for _ in range(20):
            scope.allocate(MIB)
        assert scopes.statistics().implicit_bytes == before
    assert sum(forced()) == 0


def test_the_bytes_of_an_owner_count_until_it_dies():
    before = scopes.statistics().implicit_bytes
    owner = Node(None)
    scopes.ImplicitScope(owner=owner).allocate(1000)
    assert scopes.statistics().implicit_bytes == before + 1000
    owner.me = None
    del owner
    assert scopes.statistics().implicit_bytes == before


def test_a_finalizer_in_the_collector_may_allocate(forced):
    scopes.set_implicit_budget(MIB)
    made = []

    class Late:
        def __init__(self):
            self.me = self

        def __del__(self):
            made.append(scopes.ImplicitScope().allocate(2 * MIB))

    kept = scopes.ImplicitScope().allocate(MIB)
    Late()
    gc.collect()
    assert (len(made), len(kept), sum(forced())) == (1, MIB, 0)


def test_a_forced_collection_forces_no_other(forced):
    scopes.set_implicit_budget(1000)
    asked = []

    def allocate(*_):
        scopes.ImplicitScope().allocate(10 * MIB)
        asked.append(sum(forced()))

    scope = scopes.ImplicitScope()
    scope.allocate(1001)
    scope.callback(allocate, scope)
    del scope
    scopes.ImplicitScope().allocate(1)
    assert asked == [0]
    assert sum(forced()) > 0


def test_a_finalizer_that_a_forced_collection_runs_may_close_the_scope(kind):
    if kind is not scopes.ImplicitScope:
        pytest.skip("only implicit scopes are collected for")
    scopes.set_implicit_budget(1000)
    scope = scopes.ImplicitScope()
    kept = scope.allocate(900)

    class Late:
        def __init__(self):
            self.me = self

        def __del__(self):
            ran.append(scope.closed)

    ran = []
    Late()
    assert (len(scope.allocate(900)), len(kept), ran) == (900, 900, [False])


def test_what_forced_collections_freed_is_told():
    before = scopes.statistics().forced_freed_bytes
    drop_in_cycles(200, MIB)
    assert scopes.statistics().forced_freed_bytes - before >= 100 * MIB


# ---- accounts ------------------------------------------------------------------------------------


def test_accounted_bytes_count_until_the_object_dies():
    before = scopes.statistics().implicit_bytes
    thing = {1}
    scopes.account(thing, 500)
    scopes.account(obj=thing, nbytes=20)
    assert scopes.statistics().implicit_bytes == before + 520
    del thing
    assert scopes.statistics().implicit_bytes == before


def test_accounted_arrays_in_cycles_stay_under_the_budget(forced):
    numpy = pytest.importorskip("numpy")
    highest = 0
    for _ in range(300):
        node = Node(numpy.empty(MIB, "u1"))
        scopes.account(node.memory, MIB)
        del node
        highest = max(highest, scopes.statistics().implicit_bytes)
    assert highest <= BUDGET
    assert sum(forced()) > 0


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((5, 1), TypeError, "obj must support weak references, and a 'int' does not"),
        (({1}, -1), ValueError, "nbytes must be 0 or more, found -1"),
        (({1}, 2**62), ValueError, f"nbytes must be at most {2**48}, found {2**62}"),
        (({1}, 1.5), TypeError, "'float' object cannot be interpreted as an integer"),
        (({1},), TypeError, "account() missing required argument 'nbytes'"),
    ],
)
def test_bad_accounts_are_refused(whole, args, error, message):
    with pytest.raises(error, match=whole(message)):
        scopes.account(*args)


def test_a_bad_budget_is_refused(whole):
    with pytest.raises(ValueError, match=whole("nbytes must be 0 or more, found -1")):
        scopes.set_implicit_budget(-1)


def test_the_environment_sets_the_first_budget(in_child):
    said = in_child(
        "import scopes; print(scopes.statistics().implicit_budget)",
        env={"SCOPES_IMPLICIT_BUDGET": "4096"},
    )
    assert said == "4096"


# ---- at a limit ----------------------------------------------------------------------------------


def test_at_the_limit_of_the_process_garbage_is_collected_once_and_tried_again(kind):
    gc.collect()
    scopes.set_limit(scopes.statistics().live_bytes + 1000)
    Node(scopes.ImplicitScope().allocate(800))
    scope = kind()
    assert len(scope.allocate(900)) == 900
    getattr(scope, "close", bool)()


def test_at_the_limit_nothing_is_collected_with_the_collector_disabled_unless_asked(kind):
    scope = kind()
    Node(scopes.ImplicitScope().allocate(1000))
    scopes.set_limit(scopes.statistics().live_bytes)
    gc.disable()
    try:
        with pytest.raises(scopes.ScopeMemoryError, match="reclaimed 0"):
            scope.allocate(20)
        scopes.set_implicit_budget(BUDGET, when_gc_disabled=True)
        scope.allocate(20)
    finally:
        gc.enable()
    getattr(scope, "close", bool)()


def test_what_a_collection_at_the_limit_reclaimed_is_told(whole):
    gc.collect()
    live = scopes.statistics().live_bytes
    scopes.set_limit(live + 1000)
    Node(scopes.ImplicitScope().allocate(800))
    message = (
        f"1001 bytes requested, but the process has {live} live bytes of the {live + 1000} that "
        "scopes.set_limit allows, and a collection reclaimed 800"
    )
    with pytest.raises(scopes.ScopeMemoryError, match=whole(message)):
        scopes.ImplicitScope().allocate(1001)


def test_a_child_of_fork_counts_its_own(in_child):
    said = in_child("""
        import os, scopes
        thing, kept = {1}, scopes.ImplicitScope().allocate(1000)
        scopes.account(thing, 500)
        if os.fork() == 0:
            before = scopes.statistics().implicit_bytes
            del thing, kept
            os.write(1, f"{before} {scopes.statistics().implicit_bytes} ".encode())
            os._exit(0)
        os.wait()
        os.write(1, str(scopes.statistics().implicit_bytes).encode())
    """)
    assert said == "0 0 1500"
