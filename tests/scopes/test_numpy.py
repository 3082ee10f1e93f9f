"""NumPy arrays in scopes, and arrays over segments."""

import gc

import pytest

import scopes

np = pytest.importorskip("numpy")

SHAPES = [(), 0, 1, 7, (3,), (2, 3), (4, 0, 2), (2, 3, 4, 5), [2, 2], np.int64(3)]
DTYPES = [
    "u1",
    "?",
    "i2",
    "f4",
    "f8",
    "c16",
    ">i4",
    "S5",
    "U3",
    "M8[s]",
    [("a", "i4"), ("b", "f8")],
]


def shape_of(shape):
    return np.empty(shape, "u1").shape


def address_of(array):
    return array.__array_interface__["data"][0]


@pytest.fixture
def deferring(kind):
    """An open scope of each kind, whose arrays may outlive it."""
    made = kind() if kind is scopes.ImplicitScope else kind(exports="defer")
    yield made
    if hasattr(made, "close"):
        made.close()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_zeros_is_as_numpy_makes_it(deferring, shape, dtype):
    array, expected = deferring.zeros(shape, dtype), np.zeros(shape, dtype)
    assert (array.shape, array.dtype, array.flags.c_contiguous) == (
        expected.shape,
        expected.dtype,
        True,
    )
    assert array.tobytes() == expected.tobytes()
    assert array.flags.writeable


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_empty_has_shape_and_dtype(deferring, shape):
    array = deferring.empty(shape, "i2")
    array[...] = 5
    assert (array.shape, array.dtype) == (shape_of(shape), np.dtype("i2"))
    assert np.all(array == 5)


def test_the_default_dtype_is_that_of_numpy(deferring):
    made = [deferring.zeros(2), deferring.empty(2)]
    assert [array.dtype for array in made] == [np.zeros(2).dtype, np.empty(2).dtype]


@pytest.mark.parametrize("method", ["zeros", "empty"])
@pytest.mark.parametrize("nbytes", [1, 63, 64, 65, 5000, 16_385, 100_000])
def test_arrays_are_aligned_to_64_bytes(deferring, method, nbytes):
    deferring.allocate(1, align=1)
    made = [getattr(deferring, method)(nbytes, "u1") for _ in range(5)]
    assert [address_of(array) % 64 for array in made] == [0] * 5


def test_array_copies_what_it_is_given(deferring):
    source = np.arange(6).reshape(2, 3)
    array = deferring.array(source)
    source[:] = 0
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert address_of(array) % 64 == 0


@pytest.mark.parametrize(
    "source",
    [
        5,
        2.5,
        [1, 2],
        [[1], [2]],
        "text",
        b"bytes",
        [],
        range(4),
        np.arange(9)[::2],
        np.ones((2, 2)).T,
    ],
    ids=str,
)
def test_array_takes_what_numpy_takes(deferring, source):
    array, expected = deferring.array(source), np.array(source)
    assert (array.dtype, array.shape, array.tolist()) == (
        expected.dtype,
        expected.shape,
        expected.tolist(),
    )


def test_array_converts_to_the_dtype(deferring):
    array = deferring.array([1, 2], dtype="f4")
    assert (array.dtype, array.tolist()) == (np.dtype("f4"), [1.0, 2.0])


OBJECTS = {
    "zeros": lambda scope: scope.zeros(3, object),
    "empty": lambda scope: scope.empty(3, "O"),
    "array": lambda scope: scope.array([{}, None]),
    "array of dtype": lambda scope: scope.array([1], dtype=object),
    "field": lambda scope: scope.zeros(3, [("a", "i4"), ("b", "O")]),
    "subarray": lambda scope: scope.zeros(3, [("a", [("b", "O")], (2,))]),
}


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)
def test_object_dtypes_are_refused(scope, make):
    with pytest.raises(
        TypeError, match=r"\Anative memory can't hold Python objects, found dtype .+\Z"
    ):
        make(scope)
    assert scope.statistics().live_bytes == 0


def test_the_string_dtype_is_refused(scope):
    if not hasattr(np, "dtypes") or not hasattr(np.dtypes, "StringDType"):
        pytest.skip("NumPy 1 has no StringDType")
    with pytest.raises(TypeError, match="native memory can't hold Python objects"):
        scope.zeros(3, np.dtypes.StringDType())


