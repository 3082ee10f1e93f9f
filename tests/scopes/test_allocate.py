"""allocate(): sizes, alignments, limits and what it refuses."""

import pytest

import scopes

KIB, MIB = 2**10, 2**20
SIZES = [0, 1, 2, 15, 16, 17, 63, 64, 65, 79, 80, 81, 4095, 4096, 4097]
SIZES += [n * KIB + d for n in (14, 16, 64) for d in (-1, 0, 1)]
SIZES += [MIB - 1, MIB, MIB + 1]
ALIGNMENTS = [2**n for n in range(22)]

#: CPython's own text differs between its versions.
OVERFLOW = "ANYTHING"


def address_of(segment):
    with segment.pin() as address:
        return address


@pytest.mark.parametrize("nbytes", SIZES)
def test_a_segment_has_the_asked_length(scope, nbytes):
    segment = scope.allocate(nbytes)
    assert (len(segment), segment.nbytes, len(memoryview(segment))) == (nbytes,) * 3


@pytest.mark.parametrize("nbytes", SIZES)
def test_a_segment_is_zeroed(scope, nbytes):
    assert bytes(scope.allocate(nbytes)) == bytes(nbytes)


@pytest.mark.parametrize("nbytes", SIZES)
def test_a_segment_is_zeroed_where_memory_is_reused(explicit, nbytes):
    for _ in range(3):
        with explicit() as scope:
            segments = [scope.allocate(nbytes) for _ in range(3)]
            assert all(bytes(segment) == bytes(nbytes) for segment in segments)
            for segment in segments:
                segment.fill(0xFF)


def test_memory_left_dirty_by_another_size_is_zeroed(explicit):
    for nbytes in SIZES + SIZES[::-1]:
        with explicit() as scope:
            segment = scope.allocate(nbytes)
            assert bytes(segment) == bytes(nbytes)
            segment.fill(0xFF)


@pytest.mark.parametrize("align", ALIGNMENTS)
def test_a_segment_is_aligned(scope, align):
    segments = [scope.allocate(nbytes, align=align) for nbytes in (0, 1, 100, 5000, 70_000)]
    assert [address_of(segment) % align for segment in segments] == [0] * 5


def test_the_default_alignment_is_16(scope):
    segments = [scope.allocate(nbytes) for nbytes in (1, 3, 5, 20_000, 1)]
    assert [address_of(segment) % 16 for segment in segments] == [0] * 5


def test_aligned_memory_is_aligned_again_when_it_is_reused(explicit):
    for align in ALIGNMENTS + ALIGNMENTS[::-1]:
        with explicit() as scope:
            scope.allocate(3, align=1)
            segment = scope.allocate(17, align=align)
            assert address_of(segment) % align == 0
            assert bytes(segment) == bytes(17)
            segment.fill(0xEE)


def test_segments_of_all_sizes_do_not_overlap(scope):
    segments = [scope.allocate(n, align=a) for n in SIZES for a in (1, 16, 64, 4096, 65536)]
    for number, segment in enumerate(segments):
        segment.fill(number % 251)
    for number, segment in enumerate(segments):
        assert bytes(segment) == bytes([number % 251]) * len(segment)


def test_segments_without_bytes_have_addresses_of_their_own(scope):
    segments = [scope.allocate(0) for _ in range(100)]
    assert len({address_of(segment) for segment in segments}) == 100


def test_a_thousand_segments_share_their_memory_with_nobody(scope):
    segments = [scope.allocate(64) for _ in range(1000)]
    for number, segment in enumerate(segments):
        segment.fill(number % 256)
    assert all(bytes(s) == bytes([n % 256]) * 64 for n, s in enumerate(segments))


@pytest.mark.parametrize("nbytes", [64, 1000, 4096, 16 * KIB, 17 * KIB, 100_000])
def test_many_segments_map_at_most_a_quarter_more_than_they_hold(explicit_scope, nbytes):
    scopes.trim()
    before = scopes.statistics()
    count = 8 * MIB // nbytes
    segments = [explicit_scope.allocate(nbytes) for _ in range(count)]
    after = scopes.statistics()
    mapped = after.mapped_bytes - before.mapped_bytes - (after.cached_bytes - before.cached_bytes)
    assert len(segments) == count
    assert mapped <= 1.25 * nbytes * count + 64 * KIB


def test_a_small_segment_does_not_make_a_map_of_its_own(explicit_scope):
    scopes.trim()
    before = scopes.statistics().mapped_bytes
    held = []
    for _ in range(16):
        scope = scopes.ImplicitScope()
        held.append(scope.allocate(1024))
    assert scopes.statistics().mapped_bytes - before <= 128 * KIB


