"""The shape of the project: which way imports point, what is exported, how large files grow."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import scopes

ROOT = Path(__file__).parents[1]
#: What each package may import of the others.
ALLOWED = {
    "scopes": set(),
    "results": set(),
    "stress": {"scopes"},
    "suites": {"scopes", "stress", "results"},
}
EXPORTED = {
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
}
#: The parts of the core that are plain C, and tested as such.
PLAIN_C = {
    "arena",
    "atomics",
    "block",
    "budget",
    "carver",
    "event_clock",
    "event_file",
    "events",
    "os_memory",
    "process",
    "ranges",
    "slabs",
    "thread_token",
}


def imported_by(path):
    """The top-level packages that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield path.relative_to(ROOT).parts[0] if node.level else node.module.split(".")[0]


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_point_one_way(package):
    sources = [*(ROOT / package).rglob("*.py"), *(ROOT / package).rglob("*.pyi")]
    others = set(ALLOWED) - ALLOWED[package] - {package}
    wrong = {(str(path), name) for path in sources for name in imported_by(path) if name in others}
    assert sources
    assert wrong == set()


def test_numpy_and_cffi_are_imported_by_the_modules_made_for_them():
    found = {
        (path.name, name)
        for path in (ROOT / "scopes").glob("*.py")
        for name in imported_by(path)
        if name in ("numpy", "cffi")
    }
    assert found == {("_numpy.py", "numpy"), ("_cffi.py", "cffi")}


def test_the_exported_names_are_these():
    assert set(scopes.__all__) == EXPORTED
    assert scopes.__all__ == sorted(scopes.__all__)


def test_nothing_else_is_public():
    public = {
        name
        for name, thing in vars(scopes).items()
        if not name.startswith("_") and not inspect.ismodule(thing)
    }
    assert public - {"annotations"} == EXPORTED


def includes(path):
    return set(re.findall(r'^#include ["<]([^">]+)', path.read_text(), re.MULTILINE))


def test_the_plain_c_parts_know_no_python():
    allowed = {f"{name}.h" for name in PLAIN_C}
    for path in (ROOT / "scopes" / "csrc").glob("*.[ch]"):
        if path.stem in PLAIN_C:
            own = {name for name in includes(path) if (path.parent / name).exists()}
            assert own <= allowed, path.name
            assert "Python.h" not in includes(path), path.name


def test_one_file_asks_the_system_for_memory():
    calls = re.compile(r"\b(mmap|munmap|madvise|mincore|mremap|mprotect)\s*\(")
    without_comments = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
    callers = {
        path.name
        for path in (ROOT / "scopes" / "csrc").glob("*.[ch]")
        if calls.search(without_comments.sub("", path.read_text()))
    }
    assert callers == {"os_memory.c"}


def tracked(*patterns):
    folders = [*ALLOWED, "tests"]
    return [p for folder in folders for pattern in patterns for p in (ROOT / folder).rglob(pattern)]


@pytest.mark.parametrize(("patterns", "most"), [(("*.py", "*.pyi"), 400), (("*.c", "*.h"), 600)])
def test_no_file_grows_without_end(patterns, most):
    long = {str(p): n for p in tracked(*patterns) if (n := len(p.read_text().splitlines())) > most}
    assert long == {}


def test_each_folder_with_modules_is_packaged():
    import tomllib

    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for package in ("scopes", "stress", "suites", "results")
        for path in (ROOT / package).rglob("__init__.py")
    }
    assert set(listed) == found
