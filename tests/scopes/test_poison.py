"""While debugging, memory that goes back is overwritten, and no other is."""

import ctypes

import pytest

import scopes

pytestmark = pytest.mark.usefixtures("debugging")

POISON = 0xDD
#: A slot of a slab, a part of a run for small segments, a range of its own.
SIZES = [1, 1000, 20_000, 2**20 + 5]


def address_of(segment):
    with segment.pin() as address:
        return address


def end(scope):
    """Closes the scope; for an implicit one that is up to its caller, who lets go of it."""
    getattr(scope, "close", bool)()


@pytest.mark.parametrize("nbytes", SIZES)
def test_memory_under_a_segment_is_overwritten_at_close(explicit, nbytes):
    scope = explicit()
    segments = [scope.allocate(nbytes) for _ in range(3)]
    for segment in segments:
        segment.fill(7)
    addresses = [address_of(segment) for segment in segments]
    scope.close()
    for address in addresses:
        assert ctypes.string_at(address, nbytes) == bytes([POISON]) * nbytes


def test_memory_of_an_implicit_scope_is_overwritten_with_its_owners_death():
    class Owner:
        pass

    owner = Owner()
    segment = scopes.ImplicitScope(owner=owner).allocate(1000)
    segment.fill(7)
    address = address_of(segment)
    del owner
    assert ctypes.string_at(address, 1000) == bytes([POISON]) * 1000


@pytest.mark.parametrize("nbytes", SIZES[:3])
def test_memory_that_nobody_covers_is_overwritten(kind, nbytes):
    scope = kind()
    scope.allocate(nbytes).fill(7)
    address = address_of(scope.allocate(nbytes))
    end(scope)
    del scope
    assert ctypes.string_at(address, nbytes) == bytes([POISON]) * nbytes


def test_an_array_that_holds_no_export_shows_it(explicit):
    np = pytest.importorskip("numpy")
    scope = explicit()
    array = np.ndarray(100, "u1", buffer=scope.allocate(100))
    array[:] = 7
    scope.close()
    assert set(array.tolist()) == {POISON}


@pytest.mark.parametrize("nbytes", SIZES)
def test_the_next_scope_has_zeros(kind, nbytes):
    for _ in range(20):
        scope = kind()
        for _ in range(3):
            segment = scope.allocate(nbytes)
            assert bytes(segment) == bytes(nbytes)
            segment.fill(7)
        end(scope)
        del scope, segment
    scopes.debug(False)
    with scopes.SharedScope() as scope:
        assert bytes(scope.allocate(nbytes)) == bytes(nbytes)


@pytest.mark.parametrize("nbytes", SIZES)
def test_exports_keep_their_bytes_until_the_last_of_them_is_gone(explicit, nbytes):
    scope = explicit(exports="defer")
    segment = scope.allocate(nbytes)
    segment.fill(7)
    address = address_of(segment)
    views = [memoryview(segment), memoryview(segment[0:1])]
    scope.close()
    for view in views:
        assert (bytes(view), ctypes.string_at(address, nbytes)) == (
            bytes([7]) * len(view),
            bytes([7]) * nbytes,
        )
        view.release()
    assert ctypes.string_at(address, nbytes) == bytes([POISON]) * nbytes


def test_a_block_without_exports_is_overwritten_beside_one_with(explicit):
    scope = explicit(exports="defer")
    kept, given = scope.allocate(2**20), scope.allocate(2**20)
    for segment in (kept, given):
        segment.fill(7)
    address = address_of(given)
    view = memoryview(kept)
    scope.close()
    assert ctypes.string_at(address, 2**20) == bytes([POISON]) * 2**20
    assert bytes(view) == bytes([7]) * 2**20
    view.release()


def test_adopted_memory_is_left_as_it_is(kind):
    memory = (ctypes.c_char * 1000)(*[7] * 1000)
    scope = kind()
    segment = scope.adopt(ctypes.addressof(memory), 1000)
    assert segment[3] == 7
    end(scope)
    del segment, scope
    assert bytes(memory) == bytes([7]) * 1000


def test_exported_adopted_memory_is_left_as_it_is(explicit):
    memory = (ctypes.c_char * 1000)(*[7] * 1000)
    scope = explicit(exports="defer")
    view = memoryview(scope.adopt(ctypes.addressof(memory), 1000))
    scope.close()
    view.release()
    assert bytes(memory) == bytes([7]) * 1000


def test_off_memory_keeps_its_bytes_or_is_zero(explicit):
    scopes.debug(False)
    scope = explicit()
    segment = scope.allocate(1000)
    segment.fill(7)
    address = address_of(segment)
    scope.close()
    assert ctypes.string_at(address, 1000) in (bytes([7]) * 1000, bytes(1000))


def test_a_child_leaves_inherited_memory_as_it_is(in_child):
    said = in_child("""
        import ctypes, os, scopes
        scopes.debug(True)
        scope = scopes.SharedScope(exports="defer")
        plain, exported = scope.allocate(2**20), scope.allocate(1000)
        addresses = []
        for segment in (plain, exported):
            segment.fill(7)
            with segment.pin() as address:
                addresses.append((address, len(segment)))
        view = memoryview(exported)
        child = os.fork()
        if child == 0:
            scope.close()
            view.release()
            wrong = [n for at, n in addresses if ctypes.string_at(at, n) != bytes([7]) * n]
            os._exit(len(wrong))
        assert os.waitpid(child, 0)[1] == 0
        view.release()
        scope.close()
        print([ctypes.string_at(at, 1) for at, _ in addresses])
    """)
    assert said == r"[b'\xdd', b'\xdd']"


def test_pages_that_were_never_touched_take_no_memory(in_child):
    said = in_child("""
        import re, scopes
        def peak():
            return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
        scopes.debug(True)
        scope = scopes.ConfinedScope()
        segment = scope.allocate(2**30)
        segment[2**29] = segment[2**30 - 1] = 7
        before = peak()
        scope.close()
        print(peak() - before < 16 * 1024)
    """)
    assert said == "True"


def test_touched_pages_of_a_large_segment_are_overwritten(explicit):
    scope = explicit()
    segment = scope.allocate(2**25)
    for at in (0, 2**24 + 5, 2**25 - 1):
        segment[at] = 7
    address = address_of(segment)
    scope.close()
    for at in (0, 2**24 + 5, 2**25 - 1):
        assert ctypes.string_at(address + at, 1) == bytes([POISON])
