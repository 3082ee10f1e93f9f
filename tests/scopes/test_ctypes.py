"""Segments as ctypes objects."""

import ctypes

import pytest

import scopes


class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int32), ("y", ctypes.c_int32)]


def test_from_buffer_is_the_same_memory(segment):
    point = Point.from_buffer(segment, 8)
    point.y = -1
    assert bytes(segment[12:16]) == b"\xff" * 4
    del point


@pytest.mark.parametrize("ctype", [Point, ctypes.c_uint8 * 16, ctypes.c_double])
def test_from_buffer_is_a_counted_export(explicit, ctype):
    scope = explicit()
    held = ctype.from_buffer(scope.allocate(16))
    assert scope.statistics().exports == 1
    with pytest.raises(scopes.ScopeInUseError):
        scope.close()
    del held
    scope.close()


def test_from_buffer_copy_holds_no_export(segment):
    point = Point.from_buffer_copy(segment)
    assert (segment.scope.statistics().exports, point.x) == (0, 0x03020100)


def test_from_buffer_refuses_a_readonly_segment(segment):
    with pytest.raises(TypeError):
        Point.from_buffer(segment.toreadonly())
    assert segment.scope.statistics().exports == 0


def test_from_buffer_refuses_a_closed_segment(explicit, whole):
    with explicit() as scope:
        segment = scope.allocate(16)
    with pytest.raises(
        scopes.ScopeClosedError, match=whole(f"the {scope.kind} scope at ADDRESS is closed")
    ):
        Point.from_buffer(segment)


def test_from_buffer_refuses_what_does_not_fit(scope):
    with pytest.raises(ValueError, match="Buffer size too small"):
        Point.from_buffer(scope.allocate(4))
    assert scope.statistics().exports == 0


def test_a_structure_outlives_a_deferring_scope(explicit):
    with explicit(exports="defer") as scope:
        point = Point.from_buffer(scope.allocate(8))
        point.x = 5
    scopes.trim()
    assert point.x == 5


def test_a_pinned_address_is_passed_to_c(segment):
    with segment.pin() as address:
        ctypes.memset(address, 0x55, 8)
    assert bytes(segment) == b"\x55" * 8 + bytes(range(8, 16))
