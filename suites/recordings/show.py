"""What is in a recording, for people and for programs."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from results.units import brief
from suites.recordings.loader import Recording
from suites.recordings.summary import SHORT, SMALL, Histogram, Lifetimes, Summary

_BAR = 30
_MOST_THREADS = 10


def json_text(recording: Recording, summary: Summary) -> str:
    """All of it: `info` as in info.json, `summary` with histograms as {from, to, count}."""
    counted = _plain(asdict(summary))
    nbytes = {row["from"]: row["count"] for row in counted.pop("bytes_by_size")}
    for row in counted["sizes"]:
        row["bytes"] = nbytes.get(row["from"], 0)
    found = {"path": str(recording.path), "info": recording.info, "summary": counted}
    return json.dumps(found, indent=2, allow_nan=False) + "\n"


def text(recording: Recording, summary: Summary) -> str:
    """A page to read."""
    lines = [*_head(recording, summary), "", *_operations(summary)]
    if summary.allocations:
        lines += ["", *_sizes(summary)]
    if summary.objects.count:
        lines += ["", *_lifetimes("objects", summary.objects)]
    if summary.scopes.count:
        lines += ["", *_lifetimes("scopes", summary.scopes)]
    lines += ["", *_threads(summary), *_left_out(recording.info)]
    return "\n".join(lines) + "\n"


def _head(recording: Recording, summary: Summary) -> Iterator[str]:
    info, count = recording.info, len(recording.operations)
    threads = counted(len(recording.threads), "thread")
    yield f"{recording.path}: {counted(count, 'operation')} of {threads}, by {info.get('source')}"
    if info.get("command"):
        yield f"command       {' '.join(info['command'])}"
    if summary.duration_ns is not None:
        yield f"duration      {brief('s', summary.duration_ns / 1e9)}"
    yield f"truncated     {info.get('truncated') or 'no'}"
    overhead = info.get("overhead")
    if overhead:
        yield f"overhead      {overhead['ns_per_operation']:g} ns an operation ({overhead['how']})"
    when = f"operation {summary.peak_sequence:,}, {summary.peak_sequence / max(1, count):.0%}"
    if summary.peak_ns is not None:
        when += f", after {brief('s', summary.peak_ns / 1e9)}"
    yield f"peak          {brief('bytes', summary.peak_bytes)} live ({when})"
    end = info.get("end", {})
    objects = counted(end.get("live_objects", 0), "object")
    yield f"at the end    {brief('bytes', summary.live_bytes)} live in {objects}"


def _operations(summary: Summary) -> Iterator[str]:
    yield "operations"
    for name, count in summary.operations.items():
        detail = ""
        if name == "allocate":
            detail = ", ".join(f"{kind} {n:,}" for kind, n in summary.allocators.items())
        yield f"  {name:<12}{count:>14,}  {detail}".rstrip()


def _sizes(summary: Summary) -> Iterator[str]:
    small = summary.small / summary.allocations
    yield (
        f"allocations: {brief('bytes', summary.allocated_bytes)} in all, "
        f"{small:.0%} of them of at most {SMALL} bytes"
    )
    yield f"  {'bytes':<22}{'allocations':>14}{'bytes in all':>14}"
    for low, high, count in _rows(summary.sizes):
        total = brief("bytes", int(summary.bytes_by_size[high.bit_length()]))
        line = f"  {_range(low, high):<22}{count:>14,}{total:>14}  {_bar(count, summary.sizes)}"
        yield line.rstrip()


def _lifetimes(what: str, found: Lifetimes) -> Iterator[str]:
    short, both = found.short / found.count, found.small_and_short / found.count
    also = f", {both:.0%} of at most {SMALL} bytes, too" if what == "objects" else ""
    yield f"{found.count:,} {what} ended: {short:.0%} within {SHORT:,} operations{also}"
    yield from _lifetime_rows("operations", found.operations)
    if found.ns.any():
        yield from _lifetime_rows("ns", found.ns)


def _lifetime_rows(unit: str, histogram: Histogram) -> Iterator[str]:
    yield f"  {unit:<22}{'':>14}"
    for low, high, count in _rows(histogram):
        yield f"  {_range(low, high):<22}{count:>14,}  {_bar(count, histogram)}".rstrip()


def _threads(summary: Summary) -> Iterator[str]:
    yield f"threads{'operations':>29}{'allocated':>14}"
    by_use = sorted(summary.threads, key=lambda thread: -thread["operations"])
    for thread in by_use[:_MOST_THREADS]:
        name = thread["name"] or "(no name)"
        total = brief("bytes", thread["allocated_bytes"])
        yield f"  {name[:20]:<20}{thread['operations']:>14,}{total:>14}"
    if len(by_use) > _MOST_THREADS:
        yield f"  and {len(by_use) - _MOST_THREADS:,} more"


def _left_out(info: Mapping[str, Any]) -> Iterator[str]:
    for key, meaning in (
        ("preexisting", "of what is older than the recording"),
        ("invalid", "that can't be true"),
    ):
        counts = info.get(key) or {}
        if counts:
            found = ", ".join(f"{name} {count:,}" for name, count in counts.items())
            yield ""
            yield f"{key}: {counted(sum(counts.values()), 'event')} {meaning} left out: {found}"


def _rows(histogram: Histogram) -> Iterator[tuple[int, int, int]]:
    """From, to and count of the buckets, from the first to the last that is not empty."""
    used = np.flatnonzero(histogram)
    for bucket in range(used[0], used[-1] + 1) if len(used) else ():
        low = 0 if bucket == 0 else 1 << (bucket - 1)
        yield low, max(0, (1 << bucket) - 1), int(histogram[bucket])


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _bar(count: int, histogram: Histogram) -> str:
    return "#" * round(_BAR * count / max(1, int(histogram.max())))


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _plain(value: Any) -> Any:
    """Histograms as lists of their buckets."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return [{"from": low, "to": high, "count": count} for low, high, count in _rows(value)]
    return value
