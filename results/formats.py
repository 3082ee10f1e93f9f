"""A table as text, CSV, Markdown and JSON.

Text and Markdown are for readers: fitting units, rounded. CSV and JSON are for programs: exact
figures in the units of the file.
"""

import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any

from results.columns import GAP, WIDTH, shortened
from results.histogram import LEAST_BEYOND
from results.model import Row
from results.samples import AGGREGATION as SAMPLED
from results.samples import CLOCK_KEY
from results.schema import SCORE
from results.statistics import CONFIDENCE, LEAST_PROCESSES
from results.table import Line, State, Table
from results.timeline import cost

_CSV_CELL = ("benchmark", "mode")
_CSV_FIGURE = (
    *("metric", "aggregation", "count", "processes"),
    *("value", "error", "unit", "note"),
)
_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def text(table: Table, colour: bool = False) -> list[str]:
    """The lines of the table as JMH prints it, at most `WIDTH` columns wide.

    Names are shortened in the middle if they don't fit. Modes are set apart by an empty line.
    """
    header = _header(table)
    rows = [_cells(table, line) for line in table.lines]
    _align_errors(rows, header.index("Error"))
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - WIDTH
    widths[0] = max(widths[0] - max(excess, 0), len("Benchmark"))
    lines = [_painted(_row(header, widths), _BOLD, colour)]
    mode = None
    for line, cells in zip(table.lines, rows, strict=True):
        if mode is not None and line.row.mode != mode:
            lines.append("")
        mode = line.row.mode
        lines.append(_painted(_row(cells, widths), _DIM, colour and not line.is_score))
    return lines


