"""Reading and writing result files. A file appears whole or not at all."""

import gc
import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TextIO, cast

import pyperf

from results import samples, schema
from results.errors import ResultsError
from results.expand import expand, tagged
from results.model import Results
from results.parse import parse

__all__ = [
    "append",
    "check_writable",
    "read",
    "read_text",
    "write",
    "write_bytes",
    "write_expanded",
    "write_text",
]


def read(path: str | os.PathLike[str]) -> Results:
    """The results in a file of ours or of pyperf, also gzipped (.gz).

    ResultsError names the file, and the place in it, for what can't be read or trusted.
    """
    path = Path(path)
    text = read_text(path)
    with _without_collector():
        return parse(text, path)


@contextmanager
def _without_collector() -> Iterator[None]:
    """A file makes a million objects and not one cycle: a fifth of the time would go to looking."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def read_text(path: Path) -> str:
    """The text of a file, also gzipped; ResultsError names it."""
    try:
        with _open(path, "r") as file:
            return file.read()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise ResultsError(f"{path}: can't be read: {_reason(error)}") from error


def check_writable(path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """ResultsError if `write` to this path would fail: to be known before an hour of measuring."""
    path = Path(path)
    parent = path.parent
    if path.is_dir():
        raise ResultsError(f"{path}: expected the name of a file, found a directory")
    if not parent.is_dir():
        what = "is not a directory" if parent.exists() else "does not exist"
        raise ResultsError(f"{path}: can't be written: the directory {parent} {what}")
    if not overwrite and os.path.lexists(path):
        raise ResultsError(f"{path}: exists already; it is not overwritten")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise ResultsError(f"{path}: can't be written: no permission in the directory {parent}")


def write(
    path: str | os.PathLike[str],
    score_benchmarks: Sequence[pyperf.Benchmark],
    overwrite: bool = False,
) -> None:
    """Write scores, and the metrics in their metadata as benchmarks of their own, as a pyperf file.

    The benchmarks handed in stay as they are. ResultsError for figures that don't fit, and for what
    `check_writable` finds; then nothing has been written, and an older file is untouched.
    """
    path = Path(path)
    check_writable(path, overwrite)
    if not score_benchmarks:
        raise ResultsError(f"{path}: there is nothing to write, not one benchmark")
    try:
        benchmarks = [
            made for score in score_benchmarks for made in (tagged(score), *expand(score))
        ]
        suite = pyperf.BenchmarkSuite(benchmarks)
    except (ResultsError, ValueError) as error:
        raise ResultsError(f"{path}: {error}") from error
    _write_at_once(path, suite.dump, overwrite)


def write_text(path: str | os.PathLike[str], text: str, overwrite: bool = False) -> None:
    """Write a text as `write` does a file of results: whole or not at all."""
    write_bytes(path, text.encode(errors="replace"), overwrite)


def write_bytes(path: str | os.PathLike[str], content: bytes, overwrite: bool = False) -> None:
    """The same for what is no text."""
    path = Path(path)
    check_writable(path, overwrite)
    _write_at_once(path, lambda file: file.buffer.write(content), overwrite)


def append(path: str | os.PathLike[str], score_benchmarks: Sequence[pyperf.Benchmark]) -> None:
    """Add to a file, or begin it: runs to benchmarks of the same name, others at the end.

    ResultsError as from `read` and `write`, and for runs that pyperf holds for incomparable.
    """
    path = Path(path)
    if not path.exists():
        write(path, score_benchmarks)
        return
    scores = {score.get_name(): score for score in _scores(path)}
    for score in score_benchmarks:
        name = score.get_name()
        if name not in scores:
            scores[name] = score
            continue
        if _is_sampled(score) != _is_sampled(scores[name]):
            raise ResultsError(
                f"{path}: benchmark {name!r}: expected runs that were all timed call by call or"
                " none of them, found both"
            )
        try:
            scores[name].add_runs(tagged(score))
        except ValueError as error:
            raise ResultsError(f"{path}: benchmark {name!r}: {error}") from error
    write(path, list(scores.values()), overwrite=True)


def write_expanded(path: str | os.PathLike[str], source: str | os.PathLike[str]) -> None:
    """Write what another file holds, with a benchmark for every metric that pyperf can compare.

    ResultsError as from `read` and `write`, and where no run of the source holds a metric.
    """
    rows = read(source).rows
    if not any(row.metrics for row in rows):
        raise ResultsError(f"{source}: there is nothing to expand: its runs hold no metrics")
    scores = _scores(Path(source))
    try:
        write(path, scores)
    except ResultsError as error:
        raise ResultsError(f"{error} (of {source})") from error


def _scores(path: Path) -> list[pyperf.Benchmark]:
    read(path)
    try:
        suite = pyperf.BenchmarkSuite.loads(read_text(path))
    except Exception as error:  # whatever pyperf makes of what it doesn't expect
        raise ResultsError(f"{path}: pyperf can't read it: {error}") from error
    return [bench for bench in suite if schema.METRIC_KEY not in bench.get_metadata()]


def _is_sampled(score: pyperf.Benchmark) -> bool:
    return any(samples.SAMPLES_KEY in run.get_metadata() for run in score.get_runs())


def _write_at_once(path: Path, dump: Callable[[TextIO], object], overwrite: bool) -> None:
    """Through a file beside it: a rename within a directory is seen whole or not at all."""
    # A link to a file stays a link, to the new one.
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with _open(temporary, "x", compressed=target.suffix == ".gz") as file:
            dump(file)
        if not overwrite:
            check_writable(path)  # somebody else may have made it meanwhile
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(FileNotFoundError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise ResultsError(f"{path}: can't be written: {_reason(error)}") from error
        raise


def _open(path: Path, mode: Literal["r", "x"], compressed: bool | None = None) -> TextIO:
    if compressed is None:
        compressed = path.suffix == ".gz"
    if compressed:
        return cast(TextIO, gzip.open(path, f"{mode}t", encoding="utf-8"))
    return open(path, mode, encoding="utf-8")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)
