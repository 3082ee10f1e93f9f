"""The plain C parts by their own programs: warnings are errors, and sanitizers watch."""

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "csrc"
SOURCES = Path(__file__).parents[2] / "scopes" / "csrc"
PARTS = [
    "arena",
    "budget",
    "event_file",
    "events",
    "os_memory",
    "process",
    "ranges",
    "slabs",
    "thread_token",
]
STRICT = [
    "-std=c11",
    "-D_GNU_SOURCE",
    "-Wall",
    "-Wextra",
    "-Wundef",
    "-Wshadow",
    "-Wconversion",
    "-Werror",
]
SANITIZERS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
    # ASan's allocator is not for a child of fork whose parent had other threads in it: that waits
    # for a lock that nobody gives back.
    "undefined": ["-fsanitize=undefined", "-fno-sanitize-recover=all"],
}
#: What a program puts in the place of a function that the core calls.
WRAPPED = re.compile(r"^\w[\w *]*\b__wrap_(\w+)\(.*\)$", re.MULTILINE)
#: Without address randomisation: older TSan runtimes refuse the layouts of newer kernels.
FIXED_LAYOUT = ["setarch", platform.machine(), "-R"]

pytestmark = pytest.mark.skipif(shutil.which("setarch") is None, reason="needs setarch")


def compile_or_fail(compiler, *args):
    done = subprocess.run([compiler, *map(str, args)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The plain C parts, compiled once for each compiler, sanitizer and kind of locking."""
    made = {}

    def make(compiler, sanitizer, concurrent):
        options = [*STRICT, *SANITIZERS[sanitizer], "-O1", "-g", "-pthread"]
        options += ["-DSCOPES_DEBUG=1", f"-DSCOPES_CONCURRENT={concurrent}", f"-I{SOURCES}"]
        key = compiler, sanitizer, concurrent
        if key not in made:
            folder = tmp_path_factory.mktemp("core")
            objects = [folder / f"{part}.o" for part in PARTS]
            for part, target in zip(PARTS, objects, strict=True):
                compile_or_fail(compiler, *options, "-c", SOURCES / f"{part}.c", "-o", target)
            made[key] = objects
        return options, made[key]

    return make


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(
    ("program", "sanitizer", "concurrent"),
    [
        ("test_os_memory", "address", 0),
        ("test_ranges", "address", 0),
        ("test_slabs", "address", 0),
        ("test_thread_token", "address", 0),
        ("test_budget", "address", 0),
        ("test_budget", "thread", 1),
        ("test_arena", "address", 0),
        ("test_arena_failures", "address", 0),
        ("test_arena_failures", "address", 1),
        ("test_arena", "address", 1),
        ("test_arena_threads", "address", 1),
        ("test_arena_threads", "thread", 1),
        ("test_thread_token", "thread", 1),
        ("test_process", "undefined", 1),
        ("test_events", "address", 0),
        ("test_events", "address", 1),
        ("test_events_failures", "address", 0),
        ("test_events_failures", "address", 1),
        ("test_events_threads", "address", 1),
        ("test_events_threads", "thread", 1),
    ],
)
def test_a_program_holds_under_sanitizers(
    library, tmp_path, compiler, program, sanitizer, concurrent
):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    options, objects = library(compiler, sanitizer, concurrent)
    source, binary = HERE / f"{program}.c", tmp_path / program
    wrapped = [f"-Wl,--wrap={name}" for name in WRAPPED.findall(source.read_text())]
    compile_or_fail(compiler, *options, *wrapped, source, f"-I{HERE}", *objects, "-o", binary)
    done = subprocess.run(
        [*FIXED_LAYOUT, str(binary)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
