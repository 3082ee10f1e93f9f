"""What this process runs with, whatever was asked for: variables and allocators."""

import ctypes
import os
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

PYTHONMALLOC, LD_PRELOAD = "PYTHONMALLOC", "LD_PRELOAD"
#: Variables of this project, and those that choose or tune an allocator: what would be measured
#: without them is something else, so they reach the workers and are read back.
CHOSEN = (PYTHONMALLOC, LD_PRELOAD, "GLIBC_TUNABLES")
CHOSEN_PREFIXES = ("SCOPES_", "MALLOC_", "MIMALLOC_", "TCMALLOC_")

#: How the names of the C libraries begin that `malloc_library` gives.
C_LIBRARIES = ("glibc", "musl")


class Found(NamedTuple):
    """The allocators of a process: of Python's objects, and its malloc."""

    objects: str
    malloc: str

    def __str__(self) -> str:
        return f"objects from {self.objects}, malloc of {self.malloc}"


def chosen_environ() -> dict[str, str]:
    """The variables of this process that decide what is measured."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in CHOSEN or name.startswith(CHOSEN_PREFIXES)
    }


def malloc_options() -> dict[str, str]:
    """Those of them that tune malloc, beside the choice of it."""
    others = (PYTHONMALLOC, LD_PRELOAD)
    return {
        name: value
        for name, value in chosen_environ().items()
        if name not in others and not name.startswith("SCOPES_")
    }


def environ_mismatch(expected: Iterable[str]) -> str | None:
    """What differs between these variables, as NAME=VALUE, and those of this process; None if
    nothing does. One that decides what is measured, and that nobody expects, is a difference."""
    wanted = sorted(expected)
    names = {text.partition("=")[0] for text in wanted} | set(chosen_environ())
    found = sorted(f"{name}={os.environ[name]}" for name in names if name in os.environ)
    if wanted == found:
        return None
    return f"the environment differs: expected {wanted}, found {found}"


@cache
def found_here() -> Found:
    """The allocators of this process.

    To be called early, for whoever wraps Python's allocators later (tracemalloc, a probe) hides
    them; the answer is kept.
    """
    return Found(object_allocator(), malloc_library() or "an unknown library")


def object_allocator() -> str:
    """Python's allocator of objects, by the name CPython has for it while nobody wraps it.

    CPython 3.13 calls its own copy of mimalloc by that name alone; here it is cpython-mimalloc,
    for a library of that name can be preloaded as well.
    """
    try:
        current = ctypes.pythonapi._PyMem_GetCurrentAllocatorName
    except AttributeError:  # not of the stable interface
        name = ""
    else:
        current.restype = ctypes.c_char_p
        name = (current() or b"").decode()
    return (name or _guessed()).replace("mimalloc", "cpython-mimalloc")


def _guessed() -> str:
    """By what can be seen from outside: pymalloc alone counts its blocks, so 0 means that every
    object comes from malloc, whatever PYTHONMALLOC asked for."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "mimalloc"
    name = "pymalloc" if sys.getallocatedblocks() else "malloc"
    asked = "" if sys.flags.ignore_environment else os.environ.get(PYTHONMALLOC, "")
    debug = sys.flags.dev_mode if not asked else asked == "debug" or asked.endswith("_debug")
    return f"{name}_debug" if debug else name


class _Place(ctypes.Structure):
    """Dl_info of dladdr(3): the file an address belongs to, and its nearest symbol."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def malloc_library() -> str:
    """The file whose malloc the process calls, or name and version of the C library if it is hers.

    Asked of the dynamic linker: a library may be mapped, and malloc come from another one. Empty
    where the linker can't be asked.
    """
    process, place = ctypes.CDLL(None), _Place()
    try:
        known = process.dladdr(process.malloc, ctypes.byref(place))
    except AttributeError:
        return ""
    if not known or not place.file:
        return ""
    file = os.path.basename(os.path.realpath(os.fsdecode(place.file)))
    return c_library() if file.startswith(("libc.", "libc-", "ld-musl")) else file


def c_library() -> str:
    """Name and version of the C library, as far as it tells: "glibc 2.36", "musl"."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or "musl"
    except (ValueError, OSError):
        return "musl"
