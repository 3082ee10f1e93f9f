"""What would the memory operations of a real program cost with another allocator, or watched?

    python -m suites.replay DIR [DIR ...] [options]

Each DIR is a recording of `python -m suites.record` or `scopes.record`. An operation is one of its:
to allocate, free, open, close ... All are replayed in order, in C, with a thread for each
recorded one, without the program's own work between them. The rows differ in what they are
replayed against.

  baseline          an allocator that does nothing: the cost of the replay itself
  malloc            malloc of the C library, or of --allocator
  mmap              the kernel, a private map an object
  arena             the scopes' arena, one scope a recorded one or --scope-by
  pymalloc          Python's allocator of objects, one thread with the GIL
  recorded          the Python types, scopes as recorded; for recordings of scopes, as the next ones
  confined, shared  the Python types, all scopes of that kind
  implicit          the Python types, each scope part of a reference cycle: the collector frees it
  implicit+budget   the same with the byte budget of the scopes

The wrong way is to judge an allocator by a loop that frees what it has just allocated. The right
way is to replay what the program did: sizes, lifetimes and threads decide what it is worth.

What you should see: beside the score stand the memory that was mapped when the most was live
(:mapped.overhead), what lies idle in it (:fragmentation.share), and :driver.share, what of the time
is the replay itself. Only calls are replayed: --touch all adds the writes, --think recorded the
program's pauses, --under what watches.
"""

import sys
from collections.abc import Sequence

from stress.modes import StressMode
from suites.cells import Suite
from suites.main import run
from suites.recordings.format import RecordingError
from suites.replays.check import check
from suites.replays.options import Source
from suites.replays.targets import KINDS, NOTHING, TARGETS
from suites.rows import Work
from suites.runner import SuiteRunner


def suite_of(sources: Sequence[Source]) -> Suite:
    """The suite that replays these; RecordingError for one that can't be read."""
    names = list(map(str, sources))
    for source in sources:
        if names.count(str(source)) > 1:
            raise RecordingError(
                f"expected recordings of different names, found two that are called {source}"
            )
        _ = source.recording
    return Suite(
        name="replay",
        text=__doc__,
        rows=(NOTHING, *TARGETS, *KINDS),
        work=Work(touch="none"),
        modes=(StressMode.NONE,),
        probes=("rss", "cpu", "bystander"),
        instead=_check,
        arguments=tuple(str(source.path) for source in sources),
        values={"recording": tuple(sources)} if sources else {},
    )


def _check(runner: SuiteRunner) -> int | None:
    return check(runner) if runner.args.check else None


def main(argv: Sequence[str]) -> int:
    """Exit status as of every suite, see suites.main."""
    first_option = next((i for i, word in enumerate(argv) if word.startswith("-")), len(argv))
    words, options = argv[:first_option], argv[first_option:]
    if not words and not {"-h", "--help"} & set(options):
        return _failed("expected a recording first")
    try:
        suite = suite_of([Source.parse(word) for word in words])
    except (RecordingError, ValueError) as error:
        return _failed(str(error))
    try:
        return run(suite, options)
    except RecordingError as error:
        return _failed(str(error))


def _failed(message: str) -> int:
    print(f"python -m suites.replay: error: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
