"""NumPy arrays in scopes: imported when an array is asked for, so that scopes needs no NumPy."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from scopes import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, DTypeLike, NDArray

_ALIGN = 64  # bytes: a cache line, and the widest vector register


def zeros(scope: _core.Scope, shape: int | Sequence[int], dtype: DTypeLike = float) -> NDArray[Any]:
    return _new(scope, shape, np.dtype(dtype), zeroed=True)


def empty(scope: _core.Scope, shape: int | Sequence[int], dtype: DTypeLike = float) -> NDArray[Any]:
    return _new(scope, shape, np.dtype(dtype), zeroed=False)


def array(scope: _core.Scope, obj: ArrayLike, dtype: DTypeLike | None = None) -> NDArray[Any]:
    source = np.asarray(obj, dtype)
    copy = _new(scope, source.shape, source.dtype, zeroed=False)
    copy[...] = source
    return copy


def as_array(
    segment: _core.Segment, dtype: DTypeLike | None = None, copy: bool | None = None
) -> NDArray[Any]:
    """What ``Segment.__array__`` does: the bytes, converted to dtype."""
    found: NDArray[Any] = _bytes(segment)
    wanted = found.dtype if dtype is None else np.dtype(dtype)
    if copy is False and wanted != found.dtype:
        raise ValueError(f"a segment's bytes can't become {wanted} without a copy")
    return found.astype(wanted, copy=bool(copy))


def _new(
    scope: _core.Scope, shape: int | Sequence[int], dtype: np.dtype[Any], *, zeroed: bool
) -> NDArray[Any]:
    if dtype.hasobject:
        raise TypeError(f"native memory can't hold Python objects, found dtype {dtype}")
    lengths = _lengths(shape)
    nbytes = math.prod(lengths) * dtype.itemsize
    segment = _core.allocate(scope, nbytes, _ALIGN, zeroed)
    return np.ndarray(lengths, dtype, buffer=_bytes(segment))


def _bytes(segment: _core.Segment) -> NDArray[np.uint8]:
    """An array that holds an export of the segment, as long as it lives.

    np.frombuffer keeps the buffer that it takes; np.ndarray, given the segment or a memoryview of
    it, would give it back at once.
    """
    view: Any = segment
    return np.frombuffer(view, np.uint8)


def _lengths(shape: int | Sequence[int]) -> tuple[int, ...]:
    lengths = (
        tuple(operator.index(length) for length in shape)
        if isinstance(shape, (tuple, list))
        else (operator.index(shape),)  # type: ignore[arg-type]
    )
    if any(length < 0 for length in lengths):
        raise ValueError(f"lengths in shape must be 0 or more, found {shape}")
    return lengths
