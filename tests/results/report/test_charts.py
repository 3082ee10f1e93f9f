"""The charts: which panels a file has, what stands at their axes, and the SVG of one."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise

import pytest

from results.report.charts import CHARTS
from results.report.panel import picture, svg
from results.report.scores import side_by_side
from results.report.series import groups, label
from results.report.style import COLOURS, INK, looks
from results.report.thrash import bloated, stopped
from results.statistics import estimate

SVG = "{http://www.w3.org/2000/svg}"


def drawn(panel):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    axes.set_title(panel.title)
    panel.draw(axes)
    return axes


def texts(axes):
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize(
    ("chart", "panels"),
    [("scores", 3), ("thrash", 6), ("timeline", 9), ("pauses", 3), ("percentiles", 3)],
)
def test_a_file_with_everything_has_every_chart(full, chart, panels):
    assert len(CHARTS[chart].panels(full)) == panels


@pytest.mark.parametrize("chart", CHARTS)
def test_every_panel_has_a_title_a_summary_and_names_and_units_at_its_axes(full, chart):
    for panel in CHARTS[chart].panels(full):
        axes = drawn(panel)
        assert panel.title
        assert panel.summary
        for axis in (axes.get_xlabel(), axes.get_ylabel()):
            assert re.search(
                r", (us|ns|ms|s|MiB|%)|^benchmark$|^collections$|^share of calls", axis
            )


def test_a_plain_file_of_pyperf_has_scores_and_no_more(plain):
    counts = {name: len(chart.panels(plain)) for name, chart in CHARTS.items()}
    assert counts == {"scores": 1, "thrash": 0, "timeline": 0, "pauses": 0, "percentiles": 0}
    (panel,) = CHARTS["scores"].panels(plain)
    assert panel.title == "Score"


def test_scores_have_the_error_of_the_table(full):
    (group, *_) = groups(full)
    assert [one.error for one in group.scored] == [estimate(row.score).error for row in group.rows]


def test_what_thrashes_is_named_in_the_chart_and_nothing_else(full):
    rows = groups(full)[0].rows
    assert [row.operation for row in bloated(rows)] == ["implicit_close"]
    assert [row.operation for row in stopped(rows)] == ["implicit_close"]
    for panel in CHARTS["thrash"].panels(full):
        assert texts(drawn(panel)) == ["implicit_close"]
        assert "implicit_close" in panel.summary


def test_where_nothing_thrashes_nothing_is_named(results_of, make_score, quiet):
    results = results_of(
        make_score("a[NONE]", metrics=quiet()), make_score("b[NONE]", metrics=quiet())
    )
    for panel in CHARTS["thrash"].panels(results):
        assert texts(drawn(panel)) == []
        assert panel.summary == "no benchmark stands out"


def test_names_of_many_that_thrash_are_apart(results_of, make_score, thrashing, quiet):
    rows = [make_score(f"r{n}[NONE]", 1e-4, metrics=thrashing(peak_mib=800 + n)) for n in range(6)]
    results = results_of(make_score("q[NONE]", metrics=quiet()), *rows)
    axes = drawn(CHARTS["thrash"].panels(results)[0])
    heights = sorted(text.xyann[1] for text in axes.texts)
    assert len(heights) == 6
    assert min(b - a for a, b in pairwise(heights)) > 0.05


def test_the_bars_of_a_histogram_hold_every_pause(full):
    for panel in CHARTS["pauses"].panels(full):
        axes = drawn(panel)
        assert sum(bar.get_height() for bar in axes.patches) == 3 * 903
        assert "longest 40 ms" in axes.get_xlabel()


def test_panels_that_are_compared_share_their_axes(full):
    pauses = [drawn(panel).get_xlim() for panel in CHARTS["pauses"].panels(full)]
    memory = [drawn(panel).get_ylim() for panel in CHARTS["timeline"].panels(full)]
    assert len(set(pauses)) == len(set(memory)) == 1


def test_a_percentile_that_the_calls_cant_carry_is_left_out(full):
    lines = drawn(CHARTS["percentiles"].panels(full)[0]).lines
    assert {tuple(line.get_xdata()) for line in lines} == {(0, 1, 2, 3, 4, 5, 6, 7)}
    small = replace(full.rows[0], metrics={"p0.00": full.rows[0].metrics["p0.00"]})
    (panel,) = CHARTS["percentiles"].panels(replace(full, rows=(small,)))
    assert list(drawn(panel).lines[0].get_xdata()) == [0]


def test_files_side_by_side_have_a_mark_each(two):
    panels = side_by_side(two, ["a.json", "b.json"])
    assert [panel.title for panel in panels] == [
        "NONE: score by file",
        "MEMORY: score by file",
        "THREADS: score by file",
    ]
    axes = drawn(panels[0])
    assert len(axes.containers) == 6
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a.json", "b.json"]


def test_two_names_look_alike_in_neither_colour_and_shape():
    found = list(looks(str(n) for n in range(24)).values())
    assert len(set(found)) == 24
    assert len({look.shape for look in found[:8]}) == 8


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("paper", ["#ffffff", "#15181c"])
@pytest.mark.parametrize("colour", COLOURS)
def test_colours_stand_out_on_light_and_on_dark_paper(colour, paper):
    light, dark = sorted((luminance(colour), luminance(paper)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) > 2


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("implicit_close[NONE,size=1MiB]", "implicit_close 1MiB"),
        ("a[THREADS,size=64KiB,threads=2]", "a 64KiB threads=2"),
        ("a[MEMORY]", "a"),
        ("somebody's [own] name", "somebody's [own] name"),
    ],
)
def test_a_label_is_the_row_without_its_mode(results_of, make_score, name, shown):
    (row,) = results_of(make_score(name)).rows
    assert label(row) == shown


def test_an_svg_for_a_page_is_in_its_ink_and_has_text(full):
    panel = CHARTS["thrash"].panels(full)[0]
    element = ElementTree.fromstring(
        svg(panel, "x").replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="x"')
    )
    said = {"".join(text.itertext()) for text in element.iter(f"{SVG}text")}
    assert {panel.title, "implicit_close", "confined_close"} <= said
    assert element.get("role") == "img"
    assert panel.summary in element.get("aria-label")
    text = svg(panel, "x")
    assert "currentColor" in text
    assert INK not in text
    assert "<style" not in text


def test_the_same_panel_makes_the_same_svg_but_for_ids_of_its_own(full):
    panel = CHARTS["scores"].panels(full)[0]
    assert svg(panel, "a") == svg(panel, "a")
    ids = [set(re.findall(r' id="([^"]+)"', svg(panel, name))) for name in "ab"]
    assert ids[0]
    assert not ids[0] & ids[1]


@pytest.mark.parametrize("name", ["$x_1$ {cost}", "_hidden", "<b>&amp;", "名前"])
def test_any_name_is_drawn_as_it_is(results_of, make_score, quiet, name):
    results = results_of(make_score(f"{name}[NONE]", metrics=quiet()))
    for chart in ("scores", "thrash"):
        for panel in CHARTS[chart].panels(results):
            axes = drawn(panel)
            shown = [text.get_text() for text in (*axes.get_yticklabels(), *_legend(axes))]
            assert name in [text.strip() for text in shown]
            assert svg(panel, "x")


def _legend(axes):
    return axes.get_legend().get_texts() if axes.get_legend() else []


@pytest.mark.parametrize(("format", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_picture_is_the_same_every_time(full, format, magic):
    panels = CHARTS["thrash"].panels(full)[:2]
    content = picture(panels, format, "full.json")
    assert content.startswith(magic)
    assert content == picture(panels, format, "full.json")
    assert b"full.json" in content


def test_of_very_many_operations_those_that_stand_out_have_a_look(
    results_of, make_score, quiet, thrashing
):
    rows = [make_score(f"r{n}[NONE]", metrics=thrashing() if n < 2 else quiet()) for n in range(30)]
    axes = drawn(CHARTS["thrash"].panels(results_of(*rows))[0])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["r0", "r1"]
    assert len({line.get_color() for line in axes.lines}) == 3
