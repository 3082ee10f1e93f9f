"""The page in a real browser: no errors, charts that have a size, sorting, the selector, a phone.

A copy of the page gets one script more, which does what a reader does and leaves what it found in
the document; Chromium prints the document.
"""

import json
import re
import shutil
import subprocess

import pytest

from results.report.page import page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

CATCH = """<script>
const errors = [];
addEventListener("error", (event) => errors.push(String(event.message)));
addEventListener("securitypolicyviolation", (event) => errors.push(event.violatedDirective));
</script>"""
TELL = """<script>
const found = (() => { %s })();
const out = document.createElement("output");
out.id = "found";
out.textContent = JSON.stringify({ found, errors });
document.body.append(out);
</script></body>"""


@pytest.fixture
def browse(tmp_path):
    """Runs a script in the page and gives what it returns, in a window of that width."""

    def run(text, script, width=1200, *options):
        text = text.replace("</title>", f"</title>{CATCH}", 1)
        path = tmp_path / "page.html"
        path.write_text(text.replace("</body>", TELL % script), encoding="utf-8")
        done = subprocess.run(
            [
                CHROMIUM,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--enable-logging=stderr",
                f"--user-data-dir={tmp_path / 'profile'}",
                f"--window-size={width},900",
                *options,
                "--dump-dom",
                path.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        answer = re.search(r'<output id="found">(.*?)</output>', done.stdout, re.DOTALL)
        assert answer, done.stderr[-2000:]
        told = json.loads(answer[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        assert told["errors"] == []
        assert "CONSOLE" not in done.stderr
        return told["found"]

    return run


def test_every_chart_has_a_size_and_its_text_is_drawn(browse, full_page):
    sizes = browse(
        full_page,
        """return [...document.querySelectorAll("svg")].map((svg) => {
             const box = svg.getBoundingClientRect();
             return [box.width, box.height, svg.querySelectorAll("text").length];
           });""",
    )
    assert len(sizes) == 24
    for width, height, texts in sizes:
        assert width > 200
        assert height > 100
        assert texts > 5


SORTED = """
  const table = document.querySelector("table.figures");
  const headings = [...table.tHead.rows[0].cells];
  const column = (name) => headings.find((th) => th.textContent.startsWith(name));
  const read = (th) => [...table.tBodies[0].rows].map((row) =>
    row.cells[th.cellIndex].dataset.value ?? row.cells[th.cellIndex].textContent);
"""


def test_a_heading_sorts_by_exact_numbers_and_once_more_backwards(browse, full_page):
    rising, first, falling, second = browse(
        full_page,
        SORTED
        + """const th = column("score "), button = th.querySelector("button");
             button.click(); const a = read(th), b = th.getAttribute("aria-sort");
             button.click(); return [a, b, read(th), th.getAttribute("aria-sort")];""",
    )
    numbers = [float(value) for value in rising]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == 3
    assert (first, second) == ("ascending", "descending")
    assert [float(value) for value in falling] == sorted(numbers, reverse=True)


def test_names_are_sorted_as_text_and_one_heading_at_a_time_is_marked(browse, full_page):
    names, marked = browse(
        full_page,
        SORTED
        + """column("score ").querySelector("button").click();
             const th = column("benchmark"); th.querySelector("button").click();
             return [read(th), table.querySelectorAll("[aria-sort]").length];""",
    )
    assert names == sorted(names)
    assert marked == 1


def test_what_has_no_value_comes_last_both_ways(browse, results_of, make_score, quiet):
    metrics = [quiet(), {**quiet(), "gc.time": "no collector"}, {**quiet(), "gc.time": 0.5}]
    rows = [make_score(f"r{n}[NONE]", metrics=given) for n, given in enumerate(metrics)]
    rising, falling = browse(
        page([results_of(*rows)]),
        SORTED
        + """const th = column("gc.time"), button = th.querySelector("button");
             button.click(); const a = read(th); button.click(); return [a, read(th)];""",
    )
    assert rising == ["0.0", "4.5", "unsupported"]
    assert falling == ["4.5", "0.0", "unsupported"]


def test_the_selector_shows_one_file_or_all(browse, two_page):
    shown = browse(
        two_page,
        """const select = document.getElementById("file");
           return ["run-1", "run-0", "all"].map((value) => {
             select.value = value;
             select.dispatchEvent(new Event("change"));
             return [...document.querySelectorAll("section[data-run]")]
               .filter((section) => section.offsetHeight > 0).map((section) => section.dataset.run);
           });""",
    )
    assert shown == [["run-1"], ["run-0"], ["all", "run-0", "run-1"]]


def test_all_that_can_be_used_can_be_reached_by_the_keyboard(browse, two_page):
    unreachable = browse(
        two_page,
        """const wanted = document.querySelectorAll("button, select, a, .wide");
           return [...wanted].filter((element) => {
             element.focus();
             return element.tabIndex < 0 || document.activeElement !== element;
           }).map((element) => element.outerHTML);""",
    )
    assert unreachable == []


def test_on_a_phone_the_page_is_no_wider_than_the_screen(browse, two_page):
    widths = browse(
        two_page,
        """document.body.style.width = "360px";
           document.body.style.margin = "0";
           const wide = [...document.querySelectorAll("body *")].filter((element) =>
             !element.closest(".wide, svg, .skip") && element.getBoundingClientRect().right > 361);
           return wide.map((element) => element.tagName + element.className);""",
        500,
    )
    assert widths == []


@pytest.mark.parametrize(("scheme", "dark"), [(0, True), (1, False)])
def test_text_has_contrast_in_light_and_in_dark(browse, full_page, scheme, dark):
    paper, ink, chart = browse(
        full_page,
        """const numbers = (text) => text.match(/[0-9]+/g).map(Number);
           const of = (element, name) => numbers(getComputedStyle(element)[name]);
           return [of(document.body, "backgroundColor"), of(document.body, "color"),
                   of(document.querySelector("svg"), "color")];""",
        1200,
        f"--blink-settings=preferredColorScheme={scheme}",
    )
    assert (sum(paper[:3]) < 150) is dark
    for colour in (ink, chart):
        assert abs(sum(colour[:3]) - sum(paper[:3])) > 400


def test_it_can_be_printed(browse, two_page, tmp_path):
    browse(two_page, "return 0;")
    printed = tmp_path / "page.pdf"
    subprocess.run(
        [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--print-to-pdf={printed}",
            (tmp_path / "page.html").as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    assert printed.read_bytes().startswith(b"%PDF")
