"""`python -m results report`: what it writes where, and what it refuses before it draws."""

import importlib.util

import pytest

from results.__main__ import main
from results.files import write

PAGE = "<!DOCTYPE html>"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, scores):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.json", scores)
    return tmp_path


def test_the_page_goes_where_it_is_told_to_or_to_report_html(folder, capsys):
    assert main(["report", "a.json"]) == 0
    assert main(["report", "a.json", "a.json", "-o", "both.html"]) == 0
    assert capsys.readouterr().out == "Written to report.html\nWritten to both.html\n"
    for name in ("report.html", "both.html"):
        assert (folder / name).read_text().startswith(PAGE)


@pytest.mark.parametrize(
    "arguments",
    [["--format", "svg"], ["-o", "scores.svg"], ["--format", "svg", "-o", "scores.svg"]],
)
def test_a_single_chart_is_a_picture(folder, arguments):
    assert main(["report", "a.json", "--chart", "scores", *arguments]) == 0
    assert "<svg" in (folder / "scores.svg").read_text()


def test_a_png_is_one(folder):
    assert main(["report", "a.json", "--chart", "thrash", "--format", "png"]) == 0
    assert (folder / "thrash.png").read_bytes().startswith(b"\x89PNG")


def test_only_chooses_rows(folder):
    assert main(["report", "a.json", "--only", "^implicit"]) == 0
    text = (folder / "report.html").read_text()
    assert "implicit_close" in text
    assert "confined_close" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.json", "-o", "b.json"], "b.json: expected a name that ends in .html or .htm"),
        (["a.json", "-o", "no/b.html"], "no/b.html: can't be written: the directory no does not"),
        (["a.json", "--format", "png"], "--format png: expected --chart, one of scores, thrash"),
        (["a.json", "--chart", "thrash"], "--chart thrash: expected --format png or svg"),
        (["a.json", "--only", "nothing"], "a.json: no benchmark matches 'nothing'"),
        (["no.json"], "no.json: can't be read: no such file"),
        (
            ["plain.json", "--chart", "pauses", "--format", "png"],
            "plain.json: nothing to show: pau",
        ),
    ],
)
def test_what_makes_no_sense_is_one_line_and_nothing_is_written(
    plain, folder, capsys, arguments, message
):
    before = sorted(folder.iterdir())
    assert main(["report", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"results: {message}")
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert sorted(folder.iterdir()) == before


def test_an_older_page_is_replaced(folder):
    (folder / "report.html").write_text("old")
    assert main(["report", "a.json"]) == 0
    assert (folder / "report.html").read_text().startswith(PAGE)


def test_without_matplotlib_it_says_what_to_install(capsys, monkeypatch):
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "matplotlib" else there(name)
    )
    assert main(["report", "a.json"]) == 2
    expected = "results: charts need matplotlib: pip install 'scopestress[report]'\n"
    assert capsys.readouterr().err == expected
