"""What is particular to replays of a recording: their total time, and the share of the replay."""

from collections.abc import Iterator, Sequence

from results.findings import Finding, figure, listed
from results.model import Row

RECORDING_KEY = "scopestress_recording"
"""In the metadata of a row that replays one: its name."""
DRIVER = "driver.share"
"""The metric: of the measured time, what the same replay takes against nothing."""
MOST_DRIVER = 0.2
"""Above, a difference between allocators is understated by as much."""


def totals(rows: Sequence[Row]) -> list[str]:
    """A line a replay: the time of all its values together, and how many there were."""
    lines = []
    for row in rows:
        if RECORDING_KEY in row.metadata and row.values:
            ns, samples = _total(row)
            many = "" if samples == 1 else "s"
            lines.append(f"{row.name}: {ns:,.0f} ns in all, {samples} sample{many}")
    lines += dict.fromkeys(note for row in rows for note in _left_out(row))
    return ["", *lines] if lines else []


def _left_out(row: Row) -> Iterator[str]:
    """What is not in the recording."""
    name = row.metadata.get(RECORDING_KEY)
    truncated = row.metadata.get(f"{RECORDING_KEY}_truncated", "no")
    count = row.metadata.get(f"{RECORDING_KEY}_left_out", 0)
    if name and truncated != "no":
        yield f"The recording {name} ends before the program did: {truncated}."
    if name and isinstance(count, int) and count:
        events = f"{count:,} event" + ("s" if count > 1 else "")
        yield (
            f"The recording {name} leaves out {events} of what is older than it, or can't be true:"
            " see `python -m suites.record info`."
        )


def _total(row: Row) -> tuple[float, int]:
    processes = zip(row.values, row.loops, strict=True)
    seconds = sum(sum(values) * loops * row.inner_loops for values, loops in processes)
    return 1e9 * seconds, sum(map(len, row.values))


def drivers(rows: Sequence[Row]) -> Iterator[Finding]:
    """Replays that measure themselves for a good part, the worst one first."""
    shares = [(figure(row, DRIVER) or 0.0, row) for row in rows]
    found = sorted((s for s in shares if s[0] > MOST_DRIVER), key=lambda case: -case[0])
    if found:
        share, row = found[0]
        others = [other.name for _, other in found[1:]]
        likewise = f" Over {100 * MOST_DRIVER:.0f} % in {listed(others)}, too." if others else ""
        yield Finding(
            share,
            f"The replay itself takes {100 * share:.0f} % of the time of {row.name}: between"
            f" allocators, differences are larger than they look by that.{likewise}",
        )
