from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyperf
import pytest

from results.compare.comparability import FACTS, differences, refused
from results.files import read
from results.model import Row

Make = Callable[..., pyperf.Benchmark]
FileOf = Callable[..., Path]

OURS = {
    "scopestress_build": "main, GCC 12",
    "scopestress_gil": "enabled",
    "scopestress_gc": "enabled",
    "scopestress_object_allocator": "pymalloc",
    "scopestress_malloc": "glibc 2.36",
    "scopestress_thp": "madvise",
    "scopestress_probes": "gc,rss",
}


@pytest.fixture
def row(make_score: Make, file_of: FileOf) -> Callable[..., Row]:
    """A row with this metadata, None for what isn't there."""

    def make(name: str = "a[NONE]", inner_loops: int = 1, **metadata: Any) -> Row:
        both = OURS | metadata
        told = {key: value for key, value in both.items() if value is not None}
        score = make_score(name, metadata=told, inner_loops=inner_loops)
        return read(file_of("one.json", score)).rows[0]

    return make


RowOf = Callable[..., Row]


def told(*pairs: tuple[Row, Row]) -> list[str]:
    return [difference.text(len(pairs)) for difference in differences(pairs)]


@pytest.mark.parametrize(
    ("name", "metadata", "expected"),
    [
        (
            "python",
            {"scopestress_python": "CPython 3.11.8"},
            "CPython 3.11.7 against CPython 3.11.8",
        ),
        ("build", {"scopestress_build": "x, Clang"}, "main, GCC 12 against x, Clang"),
        ("gil", {"scopestress_gil": "disabled"}, "enabled against disabled"),
        (
            "gc",
            {"scopestress_gc_thresholds": "2000,10,10"},
            "enabled, 700,10,10 against enabled, 2000,10,10",
        ),
        (
            "allocator",
            {"scopestress_object_allocator": "malloc"},
            "pymalloc, glibc 2.36, no options against malloc, glibc 2.36, no options",
        ),
        (
            "allocator",
            {"scopestress_malloc_options": "MALLOC_ARENA_MAX=1"},
            "pymalloc, glibc 2.36, no options against pymalloc, glibc 2.36, MALLOC_ARENA_MAX=1",
        ),
        ("thp", {"scopestress_thp": "always"}, "madvise against always"),
        (
            "machine",
            {"cpu_count": 4},
            "bench, Some CPU @ 2.50GHz, 2 CPUs against bench, Some CPU @ 2.50GHz, 4 CPUs",
        ),
        (
            "machine",
            {"hostname": "other"},
            "bench, Some CPU @ 2.50GHz, 2 CPUs against other, Some CPU @ 2.50GHz, 2 CPUs",
        ),
        ("kernel", {"scopestress_kernel": "Linux 6.2.0"}, "Linux 6.1.0 against Linux 6.2.0"),
        (
            "environ",
            {"scopestress_environ": "SCOPES_X=1"},
            "no SCOPES_ variables against SCOPES_X=1",
        ),
        ("probes", {"scopestress_probes": "gc,rss,alloc"}, "gc,rss against alloc,gc,rss"),
    ],
)
def test_a_fact_that_differs_is_told_with_both_sides(
    row: RowOf, name: str, metadata: dict[str, Any], expected: str
) -> None:
    assert told((row(), row(**metadata))) == [f"{name}: {expected}"]


def test_rows_alike_have_no_differences(row: RowOf) -> None:
    assert told((row(), row())) == []


def test_the_order_of_probes_says_nothing(row: RowOf) -> None:
    assert told((row(), row(scopestress_probes="rss,gc"))) == []


@pytest.mark.parametrize("key", ["hostname", "cpu_count", "scopestress_thp", "scopestress_gil"])
def test_a_fact_that_one_file_does_not_tell_is_not_held_against_it(row: RowOf, key: str) -> None:
    stripped = row()
    without = {k: v for k, v in stripped.metadata.items() if k != key}
    object.__setattr__(stripped, "metadata", without)
    assert told((row(), stripped), (stripped, row())) == []


def test_another_collection_period_is_told(row: RowOf) -> None:
    pair = row("a[NONE]", inner_loops=256), row("a[NONE,collect-every=64]", inner_loops=64)
    assert told(pair) == ["collect-every: 256 against 64"]


def test_inner_loops_of_other_peoples_benchmarks_are_no_period(
    make_score: Make, tmp_path: Path
) -> None:
    rows = []
    for loops in (10, 20):
        path = tmp_path / f"{loops}.json"
        run = pyperf.Run(
            [1.0], metadata={"name": "x", "inner_loops": loops}, collect_metadata=False
        )
        pyperf.Benchmark([run]).dump(str(path))
        rows += read(path).rows
    assert told((rows[0], rows[1])) == []


def test_plain_files_of_pyperf_tell_their_python_and_machine(tmp_path: Path) -> None:
    rows = []
    for version, host in (("3.11.7 (64-bit)", "one"), ("3.12.1 (64-bit)", "other")):
        metadata = {"name": "x", "python_version": version, "python_implementation": "cpython"}
        run = pyperf.Run([1.0], metadata=metadata | {"hostname": host}, collect_metadata=False)
        pyperf.Benchmark([run]).dump(str(tmp_path / host))
        rows += read(tmp_path / host).rows
    assert told((rows[0], rows[1])) == [
        "python: cpython 3.11.7 against cpython 3.12.1",
        "machine: one against other",
    ]


def test_rows_are_named_where_a_fact_does_not_concern_all(row: RowOf) -> None:
    same = (row("b[NONE]"), row("b[NONE]"))
    other = row("a[NONE]", scopestress_gil="disabled")
    assert told((row(), other), same) == ["gil: enabled against disabled (a[NONE])"]
    assert told((row(), other), (row(), other), same) == [
        "gil: enabled against disabled (a[NONE] and 1 more)"
    ]


def test_what_is_allowed_by_name_is_not_refused(row: RowOf) -> None:
    found = differences([(row(), row(scopestress_gil="disabled", cpu_count=4))])
    assert [d.name for d in refused(found, [])] == ["gil", "machine"]
    assert [d.name for d in refused(found, ["machine", "gil"])] == []
    assert set(FACTS) >= {"gil", "machine"}
