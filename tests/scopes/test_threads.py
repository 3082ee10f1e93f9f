"""Threads that start together, and what must hold when they are done."""

import itertools
import queue
import threading

import pytest

import scopes

THREADS = 8


pytestmark = pytest.mark.usefixtures("switch_often")


def figures():
    now = scopes.statistics()
    return now.live_bytes, now.open_scopes, now.deferred_bytes, now.retired_bytes


@pytest.mark.parametrize("round_", range(20))
def test_of_racing_closes_exactly_one_runs_the_callbacks(together, round_):
    ran = []
    scope = scopes.SharedScope()
    scope.allocate(1000)
    for number in range(10):
        scope.callback(ran.append, number)
    errors = together(*[scope.close] * THREADS)
    assert (errors, ran, scope.closed) == ([], list(range(10))[::-1], True)


def test_each_registered_callback_runs_once_or_its_registration_raised(together):
    for _ in range(20):
        scope = scopes.SharedScope()
        ran, registered = [], []

        def register(name, scope=scope, ran=ran, registered=registered):
            for number in range(200):
                try:
                    scope.callback(ran.append, (name, number))
                except scopes.ScopeClosedError:
                    return
                registered.append((name, number))

        jobs = [lambda name=name: register(name) for name in range(THREADS - 1)]
        assert together(*jobs, scope.close) == []
        assert sorted(ran) == sorted(registered)


def test_each_adoption_is_released_once_or_was_refused(together):
    for _ in range(20):
        scope = scopes.SharedScope()
        released, adopted = [], []

        def adopt(name, scope=scope, released=released, adopted=adopted):
            for number in range(100):
                address = 4096 + name * 1000 + number
                try:
                    scope.adopt(address, 0, released.append)
                except scopes.ScopeClosedError:
                    return
                adopted.append(address)

        jobs = [lambda name=name: adopt(name) for name in range(THREADS - 1)]
        assert together(*jobs, scope.close) == []
        assert sorted(released) == sorted(adopted)


def test_no_thread_uses_adopted_memory_that_is_released(in_child):
    said = in_child("""
        import ctypes, sys, threading, scopes
        sys.setswitchinterval(5e-6)
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        pages = [ctypes.c_void_p, ctypes.c_size_t]
        libc.mmap.argtypes = [*pages, *[ctypes.c_int] * 3, ctypes.c_long]
        libc.munmap.argtypes = pages
        released = []

        def release(address):
            released.append(libc.munmap(address, 4096))

        def use(segment, start):
            start.wait()
            try:
                while True:
                    segment[7] = segment[8]
                    segment.fill(0)
                    segment.copy_from(b"abc", 5)
                    segment[0:9] = bytes(9)
                    segment == b"abc"
            except scopes.ScopeClosedError:
                pass

        for _ in range(100):
            scope = scopes.SharedScope()
            start = threading.Barrier(4)
            segment = scope.adopt(libc.mmap(None, 4096, 3, 0x22, -1, 0), 4096, release)
            threads = [threading.Thread(target=use, args=(segment, start)) for _ in range(3)]
            for thread in threads:
                thread.start()
            start.wait()
            scope.close()
            for thread in threads:
                thread.join()
        print(len(released), set(released))
    """)
    assert said == "100 {0}"


def test_threads_allocate_in_one_scope_without_overlap(together):
    scope = scopes.SharedScope()
    made = queue.SimpleQueue()
    live = scopes.statistics().live_bytes

    def allocate(name):
        for number in range(200):
            segment = scope.allocate((1, 64, 1000, 5000)[number % 4])
            segment.fill(name)
            made.put((name, segment))

    assert together(*[lambda name=name: allocate(name + 1) for name in range(THREADS)]) == []
    assert scopes.statistics().live_bytes - live == scope.statistics().live_bytes
    assert scope.statistics().live_bytes == THREADS * 50 * (1 + 64 + 1000 + 5000)
    while not made.empty():
        name, segment = made.get()
        assert bytes(segment) == bytes([name]) * len(segment)
    scope.close()


def use_until_closed(scope, allowed, stop):
    """Allocates, reads, writes and exports; only documented errors may come out."""
    while not stop.is_set():
        try:
            segment = scope.allocate(256)
            segment[0] = 5
            part = segment[0:16]
            with part.pin():
                pass
            view = memoryview(part)
            assert view[0] in (0, 5)
            view.release()
            assert segment[0] in (0, 5)
            segment.fill(5)
            segment.copy_from(bytes(16))
            scope.statistics()
            repr(scope), repr(segment)
        except allowed:
            if scope.closed:
                return


@pytest.mark.parametrize("exports", ["raise", "defer"])
def test_threads_use_a_scope_while_one_closes_it(together, exports):
    before = figures()
    for _ in range(15):
        scope = scopes.SharedScope(exports=exports)
        stop = threading.Event()

        def close(scope=scope):
            while not scope.closed:
                try:
                    scope.close()
                except scopes.ScopeInUseError:
                    continue

        def use(scope=scope, stop=stop):
            use_until_closed(scope, scopes.ScopeClosedError, stop)

        assert together(*[use] * (THREADS - 1), close) == []
        stop.set()
        del scope, use, close
    assert figures() == before


