"""`python -m results calibrate -n N -- COMMAND`"""

import argparse
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from results.columns import TEXT, joined
from results.compare.wording import percent
from results.errors import ResultsError
from results.files import check_writable, read
from results.gate.noise import LEAST_RUNS, Floors, calibrated
from results.gate.noise_file import write_floors
from results.model import Results

if TYPE_CHECKING:
    from results.commands.arguments import Commands

_FOLDER = Path("results")
_OUTPUTS = ("-o", "--output", "--append")
_PATIENCE_S = 20.0
"""How long a run that was told to end may take for it."""
_DESCRIPTION = """\
Run the same benchmarks several times and write how far each figure moves between the runs: the
noise floors for `gate --noise FILE`. The runs are whole ones, one after the other, so that the runs
of a row lie as far apart in time as the files that the gate will compare. COMMAND takes -o FILE, as
the suites do; it is run N times with a file of its own."""


def add(commands: "Commands") -> None:
    parser = commands.add_parser(
        "calibrate",
        help="measure the noise between equal runs, for the gate",
        usage="%(prog)s [-h] [-n N] [-o FILE] [--force] -- COMMAND ...",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "-n", metavar="N", dest="runs", type=int, default=5, help="how many runs (default: 5)"
    )
    parser.add_argument(
        "-o",
        metavar="FILE",
        dest="output",
        type=Path,
        help="where the floors go (default: results/noise-DATE-TIME.json)",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the file")
    parser.add_argument("command", metavar="COMMAND", nargs=argparse.REMAINDER)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    _check(command, args.runs)
    now = datetime.now().astimezone()
    output = args.output or _default_output(now)
    check_writable(output, args.force)
    with tempfile.TemporaryDirectory(prefix="calibrate-") as folder, _stoppable():
        files = [Path(folder) / f"run-{number + 1}.json" for number in range(args.runs)]
        measured = list(_measured(command, files))
    floors = calibrated(measured, command, now.isoformat(timespec="seconds"))
    write_floors(output, floors, args.force)
    sys.stdout.write(joined(*_summary(floors), [f"Written to {output}"]))
    return 0


def _check(command: Sequence[str], runs: int) -> None:
    if not command:
        raise ResultsError("expected a command after --, as python -m suites.scope_close --quick")
    if runs < LEAST_RUNS:
        raise ResultsError(f"expected -n {LEAST_RUNS} or more, found {runs}")
    for word in command:
        if word.split("=")[0] in _OUTPUTS:
            raise ResultsError(
                f"expected a command without {word}: each run gets a file of its own"
            )


def _default_output(now: datetime) -> Path:
    try:
        _FOLDER.mkdir(exist_ok=True)
    except OSError as error:
        raise ResultsError(
            f"{_FOLDER} can't be made here ({error.strerror}); use -o FILE"
        ) from None
    return _FOLDER / f"noise-{now:%Y%m%d-%H%M%S}.json"


def _measured(command: Sequence[str], files: Sequence[Path]) -> Iterator[Results]:
    for number, file in enumerate(files, 1):
        print(f"calibrate: run {number} of {len(files)}", file=sys.stderr, flush=True)
        status = _run([*command, "-o", str(file)])
        if status:
            raise ResultsError(f"run {number} ended with exit status {status}: {' '.join(command)}")
        if not file.exists():
            raise ResultsError(f"run {number} wrote no file with -o {file}: {' '.join(command)}")
        yield read(file)


def _run(command: Sequence[str]) -> int:
    """The exit status. Its table is not shown; its errors are. It never outlives this process."""
    try:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    except OSError as error:
        raise ResultsError(f"{command[0]}: can't be run: {error.strerror}") from None
    try:
        return child.wait()
    finally:
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


@contextmanager
def _stoppable() -> Iterator[None]:
    """Inside, SIGTERM ends things as Ctrl-C does: the run first, then us, and nothing is left."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _summary(floors: Floors) -> Iterator[list[str]]:
    """A row a metric: the usual and the largest floor of its rows."""
    by_metric: dict[str, dict[str, float]] = {}
    for row, metrics in floors.floors.items():
        for metric, floor in metrics.items():
            if floor.relative is not None:
                by_metric.setdefault(metric, {})[row] = floor.relative
    rows = [["Metric", "Rows", "Median", "Largest", ""]]
    for metric, found in by_metric.items():
        worst = max(found, key=found.__getitem__)
        middle = statistics.median(found.values())
        largest = percent(found[worst]).lstrip("+")
        rows.append([metric, str(len(found)), percent(middle).lstrip("+"), largest, worst])
    yield [f"Largest difference between two of {floors.runs} runs of {floors.processes} processes"]
    yield TEXT.table(rows, (0, 4))
