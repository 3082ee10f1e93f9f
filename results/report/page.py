"""All of a report as one HTML file: charts, tables and words, and the little that makes it move."""

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files as package_files
from string import Template

from results import formats
from results.model import Results
from results.report import provenance, table
from results.report.charts import CHARTS, MOST_PANELS, Chart
from results.report.panel import Panel, svg
from results.report.scores import side_by_side
from results.report.style import require_matplotlib
from results.table import build
from results.words import words

_ASSETS = package_files("results.report") / "assets"
ALL = "all"


def page(files: Sequence[Results]) -> str:
    """The text of the page. ResultsError where Matplotlib is missing."""
    require_matplotlib()
    names = file_names(files)
    runs = [_run(results, names[n], f"run-{n}") for n, results in enumerate(files)]
    title = f"Report of {names[0]}" if len(names) == 1 else f"Report of {len(names)} files"
    return Template(_asset("page.html")).substitute(
        title=escape(title),
        style=_asset("page.css"),
        script=_asset("page.js"),
        selector=_selector(names) if len(files) > 1 else "",
        together=_together(files, names) if len(files) > 1 else "",
        runs="\n".join(runs),
        provenance=provenance.html(files, names),
    )


def file_names(files: Sequence[Results]) -> list[str]:
    """The names of the files, as much of their paths as tells them apart."""
    names = [results.path.name for results in files]
    if len(set(names)) == len(names):
        return names
    paths = [str(results.path) for results in files]
    return [f"{n}: {path}" if paths.count(path) > 1 else path for n, path in enumerate(paths, 1)]


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _selector(names: Sequence[str]) -> str:
    options = [f'<option value="{ALL}">all, side by side</option>']
    options += [f'<option value="run-{n}">{escape(name)}</option>' for n, name in enumerate(names)]
    return (
        '<p class="selector"><label for="file">File</label>'
        f' <select id="file">{"".join(options)}</select></p>'
    )


def _together(files: Sequence[Results], names: Sequence[str]) -> str:
    figures = _figures(side_by_side(files, names), "together")
    return (
        f'<section data-run="{ALL}" id="together"><h2>Side by side</h2>'
        "<p>Every file has a mark in each row, at its mean, with the 99.9 % interval of it."
        " Files are comparable only where the table of provenance has no fact that differs.</p>"
        f"{figures}</section>"
    )


def _run(results: Results, name: str, key: str) -> str:
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in words(results))
    notes = "".join(f"<li>{escape(note)}</li>" for note in formats.notes(build(results)))
    parts = [
        f"<h2>{escape(name)}</h2>",
        f'<h3>What it says</h3><ul class="words">{said}</ul>' if said else "",
        *(_chart(chart, results, key) for chart in CHARTS.values()),
        f'<section id="{key}-table"><h3>All figures</h3>'
        "<p>A heading sorts by its column, once more the other way round.</p>"
        f'<div class="wide" tabindex="0" role="region" aria-label="All figures of'
        f' {escape(name, quote=True)}">{table.html(results)}</div>',
        f'<ul class="notes">{notes}</ul></section>',
    ]
    return f'<section data-run="{key}" id="{key}">{"".join(parts)}</section>'


def _chart(chart: Chart, results: Results, key: str) -> str:
    panels = chart.panels(results)
    head = f'<section class="chart" id="{key}-{chart.name}"><h3>{escape(chart.title)}</h3>'
    if not panels:
        return (
            f'{head}<p class="empty">Nothing to show: it needs {escape(chart.needs)}.</p></section>'
        )
    left_out = ""
    if len(panels) > MOST_PANELS:
        left_out = f"<p>The first {MOST_PANELS} of {len(panels)}; --only chooses others.</p>"
    figures = _figures(panels[:MOST_PANELS], f"{key}-{chart.name}")
    return f"{head}<p>{escape(chart.reading)}</p>{left_out}{figures}</section>"


def _figures(panels: Sequence[Panel], key: str) -> str:
    return f'<div class="panels">{"".join(_each(panels, key))}</div>'


def _each(panels: Sequence[Panel], key: str) -> Iterator[str]:
    for number, panel in enumerate(panels):
        yield f"<figure>{svg(panel, f'{key}-{number}')}</figure>\n"
