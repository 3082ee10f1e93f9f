"""Two files against each other, as text and Markdown."""

from collections.abc import Iterable, Iterator, Sequence

from results.columns import TEXT, Rows, Style
from results.compare.blocks import blocks
from results.compare.comparison import (
    Change,
    Comparison,
    Selection,
    Verdict,
    geometric_mean,
    metrics_of,
)
from results.compare.inference import ALPHA, CONFIDENCE, LEAST_TRIMMED
from results.compare.layout import Order, SubTable, sub_tables
from results.compare.wording import figure, interval, listed, origin, percent, remark

_SIDE_BY_SIDE = ["Benchmark", "Before", "After", "Units", f"{100 * CONFIDENCE:g} % interval", ""]
_LEFT = (0, 5)


def pair(
    comparison: Comparison,
    selection: Selection,
    style: Style = TEXT,
    order: Order = Order.FILE,
    in_blocks: bool = False,
) -> Iterator[list[str]]:
    """The blocks of lines: both files, a summary, the sub-tables, what the words mean.

    `in_blocks`: the lines before stand over the lines after and not beside them; text alone.
    """
    shown = [change for change in comparison.changes if selection.shows(change)]
    tables = sub_tables(shown, metrics_of(shown), order)
    before, after = origin(comparison.before), origin(comparison.after)
    yield style.sentences([f"Before: {before}", f"After:  {after}", *_unmatched(comparison)])
    yield style.table(_summary(comparison), (0,))
    for table in tables:
        if in_blocks and table.lines:
            yield [*style.title(table.title), *blocks(table), *unlisted(table)]
        else:
            yield set_table(table, _side_by_side(table), style, _LEFT)
    hidden = len(comparison.changes) - len(shown)
    if hidden:
        least = percent(selection.min_change).lstrip("+")
        yield style.sentences([f"Left out: {hidden} changes of less than {least}."])
    yield style.sentences(_notes(comparison, tables))


def not_comparable(comparison: Comparison, allowed: Iterable[str]) -> list[str]:
    """A line a fact that differs, the ones that were allowed marked as such."""
    names = set(allowed)
    total = len(comparison.pairs)
    return [
        f"{'Allowed' if found.name in names else 'Not comparable'}: {found.text(total)}"
        for found in comparison.differences
    ]


def set_table(table: SubTable, rows: Rows, style: Style, left: Sequence[int] = (0,)) -> list[str]:
    """The lines of a sub-table with its title, and what has no line of its own in it."""
    body = style.table(rows, left) if table.lines else []
    return [*style.title(table.title), *body, *unlisted(table)]


def unlisted(table: SubTable) -> Iterator[str]:
    """What has no line of its own in the sub-table, and why."""
    if table.zeros:
        yield f"0 before and after: {listed([table.label(change) for change in table.zeros])}"
    reasons: dict[str, list[str]] = {}
    for change in table.unmeasured:
        reasons.setdefault(change.after.missing, []).append(table.label(change))
    for reason, labels in reasons.items():
        yield f"{reason}: {listed(labels)}"


def _unmatched(comparison: Comparison) -> Iterator[str]:
    for when, names in (("before", comparison.only_before), ("after", comparison.only_after)):
        if names:
            yield f"Only {when}: {listed(names)}"


def _summary(comparison: Comparison) -> Rows:
    """A row a metric: how many changes of which kind, and the geometric mean of all."""
    rows = [["Metric", "Rows", *(verdict.value for verdict in Verdict), "geometric mean"]]
    by_metric: dict[str, list[Change]] = {}
    for change in comparison.changes:
        by_metric.setdefault(change.metric.name, []).append(change)
    for name in metrics_of(comparison.changes):
        changes = by_metric[name]
        verdicts = [change.verdict for change in changes]
        counts = [str(verdicts.count(verdict) or "") for verdict in Verdict]
        rows.append([name, str(len(changes)), *counts, _mean(changes)])
    return rows


def _side_by_side(table: SubTable) -> Rows:
    """A row a change, with its verdict at the end as a remark."""
    rows = [_SIDE_BY_SIDE]
    for change in table.lines:
        scale = table.scale_of(change)
        before, after = (figure(side, scale) for side in change.sides)
        cells = [before, after, scale.symbol, interval(change), remark(change)]
        rows.append([table.label(change), *cells])
    if len(table.lines) > 1 and _mean(table.lines):
        rows.append(["geometric mean", "", "", "", _mean(table.lines), ""])
    return rows


def _mean(changes: Sequence[Change]) -> str:
    mean = geometric_mean(changes)
    return percent(mean[0] - 1) if mean else ""


def _notes(comparison: Comparison, tables: Sequence[SubTable]) -> list[str]:
    """What the figures are, and what the remarks mean."""
    lines = [
        f"Figures: means over processes, from {LEAST_TRIMMED} on without the fifth at either end;"
        " totals, as gc.time, are an operation's. Interval: of the change, for each figure by"
        " itself (Fieller's theorem)."
    ]
    if comparison.tests:
        lines.append(
            f"better, worse: p < {ALPHA:g} in Welch's t test of these means, with Holm's correction"
            f" for {comparison.tests} figures, and more than the metric resolves."
        )
    found = dict.fromkeys(change.note for table in tables for change in table.lines)
    return lines + [f"n/a: {note}." for note in found if note]
