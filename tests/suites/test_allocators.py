"""Which allocator is asked for, how a process gets it, and what is read back there."""

import json
import os
import subprocess
import sys
import tracemalloc
from ctypes.util import find_library

import pyperf
import pytest

from suites import allocators, provenance, readback
from suites.allocators import (
    LIBRARIES,
    PYTHON_MALLOC,
    Allocator,
    AllocatorError,
)
from suites.readback import Found, found_here

PYMALLOC = Found("pymalloc", "glibc 2.36")
INSTALLED = [name for name, (names, _) in LIBRARIES.items() if any(map(find_library, names))]
ONE_CELL = ("--only", "^baseline$", "--mode", "none", "-o", "a.json")


def found_in(code="from suites.readback import found_here", **variables):
    """The allocators of a process that was started with these variables."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*found_here(), sep='\\n')"],
        cwd=provenance.ROOT,
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return Found(*done.stdout.splitlines())


@pytest.mark.parametrize(
    ("text", "objects", "library"),
    [
        ("default", "", ""),
        ("pymalloc", "pymalloc", ""),
        ("malloc", "malloc", ""),
        ("debug", "debug", ""),
        ("jemalloc", "malloc", "jemalloc"),
        ("pymalloc+jemalloc", "pymalloc", "jemalloc"),
        ("mimalloc+malloc_debug", "malloc_debug", "mimalloc"),
    ],
)
def test_a_name_is_that_of_python_s_part_or_of_a_library_or_both(text, objects, library):
    allocator = Allocator.parse(text)
    assert (allocator.objects, allocator.library, str(allocator)) == (objects, library, text)


@pytest.mark.parametrize(
    "text", ["", "hoard", "jemalloc+mimalloc", "malloc+pymalloc", "default+jemalloc", "pymalloc+"]
)
def test_another_name_says_what_there_is(text):
    with pytest.raises(ValueError, match=r"^an allocator is default, one of pymalloc, .*; found "):
        Allocator.parse(text)


def test_a_library_serves_python_s_objects_as_well(monkeypatch):
    monkeypatch.setattr(allocators, "find_library", lambda name: f"lib{name}.so.2")
    assert Allocator.parse("jemalloc").environ({}) == {
        "PYTHONMALLOC": "malloc",
        "LD_PRELOAD": "libjemalloc.so.2",
    }
    assert Allocator.parse("pymalloc+jemalloc").environ({})["PYTHONMALLOC"] == "pymalloc"


def test_what_is_preloaded_already_comes_behind(monkeypatch):
    monkeypatch.setattr(allocators, "find_library", lambda name: f"lib{name}.so.2")
    environ = Allocator.parse("mimalloc").environ({"LD_PRELOAD": "libother.so"})
    assert environ["LD_PRELOAD"] == "libmimalloc.so.2 libother.so"


def test_the_default_sets_nothing():
    assert Allocator().environ({"LD_PRELOAD": "libother.so"}) == {}


def test_cpython_s_own_mimalloc_is_not_the_library():
    assert Allocator.parse("cpython-mimalloc").environ({}) == {"PYTHONMALLOC": "mimalloc"}


def test_a_library_that_is_not_here_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(allocators, "find_library", lambda name: None)
    with pytest.raises(AllocatorError, match=r"a library libtcmalloc\.so.*libtcmalloc-minimal4$"):
        Allocator.parse("tcmalloc").environ({})


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("default", Found("cpython-mimalloc", "libhoard.so")),
        ("pymalloc", PYMALLOC),
        ("malloc", Found("malloc", "musl")),
        ("debug", Found("cpython-mimalloc_debug", "glibc 2.36")),
        ("jemalloc", Found("malloc", "libjemalloc.so.2")),
        ("pymalloc+mimalloc", Found("pymalloc", "libmimalloc.so.2.0")),
    ],
)
def test_what_was_asked_for_is_no_mismatch(asked, found):
    assert Allocator.parse(asked).mismatch(found) is None


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("pymalloc", Found("pymalloc_debug", "glibc 2.36")),
        ("debug", PYMALLOC),
        ("jemalloc", Found("malloc", "glibc 2.36")),
        ("jemalloc", Found("pymalloc", "libjemalloc.so.2")),
        ("malloc", Found("malloc", "libjemalloc.so.2")),
        ("mimalloc", Found("cpython-mimalloc", "glibc 2.36")),
    ],
)
def test_another_allocator_than_was_asked_for_is_a_mismatch(asked, found):
    message = Allocator.parse(asked).mismatch(found)
    assert message.startswith(f"the allocator {asked} was asked for and another one runs: expected")
    assert message.endswith(f"found objects from {found.objects}, malloc of {found.malloc}")


@pytest.mark.parametrize("name", ["pymalloc", "pymalloc_debug", "malloc", "malloc_debug"])
def test_python_s_part_is_read_back_by_its_name(name):
    assert found_in(PYTHONMALLOC=PYTHON_MALLOC[name]).objects == name


def test_without_cpython_s_own_word_the_allocator_is_told_by_its_blocks(monkeypatch):
    monkeypatch.setattr(readback.ctypes, "pythonapi", object())
    assert readback.object_allocator() == found_here().objects


def test_an_allocator_that_is_wrapped_by_now_is_still_known():
    code = (
        "from suites.readback import found_here; found_here(); import tracemalloc;"
        " tracemalloc.start()"
    )
    assert found_in(code, PYTHONMALLOC="malloc").objects == "malloc"


def test_an_allocator_that_was_wrapped_first_is_told_by_its_blocks():
    code = "import tracemalloc; tracemalloc.start(); from suites.readback import found_here"
    assert found_in(code, PYTHONMALLOC="malloc").objects == "malloc"
    assert not tracemalloc.is_tracing()


def test_malloc_is_that_of_the_c_library_with_its_version():
    assert found_in().malloc == os.confstr("CS_GNU_LIBC_VERSION")


@pytest.mark.parametrize("name", INSTALLED)
def test_a_preloaded_library_is_what_malloc_belongs_to(name):
    allocator = Allocator.parse(name)
    found = found_in(**allocator.environ({}))
    assert found.malloc.startswith(f"lib{name}")
    assert allocator.mismatch(found) is None


def test_a_library_that_is_mapped_and_serves_no_malloc_is_not_malloc():
    if "mimalloc" not in INSTALLED:
        pytest.skip("needs libmimalloc2.0")
    code = (
        "import ctypes; ctypes.CDLL('libmimalloc.so.2');"
        " assert 'libmimalloc' in open('/proc/self/maps').read();"
        " from suites.readback import found_here"
    )
    assert found_in(code).malloc == os.confstr("CS_GNU_LIBC_VERSION")


def test_a_trial_passes_where_the_allocator_runs():
    Allocator.parse("malloc").check()


def test_a_trial_fails_where_python_has_no_such_allocator(monkeypatch):
    monkeypatch.setitem(PYTHON_MALLOC, "pymalloc", "nosuchmalloc")
    with pytest.raises(AllocatorError, match=r"not run with the allocator pymalloc: Fatal Python"):
        Allocator.parse("pymalloc").check()


def test_a_trial_fails_where_the_library_can_t_be_preloaded(monkeypatch):
    monkeypatch.setattr(allocators, "find_library", lambda name: "libnosuchthing.so")
    with pytest.raises(AllocatorError, match=r"another one runs: expected objects from malloc and"):
        Allocator.parse("jemalloc").check()


def test_a_suite_runs_with_an_allocator_and_says_so(suite, tmp_path):
    done = suite("--allocator", "malloc", *ONE_CELL, *suite.smallest)
    assert done.returncode == 0, done.stderr
    (score, *_) = pyperf.BenchmarkSuite.load(str(tmp_path / "a.json"))
    metadata = score.get_metadata()
    assert score.get_name() == "baseline[NONE,allocator=malloc]"
    assert metadata["scopestress_object_allocator"] == "malloc"
    assert metadata["scopestress_environ"] == "PYTHONMALLOC=malloc"
    assert json.loads(metadata["scopestress_params"])["allocator"] == "malloc"


def test_allocators_can_be_swept(suite, tmp_path):
    swept = ",".join(["default", "malloc_debug", *INSTALLED])
    done = suite("--param", f"allocator={swept}", *ONE_CELL, *suite.smallest)
    assert done.returncode == 0, done.stderr
    found = {
        benchmark.get_name(): benchmark.get_metadata()["scopestress_malloc"]
        for benchmark in pyperf.BenchmarkSuite.load(str(tmp_path / "a.json"))
        if ":" not in benchmark.get_name()
    }
    assert list(found) == [
        "baseline[NONE]",
        "baseline[NONE,allocator=malloc_debug]",
        *(f"baseline[NONE,allocator={name}]" for name in INSTALLED),
    ]
    for name in INSTALLED:
        assert found[f"baseline[NONE,allocator={name}]"].startswith(f"lib{name}")


def test_an_allocator_that_can_t_be_had_is_refused_before_anything_runs(suite, tmp_path):
    done = suite("--allocator", "malloc", "--python", "/bin/false", *ONE_CELL, *suite.smallest)
    assert done.returncode == 2
    assert "/bin/false does not run with the allocator malloc: exit status 1" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_allocator_that_does_not_run_in_the_worker_is_an_error(suite):
    worker = ("--worker", "--worker-task=0", "--loops=1", "--warmups=0", "--values=1")
    done = suite(
        *worker,
        "--allocator=malloc",
        "--worker-environ=PYTHONMALLOC=pymalloc",
        *ONE_CELL[:4],
        PYTHONMALLOC="pymalloc",
    )
    assert done.returncode == 1
    assert "worker: the allocator malloc was asked for and another one runs" in done.stderr
