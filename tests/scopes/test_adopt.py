"""adopt(): foreign memory under the rules of a scope, released once."""

import ctypes
import gc

import pytest

import scopes

LIVING = [
    ctypes.create_string_buffer(n) for n in (64,) * 8
]  # foreign memory that outlives all tests


@pytest.fixture
def foreign():
    """A foreign buffer of 64 bytes and its address."""
    buffer = LIVING[0]
    buffer.raw = bytes(range(64))
    return buffer, ctypes.addressof(buffer)


def test_an_adopted_segment_reads_and_writes_the_foreign_memory(scope, foreign):
    buffer, address = foreign
    segment = scope.adopt(address, 64)
    segment[1] = 200
    buffer[2] = 201
    assert bytes(segment) == b"\0\xc8\xc9" + bytes(range(3, 64)) == buffer.raw


def test_adopted_memory_counts_as_no_allocation(scope, foreign):
    before = scopes.statistics()
    segment = scope.adopt(foreign[1], 64)
    assert (scopes.statistics(), scope.statistics().live_bytes) == (before, 0)
    assert scope.statistics().segments == 1
    assert len(segment) == 64


def test_the_limit_does_not_hold_for_adopted_memory(kind, foreign):
    scope = kind(limit=0)
    assert len(scope.adopt(foreign[1], 64)) == 64
    getattr(scope, "close", bool)()


def test_closing_leaves_foreign_memory_as_it_is(explicit, foreign):
    buffer, address = foreign
    with explicit() as scope:
        segment = scope.adopt(address, 64)
        segment.fill(9)
    scopes.trim()
    assert buffer.raw == bytes([9]) * 64


def test_a_closed_adopted_segment_refuses(explicit, foreign, whole):
    with explicit() as scope:
        segment = scope.adopt(foreign[1], 64)
    with pytest.raises(
        scopes.ScopeClosedError, match=whole(f"the {scope.kind} scope at ADDRESS is closed")
    ):
        segment[0]


def test_close_calls_release_with_the_address_once(explicit, foreign):
    released = []
    scope = explicit()
    segment = scope.adopt(foreign[1], 64, released.append)
    assert released == []
    scope.close()
    assert released == [foreign[1]]
    scope.close()
    del segment, scope
    gc.collect()
    assert released == [foreign[1]]


def test_dropping_the_segment_releases_nothing_before_close(explicit, foreign):
    released = []
    scope = explicit()
    scope.adopt(foreign[1], 64, release=released.append)
    gc.collect()
    assert released == []
    scope.close()
    assert released == [foreign[1]]


def test_dropping_an_implicit_scope_releases(foreign):
    released = []
    segment = scopes.ImplicitScope().adopt(foreign[1], 64, released.append)
    part = segment[3:5]
    del segment
    assert (released, part[0]) == ([], 3)
    del part
    assert released == [foreign[1]]


def test_release_runs_after_the_callbacks(explicit, foreign):
    order = []
    with explicit() as scope:
        segment = scope.adopt(foreign[1], 64, lambda address: order.append("release"))
        scope.callback(lambda: order.append(segment[5]))
    assert order == [5, "release"]


def test_an_export_of_adopted_memory_is_counted(explicit, foreign):
    scope = explicit()
    view = memoryview(scope.adopt(foreign[1], 64))
    with pytest.raises(scopes.ScopeInUseError, match="1 of the segment of 64 bytes"):
        scope.close()
    view.release()
    scope.close()


def test_once_exported_memory_is_released_with_its_last_segment(explicit, foreign):
    released = []
    scope = explicit()
    segment = scope.adopt(foreign[1], 64, released.append)
    part = segment[1:2]
    memoryview(segment).release()
    scope.close()
    assert released == []
    del segment
    assert released == []
    del part
    assert released == [foreign[1]]


def test_deferred_exports_hold_the_release_back(explicit, foreign):
    released = []
    scope = explicit(exports="defer")
    view = memoryview(scope.adopt(foreign[1], 64, released.append))
    before = scopes.statistics().deferred_bytes
    scope.close()
    assert (released, bytes(view), scopes.statistics().deferred_bytes) == (
        [],
        bytes(range(64)),
        before,
    )
    view.release()
    del view
    gc.collect()
    assert released == [foreign[1]]


def test_each_adoption_is_released_once(explicit):
    released = []
    with explicit() as scope:
        for buffer in LIVING:
            scope.adopt(ctypes.addressof(buffer), 64, released.append)
    assert sorted(released) == sorted(ctypes.addressof(buffer) for buffer in LIVING)


def test_all_releases_run_though_each_raises(explicit):
    released = []

    def release(address):
        released.append(address)
        raise ValueError(len(released))

    scope = explicit()
    for buffer in LIVING[:3]:
        scope.adopt(ctypes.addressof(buffer), 64, release)
    with pytest.raises(ValueError, match=r"\A3\Z") as caught:
        scope.close()
    contexts = caught.value.__context__, caught.value.__context__.__context__
    assert [str(error) for error in contexts] == ["2", "1"]
    assert (len(released), scope.closed) == (3, True)


