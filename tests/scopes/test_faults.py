"""Each call of the core that can run out of memory does: faults/, in a process of its own."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import scopes
from scopes import _core

HERE = Path(__file__).parent
PACKAGE = Path(scopes.__file__).parent
SOURCES = HERE.parents[1] / "scopes" / "csrc"
HEADER = HERE / "csrc" / "faults.h"
COMPILER = shutil.which("gcc") or shutil.which("clang")

#: Macros of Python.h, and the functions that faults.h knows them by.
MACROS = {
    "PyObject_CallMethod": "_PyObject_CallMethod_SizeT",
    "PyObject_GC_New": "_PyObject_GC_New",
    "PyObject_New": "_PyObject_New",
    "Py_BuildValue": "_Py_BuildValue_SizeT",
}

#: What stands before a parenthesis as well, and parameters that are functions of the caller's.
NOT_CALLS = {"if", "else", "for", "while", "do", "return", "sizeof", "defined", "int", "void"}
NOT_CALLS |= {"offsetof", "_Atomic", "UINT64_C", "PyDoc_STR", "PyDoc_STRVAR", "Py_UNUSED"}
NOT_CALLS |= {"_Static_assert", "visit", "run", "died", "listener"}


def built_with_faults():
    return b"faults_begin" in Path(_core.__file__).read_bytes()


@pytest.fixture(scope="module")
def never(tmp_path_factory):
    """Runs the tests of faults/; the calls that never failed there."""
    if built_with_faults():
        pytest.skip("the core of this process is such a build: faults/ runs in it")
    if COMPILER is None:
        pytest.skip("needs gcc or clang")
    folder = tmp_path_factory.mktemp("faults")
    report = folder / "never"
    build(folder / "scopes")
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            str(HERE / "faults"),
        ],
        env=os.environ | {"PYTHONPATH": str(folder), "SCOPES_FAULTS_REPORT": str(folder / "never")},
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr
    return report.read_text().splitlines()


def build(package):
    """A copy of the package whose core has faults, its assertions and the validity checker."""
    package.mkdir()
    for path in PACKAGE.glob("*.py"):
        shutil.copy(path, package)
    command = ["bash", HERE / "csrc" / "build-core", sys.executable, package]
    options = ["-O1", "-DSCOPES_DEBUG=1"]
    subprocess.run([*command, *options], env=os.environ | {"CC": COMPILER}, check=True)


@pytest.mark.long
def test_each_call_that_can_run_out_of_memory_was_made_to(never):
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):  # some operations differ there
        assert never == []


def names_in(header):
    """The functions of faults.h that can be made to fail, and those that it says never do."""
    fail = set(re.findall(r"#define (\w+)\(\.\.\.\)", header))
    fail |= {name for name, stands_for in MACROS.items() if stands_for in fail}
    comment = re.search(r"/\* Not here, (.*?):(.*?)\*/", header, re.DOTALL)[2]
    return fail, set(re.findall(r"\w+", comment))


def test_calls_that_can_run_out_of_memory_are_known():
    """A function that the core calls first is added to faults.h, as one kind or as the other."""
    code = "\n".join(path.read_text() for path in sorted(SOURCES.glob("*.[ch]")))
    code = re.sub(r"/\*.*?\*/|__attribute__\(\(.*?\)\) ?", "", code, flags=re.DOTALL)
    code = re.sub(r'"(?:\\.|[^"\\])*"', '""', code)
    found = re.findall(r"^[A-Za-z_][^(\n]*?(\w+)\(|#define (\w+)", code, re.MULTILINE)
    own = {name for names in found for name in names}
    called = set(re.findall(r"\b([A-Za-z_]\w*)\s*\(", code)) - own - NOT_CALLS
    fail, never = names_in(HEADER.read_text())
    assert called - fail - never == set()
    assert never - called == set()
