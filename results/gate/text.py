"""The verdict of the gate as text and Markdown."""

from collections import Counter
from collections.abc import Iterator, Sequence

from results import exit_status
from results.columns import TEXT, Rows, Style
from results.compare.wording import figure, listed, origin, percent
from results.gate.judge import Judged, Judgement, State
from results.schema import SCORE
from results.units import Scale, is_share, own_scale

_VERDICTS = {
    exit_status.OK: "ok",
    exit_status.REGRESSION: "regression",
    exit_status.NOT_COMPARABLE: "not comparable",
    exit_status.TOO_NOISY: "too noisy to tell",
}
_HEADER = ["Figure", "Before", "After", "Units", "Change", "Limit", "Noise"]
_MOST_BIMODAL = 5


def document(judgement: Judgement, style: Style = TEXT) -> Iterator[list[str]]:
    """The blocks of lines: the verdict first, then what it rests on."""
    yield style.title(f"gate: {verdict(judgement)}")
    yield style.sentences([f"Not comparable: {reason}" for reason in judgement.refusals])
    comparison = judgement.comparison
    before, after = origin(comparison.before), origin(comparison.after)
    yield style.sentences(
        [f"Before: {before}", f"After:  {after}", *(f"Allowed: {r}" for r in judgement.allowed)]
    )
    if judgement.refusals:
        yield style.sentences(["Nothing was judged; --allow NAME judges all the same."])
        return
    for state in (State.REGRESSION, State.NOISY):
        figures = [figure for figure in judgement.of(state) if not figure.reason]
        if figures:
            yield [*style.title(state.value), *style.table(_rows(figures), (0,))]
    yield style.sentences(list(_remarks(judgement)))


def scores(judgement: Judgement, style: Style) -> list[str]:
    """The scores of all rows, worse or not, with their states."""
    figures = [f for f in judgement.figures if f.change.metric.name == SCORE]
    rows = [[_name(f), *_cells(f), f.state.value] for f in _worst_first(figures)]
    return style.table([[*_HEADER, ""], *rows], (0, len(_HEADER)))


def verdict(judgement: Judgement) -> str:
    """The verdict in a line: "regression in 2 of 180 figures"."""
    word = _VERDICTS[judgement.status]
    if judgement.refusals:
        return word
    if judgement.identical:
        return f"{word}: both files hold the same figures"
    total = len(judgement.figures)
    count = len(judgement.of(State.REGRESSION)) or len(judgement.of(State.NOISY))
    if judgement.status == exit_status.OK:
        noisy = f", {count} {State.NOISY.value}" if count else ""
        return f"{word}: no regression in {total} figures{noisy}"
    return f"{word}: {count} of {total} figures"


def explanation(judged: Judged) -> str:
    """Why a figure is a regression or can't be told, in a sentence."""
    if judged.reason:
        return judged.reason
    before, after, unit, change, limit, noise = _cells(judged)
    return f"{before} to {after} {unit}: {change}; limit {limit}, noise {noise}"


def _rows(figures: Sequence[Judged]) -> Rows:
    return [_HEADER, *([_name(figure), *_cells(figure)] for figure in _worst_first(figures))]


def _worst_first(figures: Sequence[Judged]) -> list[Judged]:
    """What came from nothing is worst; where a side is missing there is nothing to sort by."""

    def worsening(judged: Judged) -> float:
        if judged.worsening is not None:
            return judged.worsening
        return 0.0 if judged.state is State.SKIPPED else float("inf")

    return sorted(figures, key=worsening, reverse=True)


def _name(judged: Judged) -> str:
    name, metric = judged.change.row.name, judged.change.metric.name
    return name if metric == SCORE else f"{name}:{metric}"


def _cells(judged: Judged) -> list[str]:
    change = judged.change
    scale = _scale(judged)
    size = percent(change.change) if change.change is not None else "from 0"
    before, after = (figure(side, scale) for side in change.sides)
    return [before, after, scale.symbol, size, percent(judged.limit).lstrip("+"), _noise(judged)]


def _noise(judged: Judged) -> str:
    """The floor, relative to before where there is such a thing."""
    before = judged.change.before.mean
    if judged.floor is None:
        return "n/a"
    if not before:
        scale = _scale(judged)
        return f"{scale.format(judged.floor)} {scale.symbol}"
    return f"±{percent(judged.floor / before).lstrip('+')}"


def _scale(judged: Judged) -> Scale:
    means = [side.mean for side in judged.change.sides if side.mean]
    share = is_share(judged.change.metric.name, judged.change.unit)
    return Scale("%", 0.01, 1) if share else own_scale(judged.change.unit, max(means, default=0.0))


def _remarks(judgement: Judgement) -> Iterator[str]:
    """What else is worth knowing: what got better, rows of two values, what was left out."""
    better = [f for f in judgement.figures if f.change.is_told and not f.change.is_worse]
    if better:
        told = [f"{_name(f)} {_cells(f)[3]}" for f in better]
        yield f"Better: {listed(told)}."
    if judgement.comparison.only_after:
        yield f"New: {listed(judgement.comparison.only_after)}."
    skipped = judgement.of(State.SKIPPED)
    if skipped:
        yield f"Not judged: {listed([f'{_name(f)} ({f.reason})' for f in skipped])}."
    yield from _two_values(judgement.figures)
    reasons = Counter(figure.reason for figure in judgement.of(State.NOISY))
    for reason, count in reasons.items():
        if reason:
            yield f"Too noisy: {count} figures: {reason}."
        else:
            yield (
                "Too noisy: over the limit, but not told from noise. More processes (-p) narrow"
                " it; --max METRIC=PERCENT widens the limit."
            )


def _two_values(figures: Sequence[Judged]) -> Iterator[str]:
    """A line a row whose processes lie about two values, told by the first such metric of it."""
    rows: dict[str, list[Judged]] = {}
    for judged in figures:
        if any(judged.bimodal):
            rows.setdefault(judged.change.row.name, []).append(judged)
    for name, found in list(rows.items())[:_MOST_BIMODAL]:
        first, *others = found
        also = f" (also {listed([f.change.metric.name for f in others])})" if others else ""
        yield f"Two values: {name}, {first.change.metric.name}{also}: {_groups(first)}."
    if len(rows) > _MOST_BIMODAL:
        yield f"Two values: also {listed(list(rows)[_MOST_BIMODAL:])}."


def _groups(judged: Judged) -> str:
    """How many processes of which file lie where."""
    scale = _scale(judged)
    told = []
    for when, found in zip(("before", "after"), judged.bimodal, strict=True):
        if found is not None:
            low, high = (scale.format(mean) for mean in found.means)
            few, many = found.counts
            told.append(f"{when} {few} processes at {low} and {many} at {high} {scale.symbol}")
    return "; ".join(told)
