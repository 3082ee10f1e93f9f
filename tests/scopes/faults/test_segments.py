"""What is done with segments, while memory runs out."""

import ctypes
import gc

import pytest

import scopes

CONTENT = bytes(range(16))

OPERATIONS = {
    "index": lambda segment: segment[3],
    "iterate": list,
    "slice": lambda segment: segment[2:5],
    "set": lambda segment: segment.__setitem__(3, 3),
    "set a slice": lambda segment: segment.__setitem__(slice(2, 4), CONTENT[2:4]),
    "fill": lambda segment: segment[3:4].fill(3),
    "copy": lambda segment: segment.copy_from(CONTENT[2:4], offset=2),
    "readonly": lambda segment: segment.toreadonly(),
    "equal": lambda segment: segment == CONTENT,
    "not equal": lambda segment: segment != bytearray(5),
    "view": lambda segment: memoryview(segment),
    "buffer of ctypes": lambda segment: (ctypes.c_char * 16).from_buffer(segment),
    "bytes": bytes,
    "pin": lambda segment: segment.pin(),
    "repr": repr,
    "nbytes": lambda segment: segment.nbytes,
    "scope": lambda segment: segment.scope,
    "is readonly": lambda segment: segment.toreadonly().readonly,
}

MISUSE = {
    "past the end": (IndexError, lambda segment: segment[16]),
    "key of a wrong type": (TypeError, lambda segment: segment["a"]),
    "key that is not to be set": (TypeError, lambda segment: segment.__setitem__("a", 1)),
    "index that is too large": (IndexError, lambda segment: segment[2**70]),
    "step": (ValueError, lambda segment: segment[::2]),
    "slice of a wrong type": (TypeError, lambda segment: segment["a":]),
    "set past the end": (IndexError, lambda segment: segment.__setitem__(16, 1)),
    "set at an index too large": (IndexError, lambda segment: segment.__setitem__(2**70, 1)),
    "byte too large": (ValueError, lambda segment: segment.__setitem__(0, 256)),
    "byte of a wrong type": (TypeError, lambda segment: segment.__setitem__(0, "a")),
    "slice set to less": (ValueError, lambda segment: segment.__setitem__(slice(2, 4), b"a")),
    "slice set with a step": (ValueError, lambda s: s.__setitem__(slice(0, 4, 2), b"ab")),
    "slice set to no buffer": (TypeError, lambda segment: segment.__setitem__(slice(2), "ab")),
    "delete": (TypeError, lambda segment: segment.__delitem__(0)),
    "hash": (TypeError, hash),
    "fill too much": (ValueError, lambda segment: segment.fill(256)),
    "fill readonly": (TypeError, lambda segment: segment.toreadonly().fill(1)),
    "copy too much": (ValueError, lambda segment: segment.copy_from(bytes(17))),
    "copy past the end": (ValueError, lambda segment: segment.copy_from(b"", 17)),
    "copy to no offset": (ValueError, lambda segment: segment.copy_from(b"", -1)),
    "copy nothing": (TypeError, lambda segment: segment.copy_from()),
    "write to readonly": (TypeError, lambda s: ctypes.c_char.from_buffer(s.toreadonly())),
    "compare to a buffer with steps": (BufferError, lambda s: s == memoryview(CONTENT)[::2]),
    "too many for cdata": (TypeError, lambda segment: segment.cdata(1, 2, 3, 4, 5)),
}

USES = {
    "index": lambda segment: segment[3],
    "next": lambda segment: next(iter(segment)),
    "slice": lambda segment: segment[2:5],
    "set": lambda segment: segment.__setitem__(3, 3),
    "fill": lambda segment: segment.fill(3),
    "copy": lambda segment: segment.copy_from(b"a"),
    "equal": lambda segment: segment == CONTENT,
    "view": lambda segment: memoryview(segment),
    "pin": lambda segment: segment.pin().__enter__(),
    "allocate": lambda segment: segment.scope.allocate(5),
    "callback": lambda segment: segment.scope.callback(bool),
    "adopt": lambda segment: segment.scope.adopt(4096, 0, bool),
}


def segment_of(scope):
    segment = scope.allocate(16)
    segment.copy_from(CONTENT)
    return segment


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_using_a_segment(survives, kind, operation):
    def life():
        scope = kind()
        segment = segment_of(scope)
        outcome = yield scope, lambda: operation(segment)
        del outcome
        assert bytes(segment) == CONTENT

    survives(life)


@pytest.mark.parametrize(("error", "operation"), MISUSE.values(), ids=MISUSE)
def test_using_a_segment_wrongly(survives, explicit, error, operation):
    def life():
        scope = explicit()
        segment = segment_of(scope)
        yield scope, lambda: operation(segment)
        assert bytes(segment) == CONTENT

    survives(life, raises=(error,))


@pytest.mark.parametrize("operation", USES.values(), ids=USES)
def test_using_a_closed_segment(survives, explicit, operation):
    def life():
        scope = explicit()
        segment = segment_of(scope)
        scope.close()
        yield scope, lambda: operation(segment)

    survives(life, raises=(scopes.ScopeClosedError,))


@pytest.mark.parametrize("operation", USES.values(), ids=USES)
def test_using_a_segment_of_another_thread(survives, on_thread, operation):
    def life():
        scope = scopes.ConfinedScope()
        segment = segment_of(scope)
        yield scope, lambda: on_thread(operation, segment)
        assert bytes(segment) == CONTENT

    survives(life, raises=(scopes.WrongThreadError,))


def test_entering_a_pin(survives, kind):
    def life():
        scope = kind()
        pin = scope.allocate(16, align=64).pin()
        outcome = yield scope, pin.__enter__
        if outcome.value is not None:
            assert outcome.value % 64 == 0
            assert scope.statistics().exports == 1
        pin.__exit__(None, None, None)
        assert scope.statistics().exports == 0

    survives(life)


def test_entering_a_pin_twice(survives, kind):
    def life():
        scope = kind()
        pin = scope.allocate(16).pin()
        pin.__enter__()
        yield scope, pin.__enter__
        assert scope.statistics().exports == 1
        pin.__exit__()

    survives(life, raises=(scopes.ScopeError,))


def test_making_an_array_of_a_segment(survives, kind):
    np = pytest.importorskip("numpy")

    def life():
        scope = kind()
        segment = segment_of(scope)
        outcome = yield scope, lambda: segment.__array__(np.dtype("u2"))
        assert outcome.value is None or outcome.value.tolist() == list(CONTENT)

    survives(life)


def test_making_a_cffi_object_of_a_segment(survives, kind):
    pytest.importorskip("cffi")

    def life():
        scope = kind()
        segment = segment_of(scope)
        segment.cdata("char[]")
        gc.collect()
        outcome = yield scope, lambda: segment.cdata("char[]")
        assert outcome.value is None or b"".join(outcome.value) == CONTENT
        del outcome
        gc.collect()

    survives(life)