@pytest.mark.parametrize("value", [True, "index"])
def test_any_object_with_an_index_is_a_size(scope, value):
    class Five:
        def __index__(self):
            return 5

    assert len(scope.allocate(Five() if value == "index" else value)) == (
        5 if value == "index" else 1
    )


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        ((-1,), {}, ValueError, "nbytes must be 0 or more, found -1"),
        ((-(2**63),), {}, ValueError, f"nbytes must be 0 or more, found {-(2**63)}"),
        ((2**63,), {}, OverflowError, OVERFLOW),
        ((1.0,), {}, TypeError, "'float' object cannot be interpreted as an integer"),
        (("1",), {}, TypeError, "'str' object cannot be interpreted as an integer"),
        ((None,), {}, TypeError, "'NoneType' object cannot be interpreted as an integer"),
        ((), {}, TypeError, "allocate() missing required argument 'nbytes'"),
        ((1, 2), {}, TypeError, "allocate() takes at most 1 positional arguments, found 2"),
        ((1,), {"nbytes": 1}, TypeError, "allocate() got multiple values for argument 'nbytes'"),
        ((1,), {"size": 1}, TypeError, "allocate() got an unexpected keyword argument 'size'"),
        ((1,), {"align": 1.0}, TypeError, "'float' object cannot be interpreted as an integer"),
        ((1,), {"align": 2**63}, OverflowError, OVERFLOW),
    ],
)
def test_bad_arguments_are_named(scope, whole, args, kwargs, error, message):
    with pytest.raises(error, match=whole(message)):
        scope.allocate(*args, **kwargs)


@pytest.mark.parametrize("align", [0, -1, -16, 3, 5, 6, 24, 2**21 + 1, 2**22, 2**62])
def test_an_alignment_that_is_no_power_of_two_up_to_2_mib_is_refused(scope, whole, align):
    message = f"align must be a power of two from 1 to 2097152, found {align}"
    with pytest.raises(ValueError, match=whole(message)):
        scope.allocate(1, align=align)


def test_arguments_may_be_named(scope):
    segment = scope.allocate(nbytes=3, align=64)
    assert (len(segment), address_of(segment) % 64) == (3, 0)


@pytest.mark.parametrize("nbytes", [2**47, 2**48])
def test_what_the_system_can_not_map_is_a_memory_error(scope, whole, nbytes):
    live = scopes.statistics().live_bytes
    message = (
        f"{nbytes} bytes requested with {live} live, but the system has no memory left to map, "
        "and a collection reclaimed 0"
    )
    with pytest.raises(scopes.ScopeMemoryError, match=whole(message)):
        scope.allocate(nbytes)


@pytest.mark.parametrize("nbytes", [2**48 + 1, 2**62, 2**63 - 1])
def test_what_no_address_space_holds_is_a_memory_error(scope, whole, nbytes):
    message = f"{nbytes} bytes requested, but an address space holds at most {2**48}"
    with pytest.raises(scopes.ScopeMemoryError, match=whole(message)):
        scope.allocate(nbytes)


@pytest.mark.parametrize("nbytes", [2**48, 2**62, 2**63 - 1])
def test_an_allocation_that_failed_is_in_no_figure(in_child, nbytes):
    assert (
        in_child(f"""
        import scopes
        from scopes._core import window_peak_bytes
        scope = scopes.ImplicitScope()
        scope.allocate(100)
        def figures():
            now = scopes.statistics()
            return now.live_bytes, now.peak_bytes, now.implicit_bytes, scope.statistics()
        before = figures()
        try:
            scope.allocate({nbytes})
        except scopes.ScopeMemoryError:
            print(figures() == before, window_peak_bytes(False))
    """)
        == "True 100"
    )


def test_the_limit_of_the_address_space_is_named(in_child):
    assert in_child("""
        import resource, scopes
        resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))
        scope = scopes.ImplicitScope()
        try:
            scope.allocate(2**34)
        except scopes.ScopeMemoryError as error:
            print(error)
    """) == (
        "17179869184 bytes requested with 0 live, but the address space of the process is limited "
        "to 8589934592 bytes (RLIMIT_AS), and a collection reclaimed 0"
    )


def test_the_limit_of_maps_is_named(in_child):
    said = in_child("""
        import ctypes, mmap, scopes
        most = int(open("/proc/sys/vm/max_map_count").read())
        if most > 2**18:
            print("more maps than a test should make")
            raise SystemExit
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        scope = scopes.ImplicitScope()
        with scope.allocate(4096 * 2 * most).pin() as address:
            page = 0
            while libc.mprotect(address + 8192 * page, 4096, mmap.PROT_READ) == 0:
                page += 1
            try:
                for _ in range(100):
                    scope.allocate(2**28, align=2**21)
            except scopes.ScopeMemoryError as error:
                print("as expected" if "vm.max_map_count" in str(error) else error)
            for _ in range(page):
                libc.mprotect(address + 8192 * _, 4096, mmap.PROT_READ | mmap.PROT_WRITE)
    """)
    if said.startswith("more maps"):
        pytest.skip(said)
    assert said == "as expected"


