"""Reading and writing the bytes of a segment."""

import copy
import pickle
import weakref

import pytest

import scopes


def test_bytes_are_read_by_index_from_both_ends(segment):
    assert [segment[i] for i in range(-16, 16)] == [*range(16), *range(16)]


def test_bytes_are_written_by_index_from_both_ends(segment):
    segment[0], segment[-1], segment[5] = 255, 128, 0
    assert bytes(segment) == b"\xff\1\2\3\4\0" + bytes(range(6, 15)) + b"\x80"


@pytest.mark.parametrize("index", [16, 17, -17, 2**62, -(2**62)])
def test_an_index_out_of_range_is_named_with_the_length(segment, whole, index):
    message = f"index {index} is out of range for a segment of 16 bytes"
    with pytest.raises(IndexError, match=whole(message)):
        segment[index]
    with pytest.raises(IndexError, match=whole(message)):
        segment[index] = 0


def test_a_segment_without_bytes_has_no_index(scope, whole):
    with pytest.raises(IndexError, match=whole("index 0 is out of range for a segment of 0 bytes")):
        scope.allocate(0)[0]


def test_an_index_that_is_no_machine_word_is_an_index_error(segment):
    with pytest.raises(IndexError, match="cannot fit 'int' into an index-sized integer"):
        segment[2**64]


@pytest.mark.parametrize("key", [1.0, "a", None, (1,), b"a", [1]])
def test_other_keys_are_named_by_their_type(segment, whole, key):
    name = type(key).__name__
    message = f"a segment is indexed by integers and slices, found '{name}'"
    with pytest.raises(TypeError, match=whole(message)):
        segment[key]
    with pytest.raises(TypeError, match=whole(message)):
        segment[key] = 1


@pytest.mark.parametrize("byte", [-1, 256, 1000, -(2**62), 2**62])
def test_a_value_that_is_no_byte_is_named(segment, whole, byte):
    message = f"a byte must be 0 to 255, found {byte}"
    with pytest.raises(ValueError, match=whole(message)):
        segment[0] = byte
    with pytest.raises(ValueError, match=whole(message)):
        segment.fill(byte)
    assert bytes(segment) == bytes(range(16))


@pytest.mark.parametrize("value", [1.0, "a", None, b"a"])
def test_a_value_that_is_no_integer_is_refused(segment, value):
    with pytest.raises(TypeError):
        segment[0] = value
    with pytest.raises(TypeError):
        segment.fill(value)
    assert bytes(segment) == bytes(range(16))


def test_bytes_can_not_be_deleted(segment, whole):
    for key in 0, slice(0, 1):
        with pytest.raises(TypeError, match=whole("the bytes of a segment can't be deleted")):
            del segment[key]


# ---- parts ---------------------------------------------------------------------------------------

SLICES = [
    slice(start, stop)
    for start in (None, 0, 3, 16, 20, -3, -20)
    for stop in (None, 0, 5, 16, 20, -5, -20)
]


@pytest.mark.parametrize("part", SLICES, ids=str)
def test_a_slice_is_the_part_that_bytes_would_give(segment, part):
    assert bytes(segment[part]) == bytes(range(16))[part]


def test_a_part_is_a_segment_of_the_same_memory_and_scope(segment):
    part = segment[4:8]
    part[0] = 99
    segment[5] = 98
    assert (bytes(part), segment[4], part.scope) == (b"\x63\x62\6\7", 99, segment.scope)
    assert (type(part), part.nbytes, part.readonly) == (scopes.Segment, 4, False)


def test_a_part_of_a_part_stays_within_it(segment):
    part = segment[4:8][1:100]
    assert bytes(part) == b"\5\6\7"
    with pytest.raises(IndexError):
        part[3]
    with pytest.raises(IndexError):
        part[-4]


def test_a_part_keeps_the_memory_when_its_segment_is_gone(scope):
    part = scope.allocate(100)[10:20]
    part.fill(7)
    for _ in range(50):
        scope.allocate(100).fill(255)
    assert bytes(part) == bytes([7]) * 10


@pytest.mark.parametrize("step", [2, -1, 5, -(2**62)])
def test_a_step_is_refused(segment, whole, step):
    message = f"a segment is sliced with step 1, found {step}"
    with pytest.raises(ValueError, match=whole(message)):
        segment[::step]
    with pytest.raises(ValueError, match=whole(message)):
        segment[::step] = b""


def test_a_step_of_1_is_allowed_and_one_of_0_is_not(segment, whole):
    assert bytes(segment[2:4:1]) == b"\2\3"
    with pytest.raises(ValueError, match=whole("slice step cannot be zero")):
        segment[::0]


def test_a_slice_is_written_with_as_many_bytes(segment):
    segment[2:5] = b"abc"
    segment[0:0] = b""
    segment[-2:] = bytearray(b"yz")
    segment[5:7] = memoryview(b"de")
    assert bytes(segment) == b"\0\1abcde" + bytes(range(7, 14)) + b"yz"


