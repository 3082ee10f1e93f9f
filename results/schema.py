"""What our files hold beyond pyperf's: keys of the metadata of a run, checked in both directions.

The exact figures of a run are one line of JSON, a value for each value of the run:

    {"gc.time": {"unit": "s", "agg": "sum", "better": "lower", "floor": 1e-4, "values": [...]},
     "rss.peak": {"unsupported": "clear_refs is not writable"}}

A null among the values is a figure that was not measurable there: no zero, and no reason to drop
the metric. An entry with "per": "op" has values of all operations of a value, written where the
number of loops is not known (pyperf hooks); it is read as a figure per operation.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from results.errors import ResultsError
from results.names import is_metric

SCHEMA = 1
SCHEMA_KEY = "scopestress_schema"
METRICS_KEY = "scopestress_metrics"
"""The figures of a run. pyperf hooks write a key each: this one, a dot and the hook's name."""
METRIC_KEY = "scopestress_metric"
"""In every run of a benchmark that was made from the figures of another: the metric's name."""
UNIT_KEY = "scopestress_unit"
"""There, too: the real unit, for pyperf knows only second, byte and integer."""
PARAMS_KEY = "scopestress_params"
"""One line of JSON: the parameters of a benchmark with those that its name leaves out as usual."""

THREADS_KEY = "scopestress_threads_measured"
"""How many threads did as many operations each as the loops of a run say; 1 if it is not there."""
MOST = 1e60
LEAST = 1 / MOST
"""What is larger or smaller is no figure of a program."""

SCORE = "score"
AGGREGATIONS = ("sum", "max", "mean")
BETTER = ("lower", "higher")
PER_OPERATION = "op"

_METRICS: dict[tuple[object, ...], "Metric"] = {}


@dataclass(frozen=True)
class Metric:
    """What a figure is: `unit` as in the file (s, bytes, s/op ...), `floor` its resolution, `note`
    what its readers should know, if there is something."""

    name: str
    unit: str
    agg: str = "mean"
    better: str = "lower"
    floor: float = 0.0
    note: str = ""

    @property
    def extensive(self) -> bool:
        """Whether it grows with the number of operations, so that only a rate can be compared."""
        return self.agg == "sum"


@dataclass(frozen=True)
class Merged:
    """What a figure is of the `count` calls of all processes together; None if too few for it."""

    value: float | None
    count: int


@dataclass(frozen=True)
class Figures:
    """The exact figures of a metric, process by process; none and a reason if `unsupported`.

    A figure is None where it was not measurable in that value. `merged` is there for a percentile,
    which is no mean, sum or maximum of those of the processes.
    """

    metric: Metric
    by_process: tuple[tuple[float | None, ...], ...] = ()
    unsupported: str | None = None
    merged: Merged | None = None

    @property
    def values(self) -> tuple[float, ...]:
        """The figures of all processes that were measurable."""
        return tuple(value for process in self.measured for value in process)

    @property
    def measured(self) -> tuple[tuple[float, ...], ...]:
        """The measurable figures, process by process."""
        return tuple(
            tuple(value for value in process if value is not None) if None in process else process  # type: ignore[misc]
            for process in self.by_process
        )

    @property
    def missing(self) -> int:
        """How many values had no measurable figure."""
        return sum(process.count(None) for process in self.by_process)


def figures_of_run(metadata: Mapping[str, Any], count: int, place: str) -> dict[str, Figures]:
    """The figures in the metadata of a run with `count` values; ResultsError names the `place`."""
    keys = [key for key in metadata if key == METRICS_KEY or key.startswith(METRICS_KEY + ".")]
    if keys:
        check_schema(metadata, place, required=True)
    found: dict[str, Figures] = {}
    for key in sorted(keys):
        for name, entry in _entries(metadata[key], f"{place}, {key}").items():
            if not is_metric(name):
                raise ResultsError(f"{place}, {key}: expected names of metrics, found {name!r:.40}")
            if name in found:
                raise ResultsError(f"{place}, {key}: the metric {name!r} is there twice")
            here = f"{place}, {key}: the metric {name!r}"
            found[name] = _per_operation(_figures(name, entry, count, here), entry, metadata, here)
    return found


def check_schema(metadata: Mapping[str, Any], place: str, required: bool = False) -> None:
    """ResultsError for a schema version that this package does not know."""
    version = metadata.get(SCHEMA_KEY)
    if version is None and not required:
        return
    if version != SCHEMA or isinstance(version, bool):
        raise ResultsError(f"{place}: expected {SCHEMA_KEY} {SCHEMA}, found {version!r}")


def own_text(
    metadata: Mapping[str, Any], key: str, place: str, what: str = "a line of JSON"
) -> str | None:
    """What is stored as text under a key of ours, None where nothing is; ResultsError otherwise."""
    text = metadata.get(key)
    if text is None:
        return None
    check_schema(metadata, place, required=True)
    if not isinstance(text, str):
        raise ResultsError(f"{place}, {key}: expected {what}, found {type(text).__name__}")
    return text


def join(runs: Sequence[Mapping[str, Figures]], place: str) -> dict[str, Figures]:
    """The figures of several runs as figures of one benchmark, in the order they appear.

    A metric that some run lacks is unsupported, with the reason: half of the processes say nothing
    about the whole.
    """
    names = dict.fromkeys(name for run in runs for name in run)
    return {name: _joined([run.get(name) for run in runs], name, place) for name in names}


