"""The compiled parts; everything else about the package is in pyproject.toml.

Environment variables: SCOPES_CFLAGS adds compiler options (CI builds with -Werror),
SCOPES_ASSERTIONS=1 turns on the assertions and the validity checker of the C core, SCOPES_EVENTS=0
leaves out the events that scopes.record() needs.
"""

import os
import shlex
import sysconfig
from glob import glob

from setuptools import Extension, setup

WARNINGS = ["-Wall", "-Wextra", "-Wundef", "-Wshadow", "-Wno-unused-parameter"]
CFLAGS = [
    "-std=c11",
    "-D_GNU_SOURCE",
    "-fvisibility=hidden",
    "-fno-plt",
    *shlex.split(os.environ.get("SCOPES_CFLAGS", "")),
]
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    CFLAGS += ["-DSCOPES_CONCURRENT=1"]
if os.environ.get("SCOPES_ASSERTIONS", "0") not in ("", "0"):
    CFLAGS += ["-UNDEBUG", "-DSCOPES_DEBUG=1", "-O1", "-g"]
if os.environ.get("SCOPES_EVENTS") == "0":
    CFLAGS += ["-DSCOPES_EVENTS=0"]


def extension(name: str, pattern: str) -> Extension:
    """An extension made of the C files that match the pattern, rebuilt when a header changes."""
    folder = os.path.dirname(pattern)
    return Extension(
        name,
        sources=sorted(glob(pattern)),
        depends=glob(f"{folder}/*.[ch]"),
        include_dirs=[folder],
        extra_compile_args=WARNINGS + CFLAGS,
    )


# cffi has no build for the free-threaded CPython 3.13; the scopes need none and build there.
try:
    import cffi  # noqa: F401

    cffi_options = {"cffi_modules": ["stress/csrc/native_build.py:ffibuilder"]}
except ImportError:
    cffi_options = {}

setup(
    ext_modules=[
        extension("scopes._core", "scopes/csrc/core.c"),
        extension("stress._probe", "stress/csrc/probe*.c"),
    ],
    **cffi_options,
)
