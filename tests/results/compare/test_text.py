from collections.abc import Callable
from typing import Any

import pyperf
import pytest

from results.columns import MARKDOWN, TEXT, joined
from results.compare.comparison import Comparison, Selection
from results.compare.layout import Order, sub_tables
from results.compare.matrix import letter, matrix
from results.compare.text import not_comparable, pair
from results.compare.wording import percent

Make = Callable[..., pyperf.Benchmark]
Compared = Callable[..., Comparison]
Metrics = Callable[..., dict[str, Any]]


def shown(comparison: Comparison, **options: Any) -> list[str]:
    selection = options.pop("selection", Selection())
    return joined(*pair(comparison, selection, **options)).splitlines()


def section(lines: list[str], title: str) -> list[str]:
    """The lines under a title up to the next empty one."""
    start = lines.index(title) + 1
    return lines[start : lines.index("", start)]


def test_before_and_after_stand_side_by_side_with_a_remark(
    compared: Compared, steady: Make
) -> None:
    lines = shown(
        compared(
            [steady("full[NONE]", 1e-6), steady("other[NONE]", 2e-6), steady("third[NONE]", 1e-6)],
            [steady("full[NONE]", 8.5e-7), steady("other[NONE]", 2.5e-6), steady("third[NONE]")],
        )
    )
    assert section(lines, "score") == [
        "Benchmark       Before  After  Units   99 % interval",
        "full             1.000  0.850  us/op    -16 to -14 %  ; 15 % better",
        "other            2.000  2.500  us/op    +23 to +27 %  ; 25 % worse",
        "third            1.000  1.000  us/op  -1.3 to +1.3 %  ; within noise",
        "geometric mean                                +2.0 %",
    ]


def test_the_lines_after_stand_under_the_lines_before_as_in_the_jdk(
    compared: Compared, steady: Make
) -> None:
    sizes = ("1", "2", "4", "8", "16")
    before = [steady(f"full[NONE,size={size}]", 1e-8 * int(size)) for size in sizes]
    after = [steady(f"full[NONE,size={size}]", 8.5e-9 * int(size)) for size in sizes]
    lines = shown(compared(before, after), in_blocks=True)
    assert section(lines, "score, full")[:8] == [
        "Benchmark  (size)  Cnt    Score    Error  Units",
        "# Before",
        "full            1    6   10.000  ± 0.198  ns/op",
        "full            2    6   20.000  ± 0.397  ns/op",
        "full            4    6   40.000  ± 0.793  ns/op",
        "full            8    6   80.000  ± 1.586  ns/op",
        "full           16    6  160.000  ± 3.173  ns/op",
        "# After",
    ]
    assert section(lines, "score, full")[8] == (
        "full            1    6    8.500  ± 0.169  ns/op  ; 15 % better"
    )


def test_a_metric_a_mode_and_a_size_have_a_sub_table_each(compared: Compared, steady: Make) -> None:
    usual = {"scopestress_params": '{"size": "1KiB"}'}
    rows = [
        steady("baseline[NONE]", metrics={"gc.count": 3}),
        steady("a[NONE]", metadata=usual, metrics={"gc.count": 3}),
        steady("a[NONE,size=1MiB]", metrics={"gc.count": 3}),
        steady("a[MEMORY]", metadata=usual, metrics={"gc.count": 3}),
    ]
    comparison = compared(rows, rows)
    tables = sub_tables(comparison.changes, ["score", "gc.count"])
    assert [(table.title, len(table.lines)) for table in tables] == [
        ("score, NONE, 1KiB", 2),
        ("score, NONE, 1MiB", 1),
        ("score, MEMORY, 1KiB", 1),
        ("gc.count, NONE, 1KiB", 2),
        ("gc.count, NONE, 1MiB", 1),
        ("gc.count, MEMORY, 1KiB", 1),
    ]


def test_rows_are_told_apart_by_what_else_differs(compared: Compared, steady: Make) -> None:
    rows = [steady("a[THREADS]"), steady("a[THREADS,threads=8]")]
    lines = shown(compared(rows, rows))
    assert [line.split()[0] for line in section(lines, "score")[1:3]] == ["a", "a[threads=8]"]


def test_zeros_and_what_was_not_measured_need_no_lines(compared: Compared, steady: Make) -> None:
    metrics = {"gc.time": 0.0, "rss.peak": "clear_refs is not writable"}
    rows = [steady(f"{name}[NONE]", metrics=metrics) for name in "abcdef"]
    lines = shown(compared(rows, rows))
    assert section(lines, "gc.time") == ["0 before and after: a, b, c, d and 2 more"]
    assert section(lines, "rss.peak") == ["clear_refs is not writable: a, b, c, d and 2 more"]


def test_zero_unsupported_and_not_measurable_are_told_apart(
    compared: Compared, steady: Make
) -> None:
    before = steady(metrics={"gc.time": 0.0, "rss.peak": "why", "gc.pause.max": [[None]] * 6})
    after = steady(metrics={"gc.time": 0.5, "rss.peak": 5e7, "gc.pause.max": 0.1})
    lines = shown(compared(before, after))
    cells = {name: section(lines, name)[1].split() for name in ("gc.time", "rss.peak")}
    assert cells["gc.time"][1] == "0"
    assert cells["gc.time"][-3:] == ["from", "0", "worse"]
    assert cells["rss.peak"][1] == "unsupported"
    assert section(lines, "gc.pause.max")[1].split()[1:3] == ["not", "measurable"]
    assert "n/a: before: why." in lines