@pytest.mark.parametrize("data", [b"", b"ab", b"abcd"])
def test_a_slice_of_another_length_is_refused(segment, whole, data):
    message = f"{len(data)} bytes don't fit into 3 bytes at offset 2 of a segment of 16"
    with pytest.raises(ValueError, match=whole(message)):
        segment[2:5] = data
    assert bytes(segment) == bytes(range(16))


@pytest.mark.parametrize("value", [1, "abc", None, [1, 2, 3]])
def test_a_slice_is_written_from_buffers_only(segment, value):
    with pytest.raises(TypeError, match="a bytes-like object is required"):
        segment[2:5] = value


# ---- fill and copy_from --------------------------------------------------------------------------


def test_fill_sets_all_bytes_and_no_other(scope):
    segment = scope.allocate(100)
    assert segment[10:90].fill(7) is None
    assert bytes(segment) == bytes(10) + bytes([7]) * 80 + bytes(10)


def test_fill_of_nothing_does_nothing(scope):
    scope.allocate(0).fill(1)


def test_copy_from_copies_to_the_offset(scope):
    segment = scope.allocate(10)
    assert segment.copy_from(b"ab") is None
    segment.copy_from(b"cd", 3)
    segment.copy_from(buffer=b"ef", offset=8)
    segment.copy_from(b"", 10)
    assert bytes(segment) == b"ab\0cd\0\0\0ef"


@pytest.mark.parametrize(
    ("data", "offset", "room"), [(b"a" * 17, 0, 16), (b"ab", 15, 1), (b"a", 16, 0)]
)
def test_copy_from_refuses_what_does_not_fit(segment, whole, data, offset, room):
    message = f"{len(data)} bytes don't fit into {room} bytes at offset {offset} of a segment of 16"
    with pytest.raises(ValueError, match=whole(message)):
        segment.copy_from(data, offset)
    assert bytes(segment) == bytes(range(16))


def test_copy_from_refuses_an_offset_past_the_end(segment, whole):
    with pytest.raises(
        ValueError, match=whole("offset 17 is past the end of a segment of 16 bytes")
    ):
        segment.copy_from(b"", 17)


def test_copy_from_refuses_the_largest_offset(segment):
    with pytest.raises(ValueError, match="past the end"):
        segment.copy_from(b"a", 2**63 - 1)


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((b"a", -1), ValueError, "offset must be 0 or more, found -1"),
        ((b"a", 1.0), TypeError, "'float' object cannot be interpreted as an integer"),
        ((5,), TypeError, "a bytes-like object is required, not 'int'"),
        ((), TypeError, "copy_from() missing required argument 'buffer'"),
        ((b"", 0, 0), TypeError, "copy_from() takes at most 2 positional arguments, found 3"),
    ],
)
def test_copy_from_names_bad_arguments(segment, whole, args, error, message):
    with pytest.raises(error, match=whole(message)):
        segment.copy_from(*args)


def test_copy_from_refuses_a_buffer_with_gaps(segment):
    with pytest.raises(BufferError):
        segment.copy_from(memoryview(bytes(20))[::2])
    assert bytes(segment) == bytes(range(16))


@pytest.mark.parametrize(("source", "target"), [(0, 4), (4, 0), (0, 0), (1, 2)])
def test_copying_within_a_segment_keeps_the_bytes(segment, source, target):
    expected = bytearray(range(16))
    expected[target : target + 8] = expected[source : source + 8]
    segment.copy_from(segment[source : source + 8], target)
    assert bytes(segment) == expected


def test_copy_from_takes_a_segment_of_another_scope(segment, explicit_scope):
    other = explicit_scope.allocate(16)
    other.copy_from(segment)
    assert other == segment


# ---- equality and order --------------------------------------------------------------------------


@pytest.mark.parametrize("make", [bytes, bytearray, lambda data: memoryview(bytes(data))])
def test_segments_equal_buffers_of_the_same_bytes(segment, make):
    same, other, shorter = make(segment), make(bytes(16)), make(bytes(range(15)))
    assert (segment == same, segment == other, segment == shorter) == (True, False, False)
    assert (segment != same, segment != other, segment != shorter) == (False, True, True)
    assert same == segment


def test_segments_equal_segments_by_content(scope):
    one, other = scope.allocate(4), scope.allocate(4)
    assert one == other
    other[0] = 1
    assert one != other


@pytest.mark.parametrize("other", [None, 5, "a", [0] * 16, tuple(range(16))])
def test_a_segment_equals_nothing_that_is_no_buffer(segment, other):
    assert (segment == other, segment != other) == (False, True)


