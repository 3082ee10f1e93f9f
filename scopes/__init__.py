"""Memory scopes over native buffers.

A scope is a lifetime: native memory that was allocated in it goes back when it ends.

>>> import scopes
>>> with scopes.ConfinedScope() as scope:
...     segment = scope.allocate(1024)
...     segment[0] = 1

``ConfinedScope``
    one thread; explicit close
``SharedScope``
    any thread; explicit close, exactly one wins
``ImplicitScope``
    no close: freed by reference counts and the collector, or with an owner

What counts as an export, for which ``close()`` raises ``ScopeInUseError`` (or which it waits for,
with ``exports="defer"``): memoryview, ``np.frombuffer``, ``np.asarray``, ``scope.zeros``, ``empty``
and ``array``, ctypes ``from_buffer``, ``segment.cdata`` and an entered ``segment.pin()``. What does
not: indexing, ``fill``, ``copy_from``, comparison, and ``np.ndarray(buffer=segment)``, which gives
its buffer back at once; after close such an array reads its old bytes or zeros.

Architecture. The types are written in C (``scopes/csrc``), since only there they are fast enough to
be used everywhere: ``os_memory`` maps; ``ranges`` and ``slabs`` cut and cache; ``arena`` leases
blocks to scopes, knows no Python, and is tested as plain C; ``scope*`` and ``segment*`` are the
Python types.
NumPy and cffi are imported only by the methods that make their objects.

Debugging: with ``debug(True)``, ``ScopeInUseError`` and ``dump()`` name the lines where exports
were taken and scopes opened, and memory that goes back is overwritten with bytes of 0xDD.

Environment: ``SCOPES_CACHE_LIMIT`` and ``SCOPES_IMPLICIT_BUDGET``, in bytes, are what
``set_cache_limit`` and ``set_implicit_budget`` would set first; ``SCOPES_DEBUG=1`` starts with
``debug(True)``. ``SCOPES_RECORD`` names a folder to ``record`` to, from the import to the end of
the process; %p in it stands for the process id.
"""

from __future__ import annotations

import sys as _sys

if not _sys.platform.startswith("linux"):
    raise ImportError(
        f"scopes supports Linux, found {_sys.platform!r}: its memory core needs Linux's "
        "madvise(MADV_DONTNEED), which zeroes pages, and private anonymous mmap"
    )

try:
    import scopes._core  # noqa: F401
except ModuleNotFoundError as _error:
    if _error.name != "scopes._core":
        raise
    raise ImportError(
        "the compiled part of scopes, scopes._core, is missing: build it with "
        "'pip install .' or, in a checkout, 'python setup.py build_ext --inplace'; "
        "both need a C compiler and the headers of Python"
    ) from _error

# scopes
# errors
# memory and its figures
# debugging
from scopes._core import (
    ConfinedScope,
    ImplicitScope,
    Scope,
    ScopeClosedError,
    ScopeError,
    ScopeInUseError,
    ScopeMemoryError,
    ScopeStatistics,
    Segment,
    SharedScope,
    Statistics,
    WrongThreadError,
    account,
    debug,
    set_cache_limit,
    set_implicit_budget,
    set_limit,
    statistics,
    trim,
)
from scopes._debug import dump

# what scopes do, to a file
from scopes._record import record
from scopes._record import record_from_environment as _record_from_environment

__all__ = [
    "ConfinedScope",
    "ImplicitScope",
    "Scope",
    "ScopeClosedError",
    "ScopeError",
    "ScopeInUseError",
    "ScopeMemoryError",
    "ScopeStatistics",
    "Segment",
    "SharedScope",
    "Statistics",
    "WrongThreadError",
    "account",
    "debug",
    "dump",
    "record",
    "set_cache_limit",
    "set_implicit_budget",
    "set_limit",
    "statistics",
    "trim",
]

_record_from_environment()
