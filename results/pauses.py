"""The collector's pauses in the metadata of a run: a histogram of their lengths, as text.

It holds each collection that ended within a value of the run, see `results.histogram`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from results import schema
from results.errors import ResultsError
from results.histogram import Histogram

PAUSES_KEY = "scopestress_gc_pauses"


def of_run(metadata: Mapping[str, Any], place: str) -> Histogram | None:
    """The pauses of a run, None if nobody looked at them; ResultsError names the `place`."""
    text = schema.own_text(metadata, PAUSES_KEY, place, "a histogram as text")
    if text is None:
        return None
    try:
        return Histogram.decode(text)
    except ValueError as error:
        raise ResultsError(f"{place}, {PAUSES_KEY}: {error}") from None


def merged(runs: Sequence[Histogram | None]) -> Histogram | None:
    """The pauses of all runs, None if there is a run without."""
    present = [histogram for histogram in runs if histogram is not None]
    if not present or len(present) < len(runs):
        return None
    return Histogram.merged(present)
