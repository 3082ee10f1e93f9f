"""The charts there are: name, title, how to read them, and what makes their panels."""

from collections.abc import Callable
from dataclasses import dataclass

from results.model import Results
from results.report import pauses, percentiles, scores, thrash, timelines
from results.report.panel import Panel

MOST_PANELS = 60
"""Of a chart: more are not looked at but scrolled past, and each takes a tenth of a second."""


@dataclass(frozen=True)
class Chart:
    """`reading` says how to read it; `needs` how a file comes to have what it shows."""

    name: str
    title: str
    reading: str
    needs: str
    panels: Callable[[Results], list[Panel]]


CHARTS = {
    chart.name: chart
    for chart in (
        Chart(
            "scores",
            "Scores",
            "Further left is faster. A circle is the mean wall time of an operation, the bar the"
            " 99.9 % interval of that mean, from the means of the processes: where bars overlap,"
            " the difference may be chance, and without one there were fewer than 3 processes. The"
            " diamond is the CPU time of the same operations: in THREADS, where wall time is mostly"
            " waiting, it is the one to compare.",
            "a score above zero",
            scores.panels,
        ),
        Chart(
            "thrash",
            "Thrash: what the score hides",
            "Down and left is good in both. A benchmark that is far left and far up looks cheap by"
            " its score while the process pays: in memory that nobody uses (peak RSS), or in time"
            " that the collector stops it (gc.time). Those that stand out are named.",
            "the probes rss and gc",
            thrash.panels,
        ),
        Chart(
            "timeline",
            "Resident memory over time",
            "A line is one timed value, the first one drawn strong; the panels of a mode have the"
            " same height in MiB. A flat line means memory goes back as it comes. A saw means that"
            " it piles up until the collector runs. The sampler is a thread of the process that"
            " Python's lock does not stop; what it took of a core stands below each panel.",
            "--timeline when measuring",
            timelines.panels,
        ),
        Chart(
            "pauses",
            "Pauses of the collector",
            "Every collection within the timed values, by how long it stopped the program. Many"
            " short ones cost throughput, a few long ones cost whoever waits for an answer.",
            "the probe gc, and collections in the timed values",
            pauses.panels,
        ),
        Chart(
            "percentiles",
            "Percentiles of single calls",
            "Each operation was timed by itself. A line that is low and then leaps means that most"
            " calls are quick because a few do the work of all. A percentile is left out where"
            " fewer than ten calls lie beyond it.",
            "--sample when measuring",
            percentiles.panels,
        ),
    )
}
