"""Builds `stress._native` by cffi's API mode: GIL-free native code that knows no Python object.

The declarations are the header's own lines without the preprocessor's, so header and module can't
drift apart.
"""

import os
import shlex
from glob import glob

from cffi import FFI

PARTS = ["spinners", "timeline", "resolver", "replay_plan", "replay"]
"""Those with a header for Python."""
INNER = ["replay_plan_lists", "replay_plan_own", "replay_worker"]
INNER += ["replay_heap", "replay_mmap", "replay_arena"]
FOLDER = os.path.dirname(__file__)
SCOPES = os.path.join(FOLDER, "..", "..", "scopes", "csrc")
WARNINGS = ["-Wall", "-Wextra", "-Wundef", "-Wshadow", "-Wno-unused-parameter"]
CFLAGS = ["-std=c11", "-fvisibility=hidden", *shlex.split(os.environ.get("SCOPES_CFLAGS", ""))]


def declarations(header: str) -> str:
    """What cffi needs of a header in this folder: its lines that are not for the preprocessor."""
    with open(os.path.join(FOLDER, header), encoding="utf-8") as file:
        return "".join(line for line in file if not line.startswith("#"))


ffibuilder = FFI()
for part in PARTS:
    ffibuilder.cdef(declarations(f"{part}.h"))
ffibuilder.set_source(
    "stress._native",
    "".join(f'#include "{part}.h"\n' for part in PARTS),
    sources=[os.path.join(FOLDER, f"{part}.c") for part in PARTS + INNER],
    depends=glob(os.path.join(FOLDER, "*.h")) + glob(os.path.join(SCOPES, "*.[ch]")),
    include_dirs=[FOLDER],
    extra_compile_args=WARNINGS + CFLAGS,
    extra_link_args=["-pthread"],
)
