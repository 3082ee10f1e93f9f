"""Segments as cffi objects. Imported by Segment.cdata, so that scopes needs no cffi itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cffi

if TYPE_CHECKING:
    from scopes import _core

_ffi = cffi.FFI()


def cdata(segment: _core.Segment, ctype: str, ffi: Any = None) -> Any:
    user = _ffi if ffi is None else ffi
    return user.from_buffer(ctype, segment, require_writable=not segment.readonly)
