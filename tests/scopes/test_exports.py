"""Exports through the buffer protocol and pins: counted, named, given back."""

import array
import hashlib
import io
import struct
import sys

import pytest

import scopes


def enter_pin(segment):
    pin = segment.pin()
    pin.__enter__()
    return pin


EXPORTS = {
    "memoryview": memoryview,
    "cast": lambda segment: memoryview(segment).cast("d"),
    "sliced view": lambda segment: memoryview(segment)[3:5],
    "view of a part": lambda segment: memoryview(segment[4:8]),
    "view of a part of a part": lambda segment: memoryview(segment[2:9][1:3]),
    "view of nothing": lambda segment: memoryview(segment[4:4]),
    "readonly view": lambda segment: memoryview(segment.toreadonly()),
    "pin": enter_pin,
    "pin of a part": lambda segment: enter_pin(segment[4:8]),
}


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_an_export_is_counted_until_it_is_gone(explicit, export):
    scope = explicit()
    segment = scope.allocate(16)
    held = export(segment)
    with pytest.raises(scopes.ScopeInUseError):
        scope.close()
    assert scope.statistics().exports == 1
    del held
    assert scope.statistics().exports == 0
    scope.close()


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_an_export_outlives_its_segment_and_the_name_of_its_scope(kind, export):
    options = {} if kind is scopes.ImplicitScope else {"exports": "defer"}
    scope = kind(**options)
    held = export(scope.allocate(16))
    getattr(scope, "close", bool)()
    del scope
    assert held is not None


def test_views_of_one_view_are_one_export(explicit_scope):
    view = memoryview(explicit_scope.allocate(16))
    parts = [view[n:] for n in range(16)]
    assert (explicit_scope.statistics().exports, len(parts)) == (1, 16)
    del view, parts


def test_many_exports_are_counted_one_by_one(explicit_scope):
    segment = explicit_scope.allocate(16)
    views = [memoryview(segment) for _ in range(1000)]
    assert explicit_scope.statistics().exports == 1000
    for left in range(999, -1, -1):
        views.pop().release()
        assert explicit_scope.statistics().exports == left


def test_a_view_is_a_writable_run_of_bytes(segment):
    view = memoryview(segment)
    assert (view.format, view.ndim, view.itemsize, view.shape, view.strides, view.readonly) == (
        "B",
        1,
        1,
        (16,),
        (1,),
        False,
    )
    view[3] = 200
    assert segment[3] == 200


def test_a_view_sees_what_the_segment_writes(segment):
    view = memoryview(segment)
    segment.fill(7)
    assert bytes(view) == bytes([7]) * 16


def test_a_view_keeps_its_segment_alive(scope):
    view = memoryview(scope.allocate(16))
    view[:] = bytes(range(16))
    for _ in range(100):
        scope.allocate(16).fill(255)
    assert bytes(view) == bytes(range(16))


def test_a_view_of_a_readonly_segment_can_not_be_written(segment, whole):
    view = memoryview(segment.toreadonly())
    with pytest.raises(TypeError, match=whole("cannot modify read-only memory")):
        view[0] = 1
    assert view.readonly


def test_a_writable_buffer_of_a_readonly_segment_is_refused_and_not_counted(segment):
    with pytest.raises(TypeError):
        io.BytesIO(b"abc").readinto(segment.toreadonly())
    assert segment.scope.statistics().exports == 0


PASSING = {
    "bytes": bytes,
    "bytearray": bytearray,
    "hash": lambda segment: hashlib.sha256(segment).digest(),
    "join": lambda segment: b"".join([segment, segment]),
    "int": lambda segment: int.from_bytes(segment, "little"),
    "unpack": lambda segment: struct.unpack_from("<q", segment),
    "pack": lambda segment: struct.pack_into("<q", segment, 8, -1),
    "readinto": lambda segment: io.BytesIO(b"12345").readinto(segment),
    "write": lambda segment: io.BytesIO().write(segment),
    "array": lambda segment: array.array("b").frombytes(segment),
    "==": lambda segment: segment == bytes(16),
    "copy_from": lambda segment: segment.copy_from(segment),
    "slice assignment": lambda segment: segment.__setitem__(slice(0, 8), segment[8:16]),
    "pin": lambda segment: segment.pin(),
    "with pin": lambda segment: segment.pin().__enter__(),
}