@pytest.mark.parametrize("shape", [-1, (2, -1), [-5]])
def test_negative_lengths_are_refused(scope, whole, shape):
    message = f"lengths in shape must be 0 or more, found {shape}"
    with pytest.raises(ValueError, match=whole(message)):
        scope.zeros(shape)


@pytest.mark.parametrize("shape", [1.5, "a", None, (1, 2.0)])
def test_a_shape_is_made_of_integers(scope, shape):
    with pytest.raises(TypeError):
        scope.empty(shape)
    assert scope.statistics().live_bytes == 0


@pytest.mark.parametrize("shape", [2**62, (2**32, 2**32), 2**100])
def test_a_shape_that_fits_nowhere_is_refused(scope, shape):
    with pytest.raises((scopes.ScopeMemoryError, OverflowError)):
        scope.zeros(shape, "u1")
    assert scope.statistics().live_bytes == 0


@pytest.mark.parametrize("method", ["zeros", "empty", "array"])
def test_too_many_arguments_are_refused(scope, method):
    with pytest.raises(TypeError):
        getattr(scope, method)(1, "u1", 3, 4, 5)


MAKERS = {
    "zeros": lambda scope: scope.zeros((2, 2)),
    "empty": lambda scope: scope.empty(4, "u1"),
    "array": lambda scope: scope.array([1, 2]),
    "zeros of nothing": lambda scope: scope.zeros(0),
    "frombuffer": lambda scope: np.frombuffer(scope.allocate(16)),
    "asarray": lambda scope: np.asarray(scope.allocate(16)),
    "slice": lambda scope: scope.zeros(10)[3:5],
    "reshaped": lambda scope: scope.zeros(10).reshape(2, 5).T,
    "view": lambda scope: scope.zeros(10).view("u1"),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_array_is_a_counted_export(explicit, make):
    scope = explicit()
    array = make(scope)
    assert scope.statistics().exports == 1
    with pytest.raises(scopes.ScopeInUseError):
        scope.close()
    del array
    scope.close()


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_array_outlives_a_deferring_scope(explicit, make):
    with explicit(exports="defer") as scope:
        array = make(scope)
        array[...] = 1
        before = array.tobytes()
    scopes.trim()
    assert array.tobytes() == before


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_array_keeps_an_implicit_scope(make):
    array = make(scopes.ImplicitScope())
    gc.collect()
    array[...] = 1
    assert np.all(array == 1)


def test_zeros_is_zeroed_where_memory_is_reused(explicit):
    for _ in range(3):
        with explicit(exports="defer") as scope:
            array = scope.zeros(1000, "u1")
            assert not array.any()
            array.fill(255)
            del array


def test_asarray_shares_the_memory(segment):
    array = np.asarray(segment)
    assert (array.dtype, array.tolist()) == (np.dtype("u1"), list(range(16)))
    array[0] = 99
    assert segment[0] == 99


def test_asarray_of_a_readonly_segment_is_readonly(segment):
    assert not np.asarray(segment.toreadonly()).flags.writeable


@pytest.mark.parametrize("convert", [np.asarray, np.array, np.atleast_1d], ids=lambda f: f.__name__)
def test_numpy_refuses_a_closed_segment(explicit, whole, convert):
    with explicit() as scope:
        segment = scope.allocate(16)
    with pytest.raises(
        scopes.ScopeClosedError, match=whole(f"the {scope.kind} scope at ADDRESS is closed")
    ):
        convert(segment)


def test_numpy_refuses_a_segment_of_another_thread(on_thread):
    with scopes.ConfinedScope() as scope:
        segment = scope.allocate(16)
        with pytest.raises(scopes.WrongThreadError):
            on_thread(np.asarray, segment)


def test_a_list_with_a_closed_segment_makes_no_array_of_objects(explicit):
    with explicit() as scope:
        segment = scope.allocate(16)
    with pytest.raises(ValueError):  # noqa: PT011 - NumPy may raise its own
        np.array([segment, segment])


def test_array_of_a_segment_is_a_copy_that_holds_no_export(segment):
    copy = np.array(segment)
    segment.fill(0)
    assert (segment.scope.statistics().exports, copy.tolist()) == (0, list(range(16)))


def test_the_array_method_converts_and_copies(segment):
    shared, converted = segment.__array__(), segment.__array__("i4")
    copied = segment.__array__(copy=True)
    shared[0] = 7
    assert (segment[0], converted[0], copied[0]) == (7, 0, 0)
    assert converted.dtype == np.dtype("i4")


def test_the_array_method_refuses_to_convert_without_a_copy(segment, whole):
    message = "a segment's bytes can't become float64 without a copy"
    with pytest.raises(ValueError, match=whole(message)):
        segment.__array__("f8", copy=False)
    assert segment.__array__("u1", copy=False)[3] == 3


def test_a_closed_scope_makes_no_array(explicit, whole):
    scope = explicit()
    scope.close()
    for make in (scope.zeros, scope.empty, scope.array):
        with pytest.raises(
            scopes.ScopeClosedError, match=whole(f"the {scope.kind} scope at ADDRESS is closed")
        ):
            make(3)


def test_copy_from_takes_arrays(scope):
    segment = scope.allocate(24)
    segment.copy_from(np.arange(3, dtype="<i8"))
    assert np.frombuffer(segment, "<i8").tolist() == [0, 1, 2]


def test_a_shape_that_closes_the_scope_makes_no_array(explicit):
    scope = explicit()

    class Length:
        def __index__(self):
            scope.close()
            return 3

    with pytest.raises(scopes.ScopeClosedError):
        scope.zeros((Length(), 2))


# ---- np.ndarray(buffer=segment), which is not counted --------------------------------------------


def test_an_uncounted_array_does_not_hold_close_up(explicit):
    scope = explicit()
    array = np.ndarray(16, "u1", buffer=scope.allocate(16))
    assert scope.statistics().exports == 0
    scope.close()
    assert array.shape == (16,)


@pytest.mark.parametrize("nbytes", [1, 64, 1000, 4096, 16_384, 16_385, 65_537, 2**20])
@pytest.mark.parametrize("end", ["close", "trim", "no cache"])
def test_an_uncounted_array_reads_its_old_bytes_or_zeros(explicit, nbytes, end):
    scope = explicit()
    segment = scope.allocate(nbytes)
    segment.fill(77)
    array = np.ndarray(nbytes, "u1", buffer=segment)
    del segment
    if end == "no cache":
        scopes.set_cache_limit(0)
    scope.close()
    if end == "trim":
        scopes.trim()
    others = [scopes.SharedScope() for _ in range(200 if nbytes < 20_000 else 5)]
    for other in others:
        other.allocate(nbytes).fill(88)
    assert set(array.tolist()) <= {0, 77}
    array.fill(99)  # it may write, too, and nobody sees it
    for other in others:
        other.close()
    with explicit() as fresh:
        assert bytes(fresh.allocate(nbytes)) == bytes(nbytes)


def test_an_uncounted_array_over_a_part_holds_the_whole_range(explicit):
    with explicit() as scope:
        segment = scope.allocate(2**20)
        array = np.ndarray(10, "u1", buffer=segment[100:110])
    before = scopes.statistics()
    assert before.retired_bytes >= 2**20
    del segment
    assert scopes.statistics().retired_bytes == before.retired_bytes
    del array
    assert scopes.statistics().retired_bytes <= before.retired_bytes - 2**20


def test_uncounted_arrays_hold_memory_to_the_cache_limit_and_no_more(in_child):
    # In a process of its own, whose resident memory nothing else changes.
    said = in_child("""
        import re
        import numpy as np, scopes
        MIB = 2**20

        def resident():
            text = open("/proc/self/smaps_rollup").read()
            return int(re.search(r"^Rss: +(\\d+) kB", text, re.M)[1]) * 1024

        def pattern(nbytes, number):
            return np.full(nbytes, number % 250 + 1, "u1")

        limit = 8 * MIB
        scopes.set_cache_limit(limit)
        for nbytes in 1024, 4096, 10_000, 64 * 1024, MIB:
            scopes.trim()
            before, arrays = resident(), []
            for number in range(4 * limit // nbytes):
                scope = scopes.ConfinedScope()
                segment = scope.allocate(nbytes)
                segment.copy_from(pattern(nbytes, number))
                arrays.append(np.ndarray(nbytes, "u1", buffer=segment))
                del segment
                scope.close()
            figures = scopes.statistics()
            headers = 1500 * len(arrays)  # of arrays, segments, scopes and blocks
            over = resident() - before - limit - headers
            assert over <= MIB, (nbytes, over, figures)
            assert figures.retired_bytes >= 4 * limit - MIB, figures
            for number, array in enumerate(arrays):
                values = set(np.unique(array).tolist())
                assert values <= {0, number % 250 + 1}, (nbytes, number, values)
            del arrays, array
            assert scopes.statistics().retired_bytes == 0
        print("within the limit")
    """)
    assert said == "within the limit"
