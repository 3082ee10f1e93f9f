"""The figures of a file as a table for a browser: a line a benchmark, a column a metric.

Each cell carries its exact value, by which the page sorts; what was not measurable carries none.
"""

from collections.abc import Sequence
from html import escape

from results.model import Results
from results.schema import SCORE
from results.table import Line, State, Table, build


def html(results: Results) -> str:
    """The table element. Columns share a unit where their numbers allow it; others name their own.

    Zero, below the resolution, not measurable and unsupported (with the reason) are told apart.
    """
    table = build(results)
    rows: dict[str, dict[str, Line]] = {}
    for line in table.lines:
        rows.setdefault(line.row.name, {})[line.metric] = line
    metrics = list(dict.fromkeys(line.metric for line in table.lines))
    units = {metric: _unit(table, metric) for metric in metrics}
    modes = ["mode"] if table.has_modes else []
    head = [
        *(_heading(name) for name in ("benchmark", *modes, *table.params)),
        *(part for metric in metrics for part in _metric_headings(metric, units[metric])),
    ]
    body = [
        "<tr>"
        + "".join(_names(table, next(iter(lines.values()))))
        + "".join(_cells(table, lines.get(metric), metric, units[metric]) for metric in metrics)
        + "</tr>"
        for lines in rows.values()
    ]
    return (
        f'<table class="figures"><thead><tr>{"".join(head)}</tr></thead>'
        f"<tbody>\n{chr(10).join(body)}\n</tbody></table>"
    )


def _heading(name: str, unit: str = "") -> str:
    shown = escape(name) + (f" <small>{escape(unit)}</small>" if unit else "")
    return f'<th scope="col"><button type="button">{shown}</button></th>'


def _metric_headings(metric: str, unit: str) -> Sequence[str]:
    if metric == SCORE:
        return [_heading(metric, unit), _heading("±", unit)]
    return [_heading(metric, unit)]


def _unit(table: Table, metric: str) -> str:
    """The unit of a column; nothing where its cells have several."""
    lines = [line for line in table.lines if line.metric == metric and line.state is State.MEASURED]
    symbols = {table.scale(line).symbol for line in lines}
    return symbols.pop() if len(symbols) == 1 else ""


def _names(table: Table, line: Line) -> Sequence[str]:
    row = line.row
    modes = [row.mode] if table.has_modes else []
    params = [row.params.get(name, "") for name in table.params]
    others = "".join(f"<td>{escape(text)}</td>" for text in (*modes, *params))
    return [f'<th scope="row">{escape(row.operation)}</th>', others]


def _cells(table: Table, line: Line | None, metric: str, unit: str) -> str:
    if line is None:
        return "<td></td>" * (2 if metric == SCORE else 1)
    if line.estimate.value is None:
        reason = line.figures.unsupported or ""
        title = f' title="{escape(reason, quote=True)}"' if reason else ""
        return f"<td{title}>{line.state.value}</td>" + ("<td></td>" if metric == SCORE else "")
    scale = table.scale(line)
    own = "" if unit else f" {escape(scale.symbol)}"
    shown = scale.format(line.estimate.value)
    if line.below_floor:
        shown = f"&lt;{scale.format(line.figures.metric.floor)}"
    cells = f'<td data-value="{line.estimate.value!r}">{shown}{own}</td>'
    if metric != SCORE:
        return cells
    error = line.estimate.error
    if error is None:
        return f"{cells}<td>n/a</td>"
    return f'{cells}<td data-value="{error!r}">{scale.format(error)}{own}</td>'
