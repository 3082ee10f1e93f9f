"""From the command line of a suite to its table.

Exit status: 0 done, 1 a worker or the writing failed, 2 bad input, 128 + N stopped by signal N
(130 for Ctrl-C).
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import indent
from types import FrameType
from typing import TYPE_CHECKING

import psutil
import pyperf

from stress.modes import StressError
from stress.probes import PROBES
from suites import provenance
from suites.allocators import AllocatorError
from suites.cells import Suite
from suites.rows import loop_source
from suites.runner import STOP_SIGNALS, SuiteRunner, WorkerError

if TYPE_CHECKING:
    from suites.output import Destination


class Stopped(KeyboardInterrupt):
    """A signal that asks us to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def run(suite: Suite, argv: Sequence[str] | None = None) -> int:
    """Run a suite as its command line asks and return the exit status of the process."""
    runner = SuiteRunner(suite, argv)
    if runner.args.worker:
        return _worker(runner)
    try:
        status = _run(runner, suite)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain again on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def _run(runner: SuiteRunner, suite: Suite) -> int:
    if "list" in runner.probes:
        _list_probes()
        return 0
    if runner.args.list:
        _list_cells(runner)
        return 0
    return _manage(runner, suite)


def _worker(runner: SuiteRunner) -> int:
    try:
        runner.run_worker()
    except (WorkerError, StressError, ImportError) as error:
        print(f"{runner.argparser.prog}: worker: {error}", file=sys.stderr)
        return 1
    return 0


def _list_probes() -> None:
    width = max(map(len, PROBES))
    for name, probe in PROBES.items():
        print(f"{name:<{width}}  {probe.summary}")


def _list_cells(runner: SuiteRunner) -> None:
    width = max(len(cell.name) for cell in runner.cells)
    for cell in runner.cells:
        print(f"{cell.name:<{width}}  {cell.row.summary}")
        if runner.args.verbose:
            print(indent(loop_source(cell.row, cell.work, cell.sampled), "    "))


def _manage(runner: SuiteRunner, suite: Suite) -> int:
    # Imported here: workers pass through this module and need none of it.
    from results.errors import ResultsError
    from suites.output import Destination

    def failed(message: str, status: int) -> int:
        print(f"{runner.argparser.prog}: error: {message}", file=sys.stderr)
        return status

    destination = Destination.chosen(suite.name, runner.output, runner.append)
    try:
        _check(runner)
        status = suite.instead(runner) if suite.instead else None
        if status is not None:
            return status
        destination.check()
        if runner.args.report:
            _check_report(destination)
    except (AllocatorError, ResultsError, StressError, ValueError) as error:
        return failed(str(error), 2)
    try:
        with _stoppable():
            destination = _save(destination, suite, _measure(runner))
        _show(destination)
        if runner.args.report:
            _report(destination)
    except WorkerError as error:
        return failed(f"{error}; nothing was written", 1)
    except ResultsError as error:
        return failed(str(error), 1)
    except Stopped as stop:
        return failed(f"stopped by {stop}; nothing was written", 128 + stop.number)
    return 0


def _check(runner: SuiteRunner) -> None:
    """Refuse what can't work before anything runs, and say what is worth knowing."""
    available = psutil.virtual_memory().available
    for cell in runner.cells:
        if cell.row.sized and cell.work.size > available:
            raise ValueError(
                f"argument --size: expected at most the {available} bytes of memory that are "
                f"available, found {cell.work.size}"
            )
    stresses = dict.fromkeys((cell.mode, cell.stress) for cell in runner.cells)
    for mode, stress in stresses:
        stress.check(mode)
    for note in dict.fromkeys(stress.note(mode) for mode, stress in stresses):
        if note:
            print(note, file=sys.stderr)
    for allocator in dict.fromkeys(cell.allocator for cell in runner.cells):
        allocator.check(runner.args.python)
    for row, reason in runner.left_out.items():
        print(f"{row.name} is left out: it {reason}", file=sys.stderr)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Inside, signals that ask us to end raise Stopped, so that the worker is ended as well."""

    def stop(number: int, _: FrameType | None) -> None:
        raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _measure(runner: SuiteRunner) -> list[pyperf.Benchmark]:
    """All cells, with the progress line where there is a terminal to show it."""
    from suites.bystanders import with_slowdowns
    from suites.output import Progress

    progress = None
    if sys.stderr.isatty() and not (runner.args.verbose or runner.args.quiet or runner.shows_runs):
        progress = runner.watcher = Progress(runner)
    project = provenance.of_project()
    benchmarks = []
    try:
        for cell in runner.cells:
            benchmark = runner.run_cell(cell)
            benchmark.update_metadata(project)
            benchmarks.append(benchmark)
    finally:
        if progress:
            progress.clear()
    return with_slowdowns(runner.cells, benchmarks)


def _save(
    destination: "Destination", suite: Suite, benchmarks: list[pyperf.Benchmark]
) -> "Destination":
    """Write the file and return where it is: in one of its own if --append finds it does not fit.

    Whether runs go together is known only now, and nobody should lose them for that.
    """
    from results.errors import ResultsError

    try:
        destination.save(benchmarks)
        return destination
    except ResultsError as error:
        if not destination.append:
            raise
        print(f"{error}; the file is as it was", file=sys.stderr)
    elsewhere = destination.dated(suite.name)
    elsewhere.check()
    elsewhere.save(benchmarks)
    return elsewhere


def _show(destination: "Destination") -> None:
    from results.files import read
    from results.show import show
    from suites.output import wants_colour

    # A terminal that lacks the plus-minus sign gets a question mark and not a traceback.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    show(read(destination.path), sys.stdout, colour=wants_colour(sys.stdout))
    print(f"\nWritten to {destination.path}")


def _check_report(destination: "Destination") -> None:
    """ResultsError if there could be no page, before an hour of measuring."""
    from results.report.write import check_report

    check_report(destination.report)


def _report(destination: "Destination") -> None:
    from results.files import read
    from results.report.write import write_report

    write_report(destination.report, [read(destination.path)])
    print(f"Report in {destination.report}")
