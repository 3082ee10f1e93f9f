"""A figure over commits as text: a row a benchmark, with a sparkline and its changes of level."""

from collections.abc import Iterator, Mapping, Sequence

from results.columns import TEXT
from results.compare.inference import centre
from results.compare.wording import listed, percent
from results.history.changes import HOW_TO_INSTALL, LEAST_POINTS, Shift
from results.history.points import Key, Point, breaks
from results.statistics import mean
from results.units import Scale, is_share, own_scale, scale_for

_TICKS = "▁▂▃▄▅▆▇█"
_GAP = "·"
_WIDTH = 40
"""Of a sparkline; of more points each tick is the mean of several."""
_HEADER = ["Benchmark", "First", "Last", "Units", "Change", "Over time"]
_MOST_COMMITS = 40

Shifts = Mapping[Key, Sequence[Shift]]


def document(
    points: Sequence[Point], shown: Sequence[Key], shifts: Shifts | None
) -> Iterator[list[str]]:
    """The blocks of lines; `shifts` is None where changes of level can't be looked for."""
    first, last = points[0], points[-1]
    span = " to ".join(dict.fromkeys((_when(first), _when(last))))
    count = f"{len(points)} file{'s' if len(points) > 1 else ''}"
    yield TEXT.sentences([f"{count}, {span}", *(f"Not comparable: {b}" for b in breaks(points))])
    for metric in dict.fromkeys(metric for _, metric in shown):
        yield [metric, *_table(points, [key for key in shown if key[1] == metric])]
    yield TEXT.sentences(list(_told(points, shifts)))
    yield _commits(points)


def sparkline(values: Sequence[float | None], width: int = _WIDTH) -> str:
    """A tick a value, the lowest for the smallest; a dot where there is none."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    ticks = []
    for part in _parts(values, width):
        if part is None:
            ticks.append(_GAP)
        else:
            place = (part - low) / (high - low) if high > low else 0.0
            ticks.append(_TICKS[min(int(place * len(_TICKS)), len(_TICKS) - 1)])
    return "".join(ticks)


def _parts(values: Sequence[float | None], width: int) -> Iterator[float | None]:
    count = min(len(values), width)
    for index in range(count):
        part = values[index * len(values) // count : (index + 1) * len(values) // count]
        known = [value for value in part if value is not None]
        yield mean(known) if known else None


def values_of(points: Sequence[Point], key: Key) -> list[float | None]:
    """The mean of a figure in each point; None where a point lacks it."""
    return [centre(p.figures[key].means) if key in p.figures else None for p in points]


def unit_of(points: Sequence[Point], key: Key) -> str:
    return next(p.figures[key].unit for p in reversed(points) if key in p.figures)


def scale_of(points: Sequence[Point], key: Key) -> Scale:
    """The unit and decimals in which a figure is told."""
    known = [value for value in values_of(points, key) if value is not None]
    unit = unit_of(points, key)
    share = is_share(key[1], unit)
    return scale_for(unit, known, share) or own_scale(unit, max(known))


def _table(points: Sequence[Point], shown: Sequence[Key]) -> list[str]:
    rows = [_HEADER]
    for key in shown:
        values = values_of(points, key)
        known = [value for value in values if value is not None]
        scale = scale_of(points, key)
        change = percent(known[-1] / known[0] - 1) if known[0] else ""
        cells = [scale.format(known[0]), scale.format(known[-1]), scale.symbol, change]
        rows.append([key[0], *cells, sparkline(values)])
    return TEXT.table(rows, (0, 5))


def _told(points: Sequence[Point], shifts: Shifts | None) -> Iterator[str]:
    """The changes of level in words, or why there are none."""
    if shifts is None:
        yield f"Changes of level are not marked: ruptures is not installed ({HOW_TO_INSTALL})."
        return
    if len(points) < LEAST_POINTS:
        yield f"Changes of level are looked for in {LEAST_POINTS} files or more."
        return
    for key, found in shifts.items():
        has = [point for point in points if key in point.figures]
        for shift in found:
            change = percent(shift.change) if shift.change is not None else "from 0"
            name = key[0] if key[1] == "score" else f"{key[0]}:{key[1]}"
            yield f"Change: {name} {change} from {_when(has[shift.index])} on."
    if not any(shifts.values()):
        yield "No change of level."


def _when(point: Point) -> str:
    day = f" ({point.date:%Y-%m-%d})" if point.date else ""
    return f"{point.label}{day}"


def _commits(points: Sequence[Point]) -> list[str]:
    """The points from first to last, so that a tick can be found again."""
    if len(points) > _MOST_COMMITS:
        names = [point.label for point in points]
        return TEXT.sentences([f"Commits: {listed(names[:4])} ... {listed(names[-4:])}."])
    rows = [["File", "No", "Commit", "Date", "Processes"]]
    for number, point in enumerate(points, 1):
        date = f"{point.date:%Y-%m-%d %H:%M}" if point.date else ""
        counts = sorted({len(row.values) for row in point.rows.values()})
        many = "-".join(dict.fromkeys((str(counts[0]), str(counts[-1])))) if counts else ""
        commit = point.label if point.commit else ""
        rows.append([str(point.path), str(number), commit, date, many])
    return TEXT.table(rows, (0, 2, 3))