# ---- caps ----------------------------------------------------------------------------------------


def test_a_scope_holds_exactly_its_limit(kind):
    scope = kind(limit=1000)
    segments = [scope.allocate(600), scope.allocate(400), scope.allocate(0)]
    assert (scope.statistics().live_bytes, len(segments)) == (1000, 3)
    getattr(scope, "close", bool)()


def test_a_byte_above_the_limit_is_refused_with_the_numbers(kind, whole):
    scope = kind(limit=1000)
    scope.allocate(600)
    message = (
        f"401 bytes requested, but the {scope.kind} scope at ADDRESS has 600 live bytes "
        "of the 1000 that its limit allows"
    )
    with pytest.raises(scopes.ScopeMemoryError, match=whole(message)):
        scope.allocate(401)
    assert len(scope.allocate(400)) == 400
    getattr(scope, "close", bool)()


def test_a_limit_of_nothing_allows_segments_without_bytes(kind):
    scope = kind(limit=0)
    assert len(scope.allocate(0)) == 0
    with pytest.raises(scopes.ScopeMemoryError):
        scope.allocate(1)
    getattr(scope, "close", bool)()


@pytest.mark.parametrize("limit", [None, 0, 5, 2**63 - 1])
def test_the_limit_is_reported(kind, limit):
    scope = kind(limit=limit)
    assert scope.statistics().limit == (limit if limit != 2**63 - 1 else scope.statistics().limit)
    getattr(scope, "close", bool)()


@pytest.mark.parametrize(
    ("limit", "error", "message"),
    [
        (-1, ValueError, "limit must be 0 or more, found -1"),
        (1.5, TypeError, "'float' object cannot be interpreted as an integer"),
        (2**64, OverflowError, OVERFLOW),
    ],
)
def test_a_bad_limit_opens_no_scope(kind, whole, limit, error, message):
    before = scopes.statistics().open_scopes
    with pytest.raises(error, match=whole(message)):
        kind(limit=limit)
    assert scopes.statistics().open_scopes == before


def test_dropping_a_segment_does_not_make_room_in_its_scope(kind):
    scope = kind(limit=100)
    scope.allocate(100)
    with pytest.raises(scopes.ScopeMemoryError):
        scope.allocate(1)
    getattr(scope, "close", bool)()


def test_the_process_holds_exactly_its_limit(scope):
    scopes.set_limit(scopes.statistics().live_bytes + 1000)
    scope.allocate(1000)
    with pytest.raises(scopes.ScopeMemoryError):
        scope.allocate(1)


def test_the_limit_of_the_process_is_named_with_the_numbers(scope, whole):
    live = scopes.statistics().live_bytes
    scopes.set_limit(live + 1000)
    scope.allocate(990)
    message = (
        f"11 bytes requested, but the process has {live + 990} live bytes "
        f"of the {live + 1000} that scopes.set_limit allows, and a collection reclaimed 0"
    )
    with pytest.raises(scopes.ScopeMemoryError, match=whole(message)):
        scope.allocate(11)
    assert len(scope.allocate(10)) == 10


@pytest.mark.parametrize("nbytes", [2**62, 2**63 - 10, 2**63 - 1])
def test_no_size_is_so_large_that_it_passes_a_limit(scope, whole, nbytes):
    scope.allocate(100)
    scopes.set_limit(scopes.statistics().live_bytes + 50)
    message = f"{nbytes} bytes requested, but an address space holds at most {2**48}"
    with pytest.raises(scopes.ScopeMemoryError, match=whole(message)):
        scope.allocate(nbytes)


def test_a_limit_below_what_is_live_refuses_all_but_nothing(scope):
    scope.allocate(100)
    scopes.set_limit(1)
    with pytest.raises(scopes.ScopeMemoryError):
        scope.allocate(1)
    scopes.set_limit(None)
    assert len(scope.allocate(1)) == 1


def test_close_makes_room_under_the_limit_of_the_process(explicit):
    scopes.set_limit(scopes.statistics().live_bytes + 1000)
    for _ in range(3):
        with explicit() as scope:
            assert len(scope.allocate(1000)) == 1000


@pytest.mark.parametrize(
    ("nbytes", "error", "message"),
    [
        (-1, ValueError, "nbytes must be 0 or more, found -1"),
        ("1", TypeError, "'str' object cannot be interpreted as an integer"),
        (2**63, OverflowError, OVERFLOW),
    ],
)
def test_a_bad_limit_of_the_process_is_refused(whole, nbytes, error, message):
    with pytest.raises(error, match=whole(message)):
        scopes.set_limit(nbytes)
