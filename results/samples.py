"""The times of single calls in the metadata of a run, and their percentiles as figures.

A run of a benchmark that was timed call by call holds one line of JSON:

    {"overhead": 2.7e-08, "floor": 4.8e-10, "histogram": "HISTFAAAAB..."}

overhead: seconds of the sampler itself in every call; floor: the resolution of its clock in
seconds; histogram: of the calls of all values of the run, see `results.histogram`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from results import schema
from results.errors import ResultsError
from results.histogram import PERCENTILES, Histogram
from results.schema import Figures, Merged, Metric

SAMPLES_KEY = "scopestress_samples"
CLOCK_KEY = "scopestress_sample_clock"
"""There, too, for readers: the clock that the calls were timed by."""

AGGREGATION = "sample"
"""JMH's word for a mode that times single calls."""


@dataclass(frozen=True)
class Samples:
    """Calls of one process or of all: how long each took, in seconds, and of that the sampler."""

    histogram: Histogram
    overhead: float
    floor: float


def of_run(metadata: Mapping[str, Any], place: str) -> Samples | None:
    """The calls of a run, None if it was not timed call by call; ResultsError names the `place`."""
    text = schema.own_text(metadata, SAMPLES_KEY, place)
    if text is None:
        return None
    place = f"{place}, {SAMPLES_KEY}"
    entry = schema.parse_json(text, place)
    if not isinstance(entry, dict):
        raise ResultsError(f"{place}: expected an object, found {type(entry).__name__}")
    encoded = entry.get("histogram")
    if not isinstance(encoded, str):
        raise ResultsError(f"{place}: expected a histogram as text, found {encoded!r:.40}")
    try:
        histogram = Histogram.decode(encoded)
    except ValueError as error:
        raise ResultsError(f"{place}: {error}") from None
    return Samples(histogram, _seconds(entry, "overhead", place), _seconds(entry, "floor", place))


def merged(runs: Sequence[Samples | None]) -> Samples | None:
    """The calls of all runs, None if there is a run without."""
    present = [samples for samples in runs if samples is not None]
    if not present or len(present) < len(runs):
        return None
    return Samples(
        Histogram.merged(samples.histogram for samples in present),
        max(samples.overhead for samples in present),
        max(samples.floor for samples in present),
    )


def percentiles(runs: Sequence[Samples | None]) -> dict[str, Figures]:
    """A figure a percentile ("p0.99"): one a process, and the one of all their calls.

    None where the number of calls can't carry it. Unsupported if only some runs have calls.
    """
    present = [samples for samples in runs if samples is not None]
    whole = merged(runs)
    found = {}
    for share in PERCENTILES if present else ():
        metric = Metric(f"p{share}", "s", AGGREGATION)
        if whole is None:
            reason = f"recorded by {len(present)} of {len(runs)} processes"
            found[metric.name] = Figures(metric, unsupported=reason)
            continue
        found[metric.name] = Figures(
            replace(metric, floor=whole.floor),
            tuple((samples.histogram.percentile(share),) for samples in present),
            merged=Merged(whole.histogram.percentile(share), whole.histogram.count),
        )
    return found


def _seconds(entry: Mapping[str, Any], key: str, place: str) -> float:
    seconds = entry.get(key)
    if not schema.is_number(seconds) or seconds < 0:  # type: ignore[operator]
        raise ResultsError(f"{place}: expected 0 or more seconds as {key!r}, found {seconds!r:.40}")
    return float(seconds)  # type: ignore[arg-type]