def test_segments_pass_from_thread_to_thread_and_nothing_is_lost(together):
    before = figures()
    passed = queue.SimpleQueue()

    def produce():
        for number in range(300):
            scope = scopes.SharedScope()
            segment = scope.allocate((64, 1000, 20_000)[number % 3])
            segment.fill(number % 256)
            passed.put((scope, segment, number % 256))

    def consume():
        for _ in range(300):
            scope, segment, byte = passed.get()
            assert segment[0] == segment[-1] == byte
            scope.close()

    assert together(*[produce, consume] * (THREADS // 2)) == []
    assert figures() == before


def test_each_thread_has_confined_scopes_of_its_own(together):
    before = figures()

    def use():
        for number in range(500):
            with scopes.ConfinedScope() as scope:
                segment = scope.allocate(number)
                segment.fill(1)
                assert bytes(segment) == bytes([1]) * number

    assert together(*[use] * THREADS) == []
    assert figures() == before


def test_implicit_scopes_are_dropped_on_all_threads_at_once(together):
    before = figures()
    shared = [scopes.ImplicitScope().allocate(1000) for _ in range(100)]
    boxes = [list(shared) for _ in range(THREADS)]
    del shared
    assert together(*[box.clear for box in boxes]) == []
    assert figures() == before


def test_owners_die_on_all_threads_at_once(together):
    class Thing:
        pass

    before = figures()
    ran = []
    boxes = [[Thing() for _ in range(50)] for _ in range(THREADS)]
    for thing in itertools.chain(*boxes):
        scopes.ImplicitScope(owner=thing).callback(ran.append, 1)
    del thing
    assert together(*[box.clear for box in boxes]) == []
    assert (len(ran), figures()) == (50 * THREADS, before)


def test_one_view_is_released_by_all_threads_once(together):
    for _ in range(50):
        scope = scopes.SharedScope()
        view = memoryview(scope.allocate(10))
        assert together(*[view.release] * THREADS) == []
        assert scope.statistics().exports == 0
        scope.close()


def test_exports_taken_and_given_back_by_all_threads_are_counted_exactly(together):
    with scopes.SharedScope() as scope:
        segment = scope.allocate(64)

        def export():
            for _ in range(500):
                with memoryview(segment) as view, segment.pin():
                    assert len(view) == 64

        assert together(*[export] * THREADS) == []
        assert scope.statistics().exports == 0


def test_a_pin_is_entered_by_one_of_the_threads_that_race_for_it(together):
    with scopes.SharedScope() as scope:
        for _ in range(50):
            pin = scope.allocate(8).pin()
            errors = together(*[pin.__enter__] * THREADS)
            assert [type(error) for error in errors] == [scopes.ScopeError] * (THREADS - 1)
            pin.__exit__()
            assert scope.statistics().exports == 0


def test_one_of_the_threads_that_race_for_it_enters_a_scope(together):
    for _ in range(20):
        scope = scopes.SharedScope()
        errors = together(*[scope.__enter__] * THREADS)
        assert [type(error) for error in errors] == [scopes.ScopeError] * (THREADS - 1)
        scope.close()


def test_the_limit_of_the_process_holds_for_all_threads_together(together):
    live = scopes.statistics().live_bytes
    scopes.set_limit(live + 100 * 1000)
    scope = scopes.SharedScope()
    made = []

    def allocate():
        for _ in range(50):
            try:
                made.append(scope.allocate(1000))
            except scopes.ScopeMemoryError:
                continue

    assert together(*[allocate] * THREADS) == []
    assert (len(made), scopes.statistics().live_bytes - live) == (100, 100 * 1000)
    scope.close()


def test_a_limit_counts_what_other_threads_allocated_before_it_was_set(on_thread):
    with scopes.SharedScope() as scope:
        live = scopes.statistics().live_bytes
        on_thread(scope.allocate, 1000)
        scopes.set_limit(live + 1500)
        with pytest.raises(scopes.ScopeMemoryError):
            scope.allocate(501)
        assert len(scope.allocate(500)) == 500


def test_the_limit_of_a_scope_holds_for_all_threads_together(together):
    scope = scopes.SharedScope(limit=100 * 1000)
    made = []

    def allocate():
        for _ in range(50):
            try:
                made.append(scope.allocate(1000))
            except scopes.ScopeMemoryError:
                continue

    assert together(*[allocate] * THREADS) == []
    assert len(made) == 100
    scope.close()


def test_trim_and_the_cache_limit_race_with_scopes(together):
    before = figures()
    done = threading.Event()

    def use():
        try:
            for number in range(500):
                with scopes.SharedScope() as scope:
                    segment = scope.allocate((100, 5000, 70_000)[number % 3])
                    assert not any(segment[0:64])
                    segment.fill(255)
        finally:
            done.set()

    def manage():
        while not done.is_set():
            scopes.trim()
            scopes.set_cache_limit(0)
            scopes.set_cache_limit(2**20)
            scopes.statistics()

    assert together(*[use] * 4, manage) == []
    assert figures() == before


def test_threads_that_end_leave_no_memory_behind(on_thread):
    def use():
        made = [scopes.SharedScope() for _ in range(10)]
        for scope in made:
            scope.allocate(1000)
        for scope in made:
            scope.close()

    on_thread(use)
    scopes.trim()
    before = scopes.statistics()
    for _ in range(50):
        on_thread(use)
    scopes.trim()
    after = scopes.statistics()
    assert (after.cached_bytes, after.mapped_bytes) == (before.cached_bytes, before.mapped_bytes)