def test_the_summary_has_a_line_a_metric(compared: Compared, steady: Make) -> None:
    before = [steady(f"{name}[NONE]", metrics={"gc.count": 3}) for name in "ab"]
    after = [steady("a[NONE]", 2e-6, metrics={"gc.count": 3}), before[1]]
    lines = shown(compared(before, after))
    start = next(i for i, line in enumerate(lines) if line.startswith("Metric"))
    assert [line.split() for line in lines[start : start + 3]] == [
        ["Metric", "Rows", "better", "worse", "within", "noise", "n/a", "geometric", "mean"],
        ["score", "2", "1", "1", "+41", "%"],
        ["gc.count", "2", "2", "0.0", "%"],
    ]


@pytest.mark.parametrize("in_blocks", [False, True])
def test_no_line_is_wider_than_a_hundred_columns(
    compared: Compared, steady: Make, thrashing: Metrics, in_blocks: bool
) -> None:
    name = "weakref_finalize_of_an_anonymous_mmap_that_is_shared_with_a_child_of_fork"
    rows = [
        steady(f"{name}[MEMORY,heap-kind=bytes,heap-objects={n}]", metrics=thrashing())
        for n in (100_000, 2_000_000)
    ]
    after = [steady(row.get_name(), 5e-3, metrics=thrashing(share=0.9)) for row in rows]
    lines = shown(compared(rows, after), in_blocks=in_blocks)
    assert max(map(len, lines)) <= 100
    assert any("…" in line for line in lines)


def test_lines_are_sorted_by_change_with_the_worst_first(compared: Compared, steady: Make) -> None:
    before = [steady(f"{name}[NONE]") for name in "abc"]
    after = [
        steady(f"{name}[NONE]", seconds)
        for name, seconds in (("a", 0.5e-6), ("b", 3e-6), ("c", 1.2e-6))
    ]
    comparison = compared(before, after)
    orders = {
        order: [c.row.operation for c in sub_tables(comparison.changes, ["score"], order)[0].lines]
        for order in Order
    }
    assert orders == {
        Order.FILE: ["a", "b", "c"],
        Order.NAME: ["a", "b", "c"],
        Order.CHANGE: ["b", "c", "a"],
    }


def test_markdown_has_the_same_tables(compared: Compared, steady: Make) -> None:
    comparison = compared(steady("a|b"), steady("a|b", 2e-6))
    lines = joined(*pair(comparison, Selection(), MARKDOWN)).splitlines()
    assert "**score**" in lines
    assert "| a\\|b | 1.000 | 2.000 | us/op | +97 to +103 % | ; 100 % worse |" in lines
    rows = [line for line in lines if line.startswith("|")]
    assert all(line.endswith("|") for line in rows)


def test_hidden_changes_are_counted(compared: Compared, steady: Make) -> None:
    comparison = compared(
        [steady("a[NONE]"), steady("b[NONE]")], [steady("a[NONE]", 2e-6), steady("b[NONE]")]
    )
    lines = shown(comparison, selection=Selection(min_change=0.05))
    assert "Left out: 1 changes of less than 5.0 %." in lines
    assert not any(line.startswith("b ") for line in lines)


def test_more_than_two_files_are_columns(compared: Compared, steady: Make) -> None:
    comparisons = [
        compared([steady("a[NONE]"), steady("b[NONE]")], [steady("a[NONE]", seconds)])
        for seconds in (0.8e-6, 1e-6, 2e-6)
    ]
    lines = joined(*matrix(comparisons, Selection(), TEXT)).splitlines()
    assert [line[0] for line in lines if line[1:3] == ": "] == ["A", "B", "C", "D"]
    assert section(lines, "score") == [
        "Benchmark      A  Units       B      C        D",
        "a          1.000  us/op  -20 %*  0.0 %  +100 %*",
    ]


def test_many_files_make_several_tables(compared: Compared, steady: Make) -> None:
    comparisons = [compared(steady(), steady()) for _ in range(8)]
    lines = joined(*matrix(comparisons, Selection(), TEXT)).splitlines()
    headers = [line.split()[3:] for line in lines if line.startswith("Benchmark")]
    assert headers == [["B", "C", "D", "E", "F", "G"], ["H", "I"]]


def test_files_beyond_z_go_on_with_two_letters() -> None:
    assert [letter(index) for index in (0, 25, 26, 27, 52)] == ["A", "Z", "AA", "AB", "BA"]


def test_what_differs_is_said_and_what_was_allowed_marked(compared: Compared, steady: Make) -> None:
    comparison = compared(steady(), steady(metadata={"cpu_count": 4, "scopestress_kernel": "L"}))
    lines = not_comparable(comparison, ["kernel"])
    assert [line.split(":")[0] for line in lines] == ["Not comparable", "Allowed"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (0.0, "0.0 %"),
        (0.0001, "<0.1 %"),
        (-0.0001, "<0.1 %"),
        (0.0123, "+1.2 %"),
        (-0.0994, "-9.9 %"),
        (0.0996, "+10 %"),
        (-1.0, "-100 %"),
    ],
)
def test_per_cent_have_a_decimal_below_ten_and_are_never_zero_for_a_change(
    change: float, text: str
) -> None:
    assert percent(change) == text
