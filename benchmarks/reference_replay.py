"""What replays of the corpus show, as a section of docs/replay.md, by the reference results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from results.findings import figure
from results.model import Results, Row

HEAPS = ("malloc", "pymalloc", "arena", "mmap")
MEMORY = ("malloc", "pymalloc", "arena")
KINDS = ("recorded", "confined", "shared", "implicit", "implicit+budget")

Found = dict[tuple[str, str], Row]
"""By operation and recording."""


def section(results: Results, where: str) -> str:
    """Two tables, and five lines on them."""
    found = {(row.operation, row.params["recording"]): row for row in results.rows}
    recordings = sorted({recording for _, recording in found})
    of_scopes = [name for name in recordings if (KINDS[0], name) in found]
    heaps = [
        "| recording | " + " | ".join(f"`{name}`" for name in HEAPS) + " | overhead | fragmented |",
        "|---|" + "--:|" * (len(HEAPS) + 2),
        *(_heap_line(found, recording) for recording in recordings),
    ]
    kinds = [
        "| scopes of `" + "`, `".join(of_scopes) + "` | ns/op | collector | RSS growth |",
        "|---|--:|--:|--:|",
        *(_kind_line(found, kind, of_scopes[0]) for kind in KINDS),
    ]
    lines = "\n".join(f"> - {line}" for line in _lines(found, recordings, of_scopes[0]))
    return (
        "\n".join(heaps)
        + "\n\nns/op in NONE; overhead and fragmentation of `malloc`, `pymalloc` and `arena`"
        + " when the most was live.\n\n"
        + "\n".join(kinds)
        + f"\n\nns/op in NONE, the Python types. {where}.\n\n{lines}\n"
    )


def _ns(row: Row | None) -> float:
    return 1e9 * (figure(row, "score") or 0.0) if row else 0.0


def _threads(row: Row) -> int:
    return int(row.metadata["scopestress_recording_threads"])


def _percents(rows: Sequence[Row], metric: str) -> str:
    told = []
    for row in rows:
        value = figure(row, metric)
        told.append("n/a" if value is None else f"{100 * value:.0f}")
    return " / ".join(told) + " %"


def _heap_line(found: Found, recording: str) -> str:
    rows = [found[name, recording] for name in MEMORY]
    cells = [f"{_ns(found[name, recording]):.1f}" for name in HEAPS]
    cells += [_percents(rows, "mapped.overhead"), _percents(rows, "fragmentation.share")]
    return f"| `{recording}` | " + " | ".join(cells) + " |"


def _kind_line(found: Found, kind: str, recording: str) -> str:
    row = found[kind, recording]
    share, growth = figure(row, "gc.share") or 0.0, figure(row, "rss.growth") or 0.0
    cells = (f"`{kind}`", f"{_ns(row):.1f}", f"{100 * share:.0f} %", f"{growth / 2**20:.0f} MiB")
    return f"| {' | '.join(cells)} |"


def _range(values: Sequence[float], format: Callable[[float], str] = "{:.1f}".format) -> str:
    low, high = format(min(values)), format(max(values))
    return low if low == high else f"{low} to {high}"


def _lines(found: Found, recordings: Sequence[str], scoped: str) -> list[str]:
    def ratios(one: str, other: str) -> str:
        return _range([_ns(found[one, r]) / _ns(found[other, r]) for r in recordings])

    def shares(name: str, metric: str) -> str:
        told = [figure(found[name, r], metric) for r in recordings]
        return _range([100 * value for value in told if value is not None], "{:.0f}".format)

    implicit, recorded = found["implicit", scoped], found["recorded", scoped]
    alone = [found["malloc", r] for r in recordings if _threads(found["malloc", r]) == 1]
    driver = [figure(row, "driver.share") or 0.0 for row in alone]
    return [
        f"`pymalloc` takes {ratios('pymalloc', 'malloc')} times as long as `malloc`, a map an"
        f" object {ratios('mmap', 'malloc')} times.",
        f"The arena of the scopes, a scope for 1,024 allocations, takes {ratios('arena', 'malloc')}"
        " times as long as `malloc`: it zeroes, and its threads share it.",
        "What such scopes cost is memory: when the most was live, the arena had mapped"
        f" {shares('arena', 'mapped.overhead')} % more than that, `malloc`"
        f" {shares('malloc', 'mapped.overhead')} %. Lifetimes that scopes fit, as those of"
        f" `{scoped}`, are what it is for.",
        f"As implicit scopes in cycles `{scoped}` takes {_ns(implicit) / _ns(recorded):.1f} times"
        " as long as with the recorded ones,"
        f" {100 * (figure(implicit, 'gc.share') or 0):.0f} % of it in the collector.",
        f"The replay itself is {_range([100 * share for share in driver], '{:.0f}'.format)} % of"
        " the time of `malloc`, in recordings of one thread: of several, waiting for each other is"
        " in it, too.",
    ]
