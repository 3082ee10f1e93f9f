"""The page as text: whole, alone, escaped; its tables; the files it is about."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from results import formats
from results.report import provenance, table
from results.report.charts import CHARTS
from results.report.page import file_names, page
from results.table import build
from results.words import words

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Parsed(HTMLParser):
    """Elements by name, and whether every one that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.open = []
        self.cells = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open[-3:]):
            self.cells.append(data)

    def all(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]


@pytest.fixture
def parsed(full_page):
    return Parsed(full_page)


def test_every_chart_and_the_table_are_there(parsed):
    ids = {attributes.get("id") for attributes in parsed.all("section")}
    assert {f"run-0-{name}" for name in (*CHARTS, "table")} <= ids
    assert {"provenance", "reading"} <= ids
    assert len(parsed.all("svg")) == 3 + 6 + 9 + 3 + 3


def test_no_id_is_there_twice(two_page):
    elements = Parsed(two_page).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_nothing_is_fetched(full_page, parsed):
    for tag, attributes in parsed.elements:
        for name in ("src", "href", "xlink:href"):
            if name in attributes:
                assert re.match(r"#|data:", attributes[name]), (tag, attributes)
    assert not re.search(r"@import|url\((?!#)", full_page)
    (policy,) = [a["content"] for a in parsed.all("meta") if "http-equiv" in a]
    assert "default-src 'none'" in policy


def test_what_a_file_says_is_never_markup(results_of, make_score, quiet):
    evil = "</script><script>alert(1)</script>"
    name = "<img src=x onerror=alert(1)>"
    score = make_score(
        name, metrics=quiet() | {"native.peak": evil}, metadata={"scopestress_cpu": evil}
    )
    text = page([results_of(score)])
    parsed = Parsed(text)
    assert len(parsed.all("script")) == 1
    assert parsed.all("img") == []


def test_a_plain_file_of_pyperf_makes_a_page_that_says_what_is_missing(plain):
    text = page([plain])
    Parsed(text)
    assert "Nothing to show: it needs --timeline when measuring." in text
    assert "Nothing to show: it needs --sample when measuring." in text


def test_one_file_has_no_selector_and_two_have_one(parsed, two_page):
    assert parsed.all("select") == []
    both = Parsed(two_page)
    assert [option["value"] for option in both.all("option")] == ["all", "run-0", "run-1"]
    assert {"all", "run-0", "run-1"} == {
        attributes["data-run"] for attributes in both.all("section") if "data-run" in attributes
    }


def test_files_of_one_name_are_told_apart_by_their_folders_or_places(full):
    first, second = (replace(full, path=Path(folder) / "a.json") for folder in "xy")
    assert file_names([first, second]) == [str(first.path), str(second.path)]
    assert file_names([first, first]) == [f"1: {first.path}", f"2: {first.path}"]


def test_cells_carry_exact_values_and_tell_what_has_none(results_of, make_score, quiet):
    metrics = quiet() | {
        "native.peak": "no scopes here",
        "gc.time": [[0.0], [0.0]],
        "rss.growth": 5,
    }
    metrics["gc.share"] = [[None], [0.0]]
    metrics["gc.count"] = [[None], [2]]
    score = make_score("a[NONE]", by_process=[[1.25e-7], [1.75e-7]], metrics=metrics)
    text = table.html(results_of(score))
    assert '<td data-value="1.5e-07">0.150</td>' in text
    assert '<td title="no scopes here">unsupported</td>' in text
    assert '<td data-value="0.0">0</td>' in text
    assert 'data-value="5">&lt;' in text
    assert "<td>n/a</td>" in text
    heads = re.findall(r'<th scope="col"><button type="button">([^<]+)', text)
    assert [head.strip() for head in heads][:5] == ["benchmark", "mode", "score", "±", "score.cpu"]
    row = re.findall(r"<tr><th scope=\"row\">.*?</tr>", text)[0]
    assert len(re.findall(r"<t[dh]", row)) == len(heads)


def test_rows_with_other_metrics_have_as_many_cells(results_of, make_score, quiet):
    text = table.html(
        results_of(make_score("a[NONE]", metrics=quiet()), make_score("b[NONE]", metrics={}))
    )
    counts = {len(re.findall(r"<t[dh]", row)) for row in re.findall(r"<tr>.*?</tr>", text)}
    assert len(counts) == 1


def test_provenance_marks_the_facts_in_which_files_differ(two):
    text = provenance.html(two, ["a.json", "b.json"])
    assert '<th scope="row">THP <strong>differs</strong></th><td></td><td>never</td>' in text
    assert '<th scope="row">CPU</th><td>Some CPU @ 2.50GHz</td>' in text
    assert "3.11.7 (64-bit)" not in text


def test_the_page_says_the_words_and_the_notes_of_the_table(full, full_page):
    assert words(full)
    for sentence in (*words(full), *formats.notes(build(full))):
        assert sentence.replace("<", "&lt;").replace("'", "&#x27;") in full_page


def test_figures_and_series_are_no_facts_of_provenance(results_of, make_score, quiet, full):
    # A single process: what else differs from run to run is then common to all.
    one = results_of(make_score(metrics=quiet(), hooks=True, processes=1))
    expected = {"python", "kernel", "CPU", "GC thresholds", "CPUs"}
    assert set(provenance.facts(full.metadata)) == expected
    assert set(provenance.facts(one.metadata)) - {"date"} == expected
