"""Where figures come from: interpreter, collector, allocators and machine, read in the process.

Nothing here is what was asked for; all is what is found. A key whose fact can't be found is absent.
"""

import gc
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from suites.readback import chosen_environ, found_here, malloc_options

PREFIX = "scopestress_"
ROOT = Path(__file__).resolve().parent.parent


def of_process() -> dict[str, str]:
    """Facts about this process and its machine; to be called in the worker, after its values."""
    facts = {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "build": _build(),
        "gil": _gil(),
        "gc": "enabled" if gc.isenabled() else "disabled",
        "gc_thresholds": ",".join(map(str, gc.get_threshold())),
        "object_allocator": found_here().objects,
        "malloc": found_here().malloc,
        "malloc_options": _joined(malloc_options()),
        "thp": chosen(_read("/sys/kernel/mm/transparent_hugepage/enabled")),
        "kernel": f"{platform.system()} {platform.release()}",
        "cpu": cpu_model(_read("/proc/cpuinfo")) or platform.machine(),
        "environ": _joined(chosen_environ()),
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


def _joined(variables: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(variables.items()))


def _build() -> str:
    debug = ", debug" if hasattr(sys, "gettotalrefcount") else ""
    return f"{', '.join(platform.python_build())}, {platform.python_compiler()}{debug}"


def _gil() -> str:
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    if not free_threaded:
        return "enabled"
    return "enabled in a free-threaded build" if enabled else "disabled"


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
