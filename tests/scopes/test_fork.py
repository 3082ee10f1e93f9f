"""A forked child reads what it inherits, counts for itself, and touches nothing of the parent."""

import gc

import pytest

import scopes


def test_a_child_reads_inherited_segments(scope, forked):
    segments = [scope.allocate(n) for n in (1, 100, 20_000, 2**20)]
    for segment in segments:
        segment.fill(7)

    def child():
        for segment in segments:
            assert bytes(segment) == bytes([7]) * len(segment)
            assert bytes(segment[0:1]) == b"\7"

    forked(child)


def test_what_a_child_writes_stays_in_the_child(segment, forked):
    def child():
        segment.fill(99)
        assert bytes(segment) == bytes([99]) * 16

    forked(child)
    assert bytes(segment) == bytes(range(16))


def test_the_figures_of_a_child_start_at_0(scope, forked):
    scope.allocate(1000)

    def child():
        figures = scopes.statistics()
        assert (figures.live_bytes, figures.peak_bytes, figures.open_scopes) == (0, 0, 0)
        assert (figures.cached_bytes, figures.mapped_bytes, figures.retired_bytes) == (0, 0, 0)
        with scopes.SharedScope() as own:
            own.allocate(10)
            assert scopes.statistics().live_bytes == 10
            assert scopes.statistics().open_scopes == 1
        assert (scopes.statistics().live_bytes, scopes.statistics().peak_bytes) == (0, 10)

    forked(child)


def test_dropping_inherited_scopes_runs_no_callback_and_changes_no_figure(kind, forked):
    ran, released = [], []
    scope = kind()
    scope.callback(ran.append, 1)
    scope.adopt(4096, 0, released.append)
    box = [scope, scope.allocate(1000), scope.allocate(2**20)]
    close = getattr(scope, "close", bool)
    del scope

    def child():
        nonlocal close
        box.clear()
        del close
        gc.collect()
        figures = scopes.statistics()
        assert (figures.live_bytes, figures.open_scopes, figures.retired_bytes) == (0, 0, 0)
        assert (ran, released) == ([], [])

    forked(child)
    close()
    box.clear()
    assert (ran, released) == ([1], [4096])


def test_closing_an_inherited_scope_runs_no_callback(explicit, forked, whole):
    ran = []
    scope = explicit()
    scope.callback(ran.append, 1)
    segment = scope.allocate(10)

    def child():
        scope.close()
        assert (scope.closed, ran) == (True, [])
        with pytest.raises(scopes.ScopeClosedError):
            segment[0]
        assert scopes.statistics().open_scopes == 0

    forked(child)
    assert segment[0] == 0
    scope.close()
    assert ran == [1]


def test_the_with_statement_of_an_inherited_scope_ends_quietly(explicit, forked):
    ran = []
    with explicit() as scope:
        scope.callback(ran.append, 1)

        def child():
            scope.__exit__(None, None, None)
            assert ran == []

        forked(child)
    assert ran == [1]


@pytest.mark.parametrize(
    "use",
    [
        lambda scope: scope.allocate(1),
        lambda scope: scope.adopt(4096, 1),
        lambda scope: scope.callback(bool),
    ],
    ids=["allocate", "adopt", "callback"],
)
def test_an_inherited_scope_takes_nothing_new(scope, forked, whole, use):
    message = (
        f"the {scope.kind} scope at ADDRESS was inherited through fork and can only be read here: "
        "open a new one in this process"
    )

    def child():
        with pytest.raises(scopes.ScopeError, match=whole(message)):
            use(scope)

    forked(child)


def test_a_child_exports_and_releases_inherited_segments(explicit, forked):
    scope = explicit(exports="defer")
    segment = scope.allocate(2**20)
    segment.fill(3)
    held = memoryview(segment)

    def child():
        view = memoryview(segment)
        with segment.pin() as address:
            assert address
        scope.close()
        assert (view[5], held[5]) == (3, 3)
        view.release()
        held.release()
        assert scopes.statistics().deferred_bytes == 0

    forked(child)
    assert held[5] == 3
    held.release()
    scope.close()


def test_memory_of_the_parent_is_never_used_again_by_the_child(scope, forked):
    segments = [scope.allocate(1000) for _ in range(50)]
    for segment in segments:
        segment.fill(7)

    def child():
        kept = segments[::2]
        del segments[:]
        fresh = [scopes.ImplicitScope().allocate(1000) for _ in range(200)]
        for segment in fresh:
            assert bytes(segment) == bytes(1000)
            segment.fill(255)
        assert all(bytes(segment) == bytes([7]) * 1000 for segment in kept)

    forked(child)
    assert all(bytes(segment) == bytes([7]) * 1000 for segment in segments)


def test_a_child_inherits_the_limits(forked):
    scopes.set_limit(scopes.statistics().live_bytes + 1000)
    scopes.set_cache_limit(0)

    def child():
        with scopes.SharedScope() as own:
            with pytest.raises(scopes.ScopeMemoryError):
                own.allocate(2**20)
            scopes.set_limit(None)
            own.allocate(2**20)
        assert scopes.statistics().cached_bytes == 0

    forked(child)


def test_an_inherited_owner_that_dies_in_the_child_closes_nothing_of_the_parents(forked):
    class Thing:
        pass

    ran = []
    box = [Thing()]
    scope = scopes.ImplicitScope(owner=box[0])
    scope.callback(ran.append, 1)

    def child():
        box.clear()
        assert (ran, scopes.statistics().open_scopes) == ([], 0)

    forked(child)
    assert (ran, scope.closed) == ([], False)
    box.clear()
    assert ran == [1]


def test_a_child_of_a_child_starts_anew_as_well(segment, forked):
    def child():
        with scopes.SharedScope() as own:
            mine = own.allocate(10)
            mine.fill(5)

            def grandchild():
                assert scopes.statistics().live_bytes == 0
                assert (bytes(mine), segment[3]) == (bytes([5]) * 10, 3)

            forked(grandchild)
            assert scopes.statistics().live_bytes == 10

    forked(child)


def test_a_child_gives_no_warning_of_scopes_of_the_parent(in_child):
    said = in_child(
        """
        import os, scopes
        scope = scopes.ConfinedScope()
        if os.fork() == 0:
            del scope
            print("child", flush=True)
            os._exit(0)
        os.wait()
        scope.close()
        print("parent")
    """,
        "-W",
        "error",
    )
    assert said == "child\nparent"


def test_a_child_exits_as_an_interpreter_does(in_child):
    said = in_child("""
        import os, sys, scopes
        scope = scopes.ImplicitScope()
        scope.callback(print, "the callback of the parent", flush=True)
        segment = scope.allocate(1000)
        view = memoryview(segment)
        child = os.fork()
        if child == 0:
            own = scopes.ImplicitScope().allocate(10)
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print("parent", flush=True)
        del view, segment, scope
    """)
    assert said == "parent\nthe callback of the parent"


def test_the_memory_is_private(in_child):
    # Shared anonymous maps would count as shmem and show a child's writes to the parent.
    said = in_child("""
        import scopes
        scope = scopes.ImplicitScope()
        with scope.allocate(2**22).pin() as address:
            for line in open("/proc/self/maps"):
                span, flags = line.split()[:2]
                first, last = (int(number, 16) for number in span.split("-"))
                if first <= address < last:
                    print(flags)
    """)
    assert said == "rw-p"
