"""Allocators: what is set so that a worker runs with one.

A name is that of Python's own allocator, of a library in place of the C library's malloc, or of
both as "pymalloc+jemalloc". A library alone serves Python's objects as well: PYTHONMALLOC=malloc
sends them to it. What is asked for may not be what runs (a library that can't be preloaded, a build
of Python without that allocator), so it is always read back.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from ctypes.util import find_library
from dataclasses import dataclass

from suites.readback import C_LIBRARIES, LD_PRELOAD, PYTHONMALLOC, Found

DEFAULT = "default"
"""Whatever the interpreter and the system take by themselves."""

#: Name -> value of PYTHONMALLOC. Names are those that `object_allocator` reads back, but for
#: "debug", which adds checks to whichever allocator is the default.
PYTHON_MALLOC = {
    "pymalloc": "pymalloc",
    "pymalloc_debug": "pymalloc_debug",
    "malloc": "malloc",
    "malloc_debug": "malloc_debug",
    "cpython-mimalloc": "mimalloc",
    "cpython-mimalloc_debug": "mimalloc_debug",
    "debug": "debug",
}
#: Name -> names for the dynamic loader, in order of preference, and Debian's package.
LIBRARIES = {
    "jemalloc": (("jemalloc",), "libjemalloc2"),
    "mimalloc": (("mimalloc",), "libmimalloc2.0"),
    "tcmalloc": (("tcmalloc", "tcmalloc_minimal"), "libtcmalloc-minimal4"),
}


class AllocatorError(Exception):
    """An allocator can't be had, or another one runs than was asked for."""


@dataclass(frozen=True)
class Allocator:
    """What is asked for; an empty part is left to the system."""

    name: str = DEFAULT
    objects: str = ""
    library: str = ""

    @classmethod
    def parse(cls, text: str) -> "Allocator":
        """The allocator of that name; ValueError says what there is and what was found."""
        parts = text.split("+")
        objects = [part for part in parts if part in PYTHON_MALLOC]
        libraries = [part for part in parts if part in LIBRARIES]
        if text == DEFAULT:
            return cls()
        if len(objects) > 1 or len(libraries) > 1 or len(objects) + len(libraries) < len(parts):
            raise ValueError(
                f"an allocator is {DEFAULT}, one of {', '.join(PYTHON_MALLOC)}, one of"
                f" {', '.join(LIBRARIES)}, or one of each as pymalloc+jemalloc; found {text!r}"
            )
        library = libraries[0] if libraries else ""
        return cls(text, objects[0] if objects else "malloc", library)

    def __str__(self) -> str:
        return self.name

    def environ(self, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The variables a worker needs; AllocatorError for a library that is not here."""
        variables = {}
        if self.objects:
            variables[PYTHONMALLOC] = PYTHON_MALLOC[self.objects]
        if self.library:
            others = environ.get(LD_PRELOAD, "")
            variables[LD_PRELOAD] = f"{library(self.library)} {others}".rstrip()
        return variables

    def mismatch(self, found: Found) -> str | None:
        """What differs between this allocator and the one that runs; None if nothing does."""
        if not self.objects:
            return None
        if self.objects == "debug":
            fits = found.objects.endswith("_debug")
        else:
            fits = found.objects == self.objects
        if self.library:
            fits = fits and f"lib{self.library}" in found.malloc
        else:
            fits = fits and found.malloc.startswith(C_LIBRARIES)
        if fits:
            return None
        return (
            f"the allocator {self.name} was asked for and another one runs: expected objects from"
            f" {self.objects} and malloc of {self.library or 'the C library'}, found {found}"
        )

    def check(self, python: str = sys.executable) -> None:
        """AllocatorError unless that Python runs with it, as a trial shows."""
        if not self.objects:
            return
        code = "from suites.readback import found_here; print(*found_here(), sep='\\n', end='')"
        environ = {**os.environ, **self.environ()}
        command = [python, "-c", code]
        done = subprocess.run(command, env=environ, capture_output=True, text=True)
        if done.returncode:
            complaint = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            raise AllocatorError(
                f"{python} does not run with the allocator {self.name}: {complaint[0]}"
            )
        mismatch = self.mismatch(Found(*done.stdout.splitlines()))
        if mismatch:
            raise AllocatorError(mismatch)


def library(name: str) -> str:
    """What the loader knows a library of `LIBRARIES` by; AllocatorError where it knows none."""
    candidates, package = LIBRARIES[name]
    for candidate in candidates:
        if found := find_library(candidate):
            return found
    raise AllocatorError(
        f"the allocator {name} needs a library lib{name}.so, and the dynamic loader finds none;"
        f" Debian has it in the package {package}"
    )