@pytest.mark.parametrize("use", PASSING.values(), ids=PASSING)
def test_what_takes_the_buffer_for_a_call_leaves_no_export(segment, use):
    use(segment)
    assert segment.scope.statistics().exports == 0


# ---- pins ----------------------------------------------------------------------------------------


def test_a_pin_gives_the_address_of_the_bytes(segment):
    import ctypes

    with segment.pin() as address:
        assert ctypes.string_at(address, 16) == bytes(range(16))


def test_the_address_of_a_part_is_that_of_its_first_byte(segment):
    with segment.pin() as address, segment[5:].pin() as inner:
        assert inner - address == 5


def test_a_pin_counts_only_while_it_is_entered(explicit_scope):
    pin = explicit_scope.allocate(1).pin()
    counts = [explicit_scope.statistics().exports]
    with pin:
        counts.append(explicit_scope.statistics().exports)
    counts.append(explicit_scope.statistics().exports)
    assert counts == [0, 1, 0]


def test_closing_while_a_pin_is_entered_raises(explicit, whole):
    scope = explicit()
    with scope.allocate(9).pin():
        message = (
            f"the {scope.kind} scope at ADDRESS can't be closed while 1 buffers or pins are "
            "alive (1 of the segment of 9 bytes at ADDRESS): release them first, "
            'or open the scope with exports="defer"'
        )
        with pytest.raises(scopes.ScopeInUseError, match=whole(message)):
            scope.close()
    scope.close()


def test_a_pin_is_entered_once_at_a_time(segment, whole):
    message = "this pin is already in a with statement: take one for each with pin()"
    pin = segment.pin()
    with pin, pytest.raises(scopes.ScopeError, match=whole(message)):
        pin.__enter__()
    assert segment.scope.statistics().exports == 0


def test_a_pin_can_be_entered_again(segment):
    pin = segment.pin()
    with pin as first:
        pass
    with pin as second:
        assert second == first


def test_leaving_a_pin_twice_or_unentered_counts_nothing(segment):
    pin = segment.pin()
    for _ in range(3):
        pin.__exit__(None, None, None)
    pin.__enter__()
    pin.__exit__()
    pin.__exit__()
    assert segment.scope.statistics().exports == 0


def test_a_pin_passes_the_exception_of_its_body_on(segment):
    with pytest.raises(KeyError), segment.pin():
        raise KeyError("body")
    assert segment.scope.statistics().exports == 0


def test_a_pin_that_outlives_its_scope_can_not_be_entered(explicit, whole):
    with explicit() as scope:
        pin = scope.allocate(1).pin()
    message = f"the {scope.kind} scope at ADDRESS is closed"
    with pytest.raises(scopes.ScopeClosedError, match=whole(message)):
        pin.__enter__()


def test_a_pin_entered_when_its_scope_closes_deferring_keeps_the_bytes(explicit):
    import ctypes

    scope = explicit(exports="defer")
    segment = scope.allocate(4)
    segment.copy_from(b"abcd")
    with segment.pin() as address:
        scope.close()
        scopes.trim()
        assert ctypes.string_at(address, 4) == b"abcd"


def test_pins_can_not_be_made_by_hand(segment):
    with pytest.raises(TypeError, match=r"cannot create 'scopes\._core\.Pin' instances"):
        type(segment.pin())()


def test_an_export_released_on_another_thread_is_counted_down(on_thread):
    with scopes.ConfinedScope() as scope:
        view = memoryview(scope.allocate(16))
        on_thread(view.release)
        assert scope.statistics().exports == 0


def test_a_view_of_a_confined_scope_is_read_by_other_threads(on_thread):
    with scopes.ConfinedScope() as scope:
        view = memoryview(scope.allocate(16))
        assert on_thread(bytes, view) == bytes(16)
        view.release()


def test_a_failed_export_leaves_the_references_of_the_segment_as_they_were(explicit):
    with explicit() as scope:
        segment = scope.allocate(16)
    before = sys.getrefcount(segment)
    for _ in range(100):
        with pytest.raises(scopes.ScopeClosedError):
            memoryview(segment)
    assert sys.getrefcount(segment) == before
