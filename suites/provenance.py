"""Where figures come from: interpreter, collector, allocators and machine, read in the process.

Nothing here is what was asked for; all is what is found. A key whose fact can't be found is absent.
"""

import gc
import os
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

PREFIX = "scopestress_"
ROOT = Path(__file__).resolve().parent.parent

# Allocators that are known to be preloaded in place of the C library's.
_PRELOADED = ("jemalloc", "tcmalloc", "mimalloc", "snmalloc", "hoard", "scudo", "rpmalloc")


def of_process() -> dict[str, str]:
    """Facts about this process and its machine; to be called in the worker, after its values."""
    facts = {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "build": _build(),
        "gil": _gil(),
        "gc": "enabled" if gc.isenabled() else "disabled",
        "gc_thresholds": ",".join(map(str, gc.get_threshold())),
        "object_allocator": _object_allocator(),
        "malloc": malloc(_read("/proc/self/maps")),
        "malloc_options": _malloc_options(os.environ),
        "thp": chosen(_read("/sys/kernel/mm/transparent_hugepage/enabled")),
        "kernel": f"{platform.system()} {platform.release()}",
        "cpu": cpu_model(_read("/proc/cpuinfo")) or platform.machine(),
        "environ": " ".join(f"{name}={value}" for name, value in sorted(own_environ().items())),
    }
    return {PREFIX + key: value for key, value in facts.items() if value}


def of_project() -> dict[str, str]:
    """The git commit of the checkout this package runs from; nothing when it is installed."""
    if not (ROOT / ".git").exists():
        return {}
    git = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        found = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {}  # no git here, or a repository it refuses to read: the key is absent
    return {PREFIX + "commit": found.stdout.strip()}


def own_environ() -> dict[str, str]:
    """The variables of this project that are set; they reach the workers and are read back."""
    return {name: value for name, value in os.environ.items() if name.startswith("SCOPES_")}


def _build() -> str:
    debug = ", debug" if hasattr(sys, "gettotalrefcount") else ""
    return f"{', '.join(platform.python_build())}, {platform.python_compiler()}{debug}"


def _gil() -> str:
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    if not free_threaded:
        return "enabled"
    return "enabled in a free-threaded build" if enabled else "disabled"


def _object_allocator() -> str:
    """Python's allocator of objects. pymalloc alone counts its blocks, so 0 means that every object
    comes from malloc, whatever PYTHONMALLOC asked for."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "mimalloc"
    name = "pymalloc" if sys.getallocatedblocks() else "malloc"
    asked = "" if sys.flags.ignore_environment else os.environ.get("PYTHONMALLOC", "")
    debug = sys.flags.dev_mode if not asked else asked == "debug" or asked.endswith("_debug")
    return f"{name}_debug" if debug else name


def malloc(maps: str) -> str:
    """The malloc that is loaded into the process, by the libraries that are mapped."""
    names = sorted({line.rpartition("/")[2] for line in maps.splitlines() if "/" in line})
    for name in names:
        if any(known in name for known in _PRELOADED):
            return name
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return next((name for name in names if "musl" in name), "")


def _malloc_options(environ: Mapping[str, str]) -> str:
    """What tunes malloc from outside: GLIBC_TUNABLES and the MALLOC_ variables."""
    return " ".join(
        f"{name}={value}"
        for name, value in sorted(environ.items())
        if name == "GLIBC_TUNABLES" or name.startswith(("MALLOC_", "MIMALLOC_", "TCMALLOC_"))
    )


def chosen(text: str) -> str:
    """'madvise' from 'always [madvise] never'."""
    return text.partition("[")[2].partition("]")[0]


def cpu_model(cpuinfo: str) -> str:
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""  # not on this kernel, or not for us: the fact is absent