def _joined(runs: Sequence[Figures | None], name: str, place: str) -> Figures:
    present = [figures for figures in runs if figures is not None]
    reasons = dict.fromkeys(f.unsupported for f in present if f.unsupported is not None)
    if reasons:
        return Figures(Metric(name, ""), unsupported="; ".join(reasons))
    if len(present) < len(runs):
        reason = f"recorded by {len(present)} of {len(runs)} processes"
        return Figures(present[0].metric, unsupported=reason)
    metrics = dict.fromkeys((f.metric.unit, f.metric.agg, f.metric.better) for f in present)
    if len(metrics) > 1:
        found = " and ".join(" ".join(parts) for parts in metrics)
        raise ResultsError(f"{place}: the metric {name!r} differs between runs: {found}")
    coarsest = max((f.metric for f in present), key=lambda metric: metric.floor)
    return Figures(coarsest, tuple(f.by_process[0] for f in present))


def parse_json(text: str, place: str) -> Any:
    """The value of a JSON text. NaN and infinities are refused; ResultsError names the `place`."""

    def refuse(name: str) -> NoReturn:
        raise ResultsError(f"{place}: {name} is not a figure")

    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError as error:  # the decoder's own, and that of an integer without end
        raise ResultsError(f"{place}: not JSON or cut off: {error}") from None
    except RecursionError:
        raise ResultsError(f"{place}: not a result: nested too deeply") from None


def is_number(value: Any) -> bool:
    """Whether it is 0 or a number of a size that can be reckoned with: squares and ratios of such
    numbers are numbers, too. True and false are none."""
    if type(value) not in (int, float):
        return False
    return bool(value == 0 or LEAST <= abs(value) <= MOST)


def _entries(text: Any, place: str) -> dict[str, Any]:
    if not isinstance(text, str):
        raise ResultsError(f"{place}: expected a line of JSON, found {type(text).__name__}")
    entries = parse_json(text, place)
    if not isinstance(entries, dict):
        raise ResultsError(f"{place}: expected metrics by name, found {type(entries).__name__}")
    return entries


def _figures(name: str, entry: Any, count: int, place: str) -> Figures:
    if not isinstance(entry, dict):
        raise ResultsError(f"{place}: expected an object, found {type(entry).__name__}")
    if "unsupported" in entry:
        reason = entry["unsupported"]
        if not isinstance(reason, str) or not reason:
            raise ResultsError(f"{place}: expected the reason as text, found {reason!r}")
        return Figures(Metric(name, ""), unsupported=reason)
    metric = _metric(name, entry, place)
    values = entry.get("values")
    if not isinstance(values, list):
        raise ResultsError(f"{place}: expected a list of values, found {values!r}")
    if len(values) != count:
        raise ResultsError(f"{place}: expected {count} values as in the run, found {len(values)}")
    for value in values:
        if value is not None and not is_number(value):
            raise ResultsError(f"{place}: expected numbers up to {MOST:g}, found {value!r:.40}")
    return Figures(metric, (tuple(values),))


def _metric(name: str, entry: Mapping[str, Any], place: str) -> Metric:
    """The metric of an entry: one object for all its entries, of which a file has thousands."""
    floor = entry.get("floor", 0.0)
    told = [entry.get(key) for key in ("unit", "agg", "better", "note")]
    key = (name, *told, floor, type(floor))
    try:
        return _METRICS[key]
    except (KeyError, TypeError):
        pass
    metric = Metric(
        name,
        _one_of(entry, "unit", (), place),
        _one_of(entry, "agg", AGGREGATIONS, place),
        _one_of(entry, "better", BETTER, place),
        _floor(entry, place),
        _note(entry, place),
    )
    return _METRICS.setdefault(key, metric)


def _per_operation(
    figures: Figures, entry: Mapping[str, Any], metadata: Mapping[str, Any], place: str
) -> Figures:
    """The figures as they are, or divided by the operations of a value where the entry asks."""
    if figures.unsupported is not None or "per" not in entry:
        return figures
    _one_of(entry, "per", (PER_OPERATION,), place)
    operations = metadata.get("loops", 1) * metadata.get("inner_loops", 1)
    values = tuple(None if value is None else value / operations for value in figures.by_process[0])
    return Figures(replace(figures.metric, unit=f"{figures.metric.unit}/op"), (values,))


def _one_of(entry: Mapping[str, Any], key: str, allowed: Iterable[str], place: str) -> str:
    value = entry.get(key)
    allowed = tuple(allowed)
    if not isinstance(value, str) or not value or (allowed and value not in allowed):
        expected = " or ".join(allowed) or "a text"
        raise ResultsError(f"{place}: expected {expected} as {key!r}, found {value!r}")
    return value


def _floor(entry: Mapping[str, Any], place: str) -> float:
    floor = entry.get("floor", 0.0)
    if not is_number(floor) or floor < 0:
        raise ResultsError(f"{place}: expected 0 or more as 'floor', found {floor!r}")
    return float(floor)


def _note(entry: Mapping[str, Any], place: str) -> str:
    note = entry.get("note", "")
    if not isinstance(note, str):
        raise ResultsError(f"{place}: expected a text as 'note', found {note!r:.40}")
    return note