def test_segments_have_no_order(segment):
    for compare in ("__lt__", "__le__", "__gt__", "__ge__"):
        assert getattr(segment, compare)(b"") is NotImplemented
    with pytest.raises(TypeError):
        segment < b""  # noqa: B015


def test_a_segment_is_unhashable(segment, whole):
    with pytest.raises(TypeError, match=whole("unhashable type: 'scopes.Segment'")):
        hash(segment)


# ---- iteration -----------------------------------------------------------------------------------


def test_iteration_gives_the_bytes(segment):
    assert list(segment) == list(range(16))
    assert list(reversed(segment)) == list(range(16))[::-1]


def test_in_finds_bytes(segment):
    assert (5 in segment, 16 in segment, "a" in segment) == (True, False, False)


def test_closing_during_iteration_ends_it_with_an_error(explicit):
    scope = explicit()
    iterator = iter(scope.allocate(16))
    first = next(iterator)
    scope.close()
    with pytest.raises(scopes.ScopeClosedError):
        next(iterator)
    assert first == 0


def test_a_segment_is_true_when_it_has_bytes(scope):
    assert (bool(scope.allocate(1)), bool(scope.allocate(0))) == (True, False)


# ---- readonly ------------------------------------------------------------------------------------

WRITES = {
    "index": lambda segment: segment.__setitem__(0, 1),
    "slice": lambda segment: segment.__setitem__(slice(0, 1), b"a"),
    "fill": lambda segment: segment.fill(1),
    "copy_from": lambda segment: segment.copy_from(b"a"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("derive", ["whole", "part", "again"])
def test_a_readonly_segment_refuses_writes(segment, whole, write, derive):
    readonly = segment.toreadonly()
    readonly = {"whole": readonly, "part": readonly[2:8], "again": readonly.toreadonly()}[derive]
    message = f"the segment of {readonly.nbytes} bytes is readonly"
    with pytest.raises(TypeError, match=whole(message)):
        write(readonly)
    assert bytes(segment) == bytes(range(16))


def test_a_readonly_segment_sees_what_is_written(segment):
    readonly = segment.toreadonly()
    segment[0] = 77
    assert (readonly[0], readonly.readonly, segment.readonly) == (77, True, False)
    assert readonly == segment


# ---- the object ----------------------------------------------------------------------------------


def test_a_segment_knows_its_scope(scope):
    segment = scope.allocate(1)
    assert segment.scope is segment[0:1].scope is segment.toreadonly().scope is scope


@pytest.mark.parametrize("name", ["nbytes", "scope", "readonly", "fill", "nothing"])
def test_attributes_of_a_segment_can_not_be_set(segment, name):
    with pytest.raises(AttributeError):
        setattr(segment, name, 1)


def test_a_segment_can_be_weakly_referenced(scope):
    seen = []
    segment = scope.allocate(1)
    reference = weakref.ref(segment, lambda _: seen.append("gone"))
    assert reference() is segment
    del segment
    assert (reference(), seen) == (None, ["gone"])


def test_a_weak_reference_to_a_dead_segment_never_finds_its_successor(scope):
    references = []
    for _ in range(100):
        segment = scope.allocate(1)
        references.append(weakref.ref(segment))
        del segment
    assert {reference() for reference in references} == {None}


def test_a_scope_can_be_weakly_referenced(kind):
    scope = kind()
    reference = weakref.ref(scope)
    assert reference() is scope
    getattr(scope, "close", bool)()
    del scope
    assert reference() is None
    fresh = kind()
    assert reference() is None
    getattr(fresh, "close", bool)()


def test_repr_of_a_segment_shows_kind_state_and_bytes(explicit, whole):
    import re

    with explicit() as scope:
        segment = scope.allocate(16)
        shown = [repr(segment), repr(segment.toreadonly()), repr(segment[1:4])]
    shown.append(repr(segment))
    texts = ["open, 16 bytes", "open, 16 bytes, readonly", "open, 3 bytes", "closed, 16 bytes"]
    for found, text in zip(shown, texts, strict=True):
        assert re.match(whole(f"<Segment of a {scope.kind} scope, {text}, at ADDRESS>"), found)


def test_segments_are_made_by_scopes_only():
    with pytest.raises(TypeError, match=r"cannot create 'scopes\.Segment' instances"):
        scopes.Segment()


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_neither_segments_nor_scopes_are_copied_or_pickled(segment, duplicate):
    for thing in segment, segment.scope:
        with pytest.raises(TypeError):
            duplicate(thing)


def test_a_segment_has_no_room_for_attributes(segment):
    assert not hasattr(segment, "__dict__")


def test_the_segments_of_a_scope_are_counted(scope):
    segments = [scope.allocate(n) for n in range(5)]
    parts = [segment[:] for segment in segments]
    counts = [scope.statistics().segments]
    del parts
    counts.append(scope.statistics().segments)
    del segments
    counts.append(scope.statistics().segments)
    assert counts == [10, 5, 0]
