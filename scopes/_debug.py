"""What is open, in words."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from scopes import _core

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO


def dump(file: TextIO | None = None) -> None:
    """Prints what is open to a text file, sys.stdout unless given.

    With ``debug(True)``, each scope that was opened since, the oldest first: where and by which
    thread, what it holds, and where each of its exports was taken; also closed scopes whose memory
    waits for exports. Then, or without it alone, the totals of the process. Any thread may call it
    while others open and close.

    >>> debug(True)
    >>> with SharedScope() as scope:
    ...     dump()  # doctest: +ELLIPSIS
    shared scope at 0x..., open: 0 bytes, no limit, 0 callbacks
        opened at <doctest ...>:1 in <module>
    ...
    >>> debug(False)
    """
    if file is not None and not callable(getattr(file, "write", None)):
        raise TypeError(f"file must be a text file or None, found {file!r}")
    print("\n".join(_lines(_core.snapshot(), _core.statistics())), file=file)


def _lines(found: _core._Snapshot, figures: _core.Statistics) -> Iterator[str]:
    names = _thread_names() if any(scope["thread"] for scope in found["scopes"]) else {}
    for scope in found["scopes"]:
        yield from _scope(scope, names)
        yield ""
    unlisted = f", {found['unlisted']} not listed: opened while debug was off"
    yield _count(figures.open_scopes, "open scope") + (unlisted if found["unlisted"] else "")
    yield (
        f"{figures.live_bytes} bytes live, {figures.deferred_bytes} deferred, "
        f"{figures.retired_bytes} retired, {figures.cached_bytes} cached, "
        f"{figures.mapped_bytes} mapped"
    )
    yield (
        f"{found['accounted_bytes']} bytes of foreign memory accounted, "
        f"in {_count(found['accounts'], 'object')}"
    )
    if not found["debug"]:
        yield (
            "debug is off: scopes.debug(True), or SCOPES_DEBUG=1 in the environment, lists the "
            "scopes opened from then on"
        )


def _scope(scope: _core._Facts, names: dict[int | None, str]) -> Iterator[str]:
    limit = "no limit" if scope["limit"] is None else f"limit {scope['limit']}"
    holds = f"{scope['live_bytes']} bytes, {limit}, {_count(scope['callbacks'], 'callback')}"
    if scope["state"] == "closed":
        holds = "its memory goes with its last export"
    yield f"{scope['kind']} scope at {scope['address']:#x}, {scope['state']}: {holds}"
    yield f"    opened {_place(scope['opened'], 8)}"
    if scope["thread"] is not None:
        yield f"    thread {scope['thread']} ({names.get(scope['thread'], 'unknown')})"
    if scope["owner"] is not None:
        yield f"    owner {scope['owner']}"
    taken: dict[int, Counter[str | None]] = defaultdict(Counter)
    for segment, place in scope["taken"]:
        taken[segment][place] += 1
    for segment, nbytes, address, exports in scope["exported"]:
        yield f"    {_count(exports, 'export')} of the segment of {nbytes} bytes at {address:#x}"
        taken[segment][None] = exports - taken[segment].total()
        for known, times in (+taken[segment]).items():
            yield f"        {times} taken {_place(known, 12)}"


def _place(found: str | None, indent: int) -> str:
    """The lines of a place, each caller on one of its own; None is one that was not recorded."""
    if found is None:
        return "while debug was off"
    return found.replace("\n", "\n" + " " * indent + "called from ")


def _thread_names() -> dict[int | None, str]:
    import threading

    return {thread.ident: thread.name for thread in threading.enumerate()}


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