def markdown(table: Table) -> list[str]:
    """The same as a table of Markdown."""
    header = _header(table)
    rows = [_cells(table, line) for line in table.lines]
    right = [":---" if _is_left(name) else "---:" for name in header]
    cells = [header, right, *([_escaped(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(row)} |" for row in cells]


def csv_text(table: Table) -> str:
    """A line a figure, under one header, exact and in the units of the file."""
    params = sorted({name for line in table.lines for name in line.row.params})
    out = io.StringIO()
    columns = (*_CSV_CELL, *params, *_CSV_FIGURE)
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    for line in table.lines:
        row, found = line.row, line.estimate
        cell = (row.operation, row.mode, *(row.params.get(name, "") for name in params))
        value = found.value if line.state is State.MEASURED else line.state.value
        error = found.error if found.error is not None else _error_text(line)
        counts = (line.metric, line.figures.metric.agg, found.count, found.processes)
        note = line.figures.unsupported or line.figures.metric.note
        last = (value, error, line.figures.metric.unit, note)
        writer.writerow(dict(zip(columns, (*cell, *counts, *last), strict=True)))
    return out.getvalue()


def json_text(table: Table, words: Sequence[str]) -> str:
    """All of it for programs: `rows` with a `score` and `metrics` each, metadata and words."""
    rows: dict[str, dict[str, Any]] = {}
    for line in table.lines:
        row = line.row
        entry = rows.setdefault(
            row.name,
            {
                "name": row.name,
                "operation": row.operation,
                "mode": row.mode,
                "params": dict(row.params),
                "loops": list(row.loops),
                "inner_loops": row.inner_loops,
                SCORE: _figure(line),
                "metrics": {},
                **_samples(row),
            },
        )
        if not line.is_score:
            entry["metrics"][line.metric] = _figure(line)
    whole = {
        "file": str(table.results.path),
        "confidence": CONFIDENCE,
        "metadata": dict(table.results.metadata),
        "rows": list(rows.values()),
        "words": list(words),
    }
    return json.dumps(whole, indent=2, allow_nan=False) + "\n"


def notes(table: Table) -> list[str]:
    """What the marks in this table mean; nothing for marks that are not in it."""
    found = []
    if any(line.estimate.error is not None for line in table.lines):
        percent = f"{100 * CONFIDENCE:g} %"
        found.append(f"Error: half the {percent} confidence interval, from the process means.")
    few = {
        line.estimate.processes
        for line in table.lines
        if line.has_error and line.estimate.error is None
    }
    if few:
        has = " or ".join(map(str, sorted(few)))
        found.append(f"n/a: an error needs {LEAST_PROCESSES} processes or more, there are {has}.")
    gaps = dict.fromkeys(
        line.metric for line in table.lines if line.figures.missing and not line.figures.merged
    )
    if gaps:
        found.append(f"n/a: {', '.join(gaps)}: not measurable in some or all of the values.")
    found += _notes_on_samples(table)
    found += _notes_on_timelines(table)
    reasons = _metrics_by(table, lambda line: line.figures.unsupported)
    found += [f"unsupported: {metrics}: {reason}." for reason, metrics in reasons.items()]
    remarks = _metrics_by(table, lambda line: line.figures.metric.note)
    found += [f"{metrics}: {remark}." for remark, metrics in remarks.items()]
    if any(line.below_floor for line in table.lines):
        found.append("<: measured, and below the resolution of the metric.")
    return found


def _metrics_by(table: Table, text: Callable[[Line], str | None]) -> dict[str, str]:
    """The names of the metrics, by the text that is told of them."""
    found: dict[str, dict[str, None]] = {}
    for line in table.lines:
        told = text(line)
        if told:
            found.setdefault(told, {})[line.metric] = None
    return {told: ", ".join(metrics) for told, metrics in found.items()}


def _notes_on_samples(table: Table) -> list[str]:
    """How single calls were timed, and which percentiles their number can't carry."""
    found = []
    overheads = [line.row.samples.overhead for line in table.lines if line.row.samples]
    if overheads:
        clocks = dict.fromkeys(str(line.row.metadata.get(CLOCK_KEY, "")) for line in table.lines)
        by = " by " + ", ".join(filter(None, clocks)) if any(clocks) else ""
        least, most = (f"{1e9 * seconds:.0f}" for seconds in (min(overheads), max(overheads)))
        range_ = least if least == most else f"{least} to {most}"
        found.append(f"{SAMPLED}: single calls timed{by}, with {range_} ns of the sampler in each.")
    few = dict.fromkeys(
        line.metric for line in table.lines if line.figures.merged and line.estimate.value is None
    )
    if few:
        found.append(f"n/a: {', '.join(few)}: fewer than {LEAST_BEYOND} calls took longer.")
    return found


def _notes_on_timelines(table: Table) -> list[str]:
    """How often resident memory was read, and what that took of the machine."""
    rows = {line.row.name: line.row for line in table.lines if line.row.timelines}
    costs = [share for row in rows.values() if (share := cost(row.timelines)) is not None]
    if not costs:
        return []
    intervals = {timeline.interval for row in rows.values() for timeline in row.timelines}
    every = " or ".join(f"{1e3 * interval:g}" for interval in sorted(intervals))
    least, most = (f"{100 * share:.1f}" for share in (min(costs), max(costs)))
    range_ = least if least == most else f"{least} to {most}"
    return [f"timeline: resident memory every {every} ms; that took {range_} % of a core."]


def _samples(row: Row) -> dict[str, Any]:
    """The calls of all processes together, where single calls were timed."""
    if row.samples is None:
        return {}
    histogram = row.samples.histogram
    facts = {"count": histogram.count, "overhead": row.samples.overhead}
    return {"samples": facts | {"histogram": histogram.encode()}}


def _figure(line: Line) -> dict[str, Any]:
    metric, found = line.figures.metric, line.estimate
    entry: dict[str, Any] = {"state": line.state.value}
    if line.figures.unsupported is not None:
        return entry | {"reason": line.figures.unsupported}
    return entry | {
        "value": found.value,
        "error": found.error,
        "unit": metric.unit,
        "aggregation": metric.agg,
        "better": metric.better,
        "floor": metric.floor,
        "note": metric.note,
        "count": found.count,
        "processes": found.processes,
        "values": [list(values) for values in line.figures.by_process],
    }


def _header(table: Table) -> list[str]:
    modes = ["(mode)"] if table.has_modes else []
    params = [f"({name})" for name in table.params]
    return ["Benchmark", *modes, *params, "Mode", "Cnt", "Score", "Error", "Units"]


def _cells(table: Table, line: Line) -> list[str]:
    modes = [line.row.mode] if table.has_modes else []
    params = [line.row.params.get(name, "") for name in table.params]
    score, error, units = _measured(table, line)
    count = str(line.estimate.count) if line.state is not State.UNSUPPORTED else ""
    return [line.label, *modes, *params, _aggregation(line), count, score, error, units]


def _measured(table: Table, line: Line) -> tuple[str, str, str]:
    """The cells of score, error and unit."""
    if line.estimate.value is None:
        return line.state.value, "", ""
    scale = table.scale(line)
    if line.below_floor:
        return f"<{scale.format(line.figures.metric.floor)}", "", scale.symbol
    error = _error_text(line)
    if line.estimate.error is not None:
        error = scale.format(line.estimate.error)
    return scale.format(line.estimate.value), error and f"± {error}", scale.symbol


def _error_text(line: Line) -> str:
    """In place of an error: n/a if it can't be known, nothing if there can be none."""
    return State.NOT_MEASURABLE.value if line.has_error else ""


def _aggregation(line: Line) -> str:
    """JMH's words for a time per operation; what the figure is of all values otherwise."""
    if line.state is State.UNSUPPORTED:
        return ""
    metric = line.figures.metric
    if line.is_score and line.row.samples:
        return SAMPLED
    return "avgt" if line.is_score and metric.unit == "s/op" else metric.agg


def _align_errors(rows: Sequence[list[str]], column: int) -> None:
    """The sign in one column and the numbers flush right behind it, as JMH does."""
    width = max((len(cells[column]) for cells in rows), default=0)
    for cells in rows:
        sign, _, error = cells[column].partition(" ")
        cells[column] = sign and f"{sign} {error:>{width - 2}}"


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    columns = [f"{shortened(cells[0], widths[0]):<{widths[0]}}"]
    last = len(cells) - 1
    for index, (cell, width) in enumerate(zip(cells[1:], widths[1:], strict=True), 1):
        columns.append(cell if index == last else f"{cell:>{width}}")
    return GAP.join(columns).rstrip()


def _is_left(column: str) -> bool:
    return column in ("Benchmark", "Units")


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("<", "&lt;")


def _painted(line: str, code: str, colour: bool) -> str:
    return f"{code}{line}{_RESET}" if colour else line