def test_a_release_that_raises_in_a_finalizer_is_unraisable_once(foreign, unraisable):
    def release(address):
        raise ValueError("release")

    scopes.ImplicitScope().adopt(foreign[1], 64, release)
    gc.collect()
    assert unraisable == [(ValueError, "release")]


def test_a_release_that_holds_its_segment_is_collected(foreign):
    before = scopes.statistics().open_scopes
    released = []

    class Release:
        def __call__(self, address):
            released.append(address)

    release = Release()
    release.segment = scopes.ImplicitScope().adopt(foreign[1], 64, release)
    del release
    gc.collect()
    assert (released, scopes.statistics().open_scopes) == ([foreign[1]], before)


def test_no_release_may_be_told_as_none(scope, foreign):
    memory, address = foreign
    segment = scope.adopt(address, 4, release=None)
    assert bytes(segment) == memory.raw[:4]


def test_adopting_nothing_gives_a_segment_without_bytes(scope, foreign):
    assert bytes(scope.adopt(foreign[1], 0)) == b""


def test_adopted_memory_may_be_readonly(scope, foreign):
    segment = scope.adopt(foreign[1], 64).toreadonly()
    with pytest.raises(TypeError):
        segment[0] = 1
    assert segment[5] == 5


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((0, 1), ValueError, "address must not be 0"),
        ((1, -1), ValueError, "nbytes must be 0 or more, found -1"),
        (("a", 1), TypeError, "'str' object cannot be interpreted as an integer"),
        ((1.0, 1), TypeError, "'float' object cannot be interpreted as an integer"),
        ((1, "a"), TypeError, "'str' object cannot be interpreted as an integer"),
        (
            (2**64, 1),
            OverflowError,
            "Python int too large to convert to C unsigned long",
        ),
        ((1, 1, 5), TypeError, "release must be callable or None, found 5"),
        ((1,), TypeError, "adopt() missing required argument 'nbytes'"),
        ((), TypeError, "adopt() missing required argument 'address'"),
        ((1, 2, None, 4), TypeError, "adopt() takes at most 3 positional arguments, found 4"),
        (
            (2**64 - 1, 5),
            ValueError,
            "5 bytes at address 0xffffffffffffffff pass the end of memory",
        ),
    ],
)
def test_bad_arguments_are_named_and_nothing_is_adopted(scope, whole, args, error, message):
    with pytest.raises(error, match=whole(message)):
        scope.adopt(*args)
    assert scope.statistics().segments == 0


def test_a_refused_adoption_is_not_released(explicit):
    released = []
    scope = explicit()
    scope.close()
    with pytest.raises(scopes.ScopeClosedError):
        scope.adopt(1, 1, released.append)
    gc.collect()
    assert released == []


@pytest.mark.parametrize("kind_of_use", ["own", "other", "slice", "view", "thread"])
def test_released_memory_can_not_be_reached_while_the_scope_is_closing(in_child, kind_of_use):
    assert in_child(f"""
        import ctypes, scopes, threading
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

        def adopt():
            return scope.adopt(libc.mmap(None, 4096, 3, 0x22, -1, 0), 4096, release)

        refused, gone = 0, set()

        def use(segment):
            global refused
            try:
                if {kind_of_use!r} == "slice":
                    bytes(segment[0:2])
                elif {kind_of_use!r} == "view":
                    bytes(segment)
                else:
                    segment[0] = segment[1]
            except scopes.ScopeClosedError:
                refused += 1

        def release(address):
            libc.munmap(address, 4096)
            gone.add(address)
            for segment, its_address in segments:
                if its_address in gone and {kind_of_use!r} == "thread":
                    thread = threading.Thread(target=use, args=(segment,))
                    thread.start()
                    thread.join()
                elif its_address in gone:
                    use(segment)

        scope = scopes.SharedScope()
        segments = []
        for _ in range(3 if {kind_of_use!r} != "own" else 1):
            segment = adopt()
            pin = segment.pin()
            segments.append((segment, None))
        # The addresses without an export, which would put the release off.
        segments = [(s, int(repr(s).split(" at ")[1][:-1], 16)) for s, _ in segments]
        scope.close()
        print(refused)
    """) == ("1" if kind_of_use == "own" else "6")


@pytest.mark.parametrize("use", [memoryview, lambda s: s.pin().__enter__(), lambda s: s[0]])
def test_memory_that_a_finalizer_released_is_out_of_reach_though_the_scope_is_open(
    scope, foreign, whole, use
):
    # In a cycle without the GIL, the collector may come to it first, then to what uses it.
    released = []
    segment = scope.adopt(foreign[1], 16, released.append)
    (adoption,) = [o for o in gc.get_referents(segment) if type(o).__name__ == "Adoption"]
    adoption.__del__()
    message = f"the {scope.kind} scope at ADDRESS is being collected"
    with pytest.raises(scopes.ScopeClosedError, match=whole(message)):
        use(segment)
    assert released == [foreign[1]]
