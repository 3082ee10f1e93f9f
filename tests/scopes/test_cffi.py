"""Segments as cffi objects."""

import pytest

import scopes

cffi = pytest.importorskip("cffi")


def test_cdata_is_the_memory_as_a_c_array(scope):
    segment = scope.allocate(24)
    numbers = segment.cdata("double[]")
    numbers[1] = 2.5
    assert (len(numbers), bytes(segment[8:16])) == (3, b"\0\0\0\0\0\0\x04@")
    del numbers


@pytest.mark.parametrize("ctype", ["double[]", "char[16]", "int *", "uint8_t[]", "char *"])
def test_cdata_is_a_counted_export(explicit, ctype):
    scope = explicit()
    segment = scope.allocate(16)
    held = segment.cdata(ctype)
    assert scope.statistics().exports == 1
    with pytest.raises(scopes.ScopeInUseError):
        scope.close()
    del held
    scope.close()


def test_cdata_takes_the_types_of_an_ffi(scope):
    ffi = cffi.FFI()
    ffi.cdef("struct point { int x, y; };")
    points = scope.allocate(16).cdata("struct point[]", ffi)
    points[1].y = 7
    assert (len(points), points[1].y) == (2, 7)


def test_the_ffi_may_be_named(scope):
    assert len(scope.allocate(4).cdata(ctype="char[]", ffi=cffi.FFI())) == 4


def test_cdata_outlives_a_deferring_scope(explicit):
    with explicit(exports="defer") as scope:
        segment = scope.allocate(4)
        segment.copy_from(b"abcd")
        held = segment.cdata("char[]")
    scopes.trim()
    assert b"".join(held) == b"abcd"


def test_cdata_keeps_an_implicit_scope():
    held = scopes.ImplicitScope().allocate(4).cdata("char[]")
    held[0] = b"x"
    assert held[0] == b"x"


def test_cdata_of_a_closed_segment_is_refused(explicit, whole):
    with explicit() as scope:
        segment = scope.allocate(4)
    with pytest.raises(
        scopes.ScopeClosedError, match=whole(f"the {scope.kind} scope at ADDRESS is closed")
    ):
        segment.cdata("char[]")


def test_cdata_reads_a_readonly_segment(segment):
    assert b"".join(segment.toreadonly().cdata("char[]")) == bytes(range(16))


def test_a_type_that_is_larger_than_the_segment_is_refused(scope):
    with pytest.raises(ValueError, match="buffer is too small"):
        scope.allocate(4).cdata("double[2]")
    assert scope.statistics().exports == 0


def test_an_unknown_type_is_refused(scope):
    with pytest.raises(cffi.CDefError):
        scope.allocate(4).cdata("nothing[]")
    assert scope.statistics().exports == 0


@pytest.mark.parametrize("args", [(), ("char[]", None, 3), ("char[]",) * 6])
def test_bad_arguments_are_refused(segment, args):
    with pytest.raises(TypeError):
        segment.cdata(*args)


def test_a_cffi_buffer_of_cdata_is_the_same_memory(segment):
    ffi = cffi.FFI()
    held = segment.cdata("char[]", ffi)
    view = ffi.buffer(held)
    segment[0] = 65
    assert view[0] == b"A"
