"""pyperf: the only file that knows its inside.

A suite runs twice. The manager walks the cells and starts workers; every worker is the same program
with the same options, walks the same cells and stops at the one it was started for. What is changed
of pyperf, and why:

- Options are sorted, some refused (options.py), and -o and --append are kept from it: pyperf writes
  after each benchmark and leaves a partial file when it is interrupted.
- A worker's run carries tags, metrics and provenance in its metadata, and the peak RSS of the whole
  process: the kernel's own mark was reset by the rss probe.
- A worker that fails is reported with the benchmark and how it ended; a worker never sees Ctrl-C,
  the manager ends it.
- Values in THREADS are meant to last at least 0.5 s, and values of rows that rely on the collector
  long enough for it to run.
"""

import argparse
import gc
import importlib.util
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import pyperf
from pyperf._bench import _load_suite_from_pipe
from pyperf._manager import EXIT_TIMEOUT, Manager
from pyperf._utils import create_environ, create_pipe, popen_killer
from pyperf._worker import WorkerProcessTask

from results import pauses, samples, schema, timeline
from results.histogram import Histogram
from stress import sampler
from stress.modes import StressMode
from stress.timeline import decimated
from suites import options, provenance
from suites.cells import Cell, Suite
from suites.measure import CALIBRATION_COLLECT_SHARE, Measurement
from suites.readback import chosen_environ, environ_mismatch, found_here
from suites.rows import OWN, Row

THREADS_MIN_TIME_S = 0.75
"""A busy thread keeps the GIL for 5 ms at a time, and values of less than 0.5 s measure how the
turns fell. The same loops take a third more or less from one value to the next, hence the rest."""

# The error column comes from process means, so more processes are worth more than more values.
# Without a warm-up the first garbage goes to fresh pages: rows that pile up memory read 5 to 10 %
# higher, the others the same.
USUAL = {"processes": 6, "values": 3, "warmups": 1, "min_time": 0.1}
QUICK = {"processes": 4, "values": 1, "warmups": 0, "min_time": 0.1}


OWN_HOOKS = "scopestress_"
"""How the names of our hooks for pyperf begin."""


class WorkerError(Exception):
    """A worker did not deliver a result; the text says how it ended."""


class CellTask(WorkerProcessTask):  # type: ignore[misc]
    """In a worker: one cell, from the stress being set up to the metadata of the run."""

    loops: int

    def __init__(self, runner: "SuiteRunner", cell: Cell) -> None:
        super().__init__(runner, cell.name, self._value, None)
        self._cell = cell
        self._runner = runner
        if cell.operations_per_loop > 1:
            self.inner_loops = cell.operations_per_loop
        self._measurement: Measurement

    def compute(self) -> None:
        calibrating = self.args.calibrate_loops or self.args.recalibrate_loops
        collect_above = self.args.min_time * CALIBRATION_COLLECT_SHARE if calibrating else None
        with Measurement(
            self._cell, self._runner.probes, collect_above, self.args.timeline
        ) as self._measurement:
            super().compute()

    def _value(self, _: WorkerProcessTask, loops: int) -> float:
        return self._measurement.value(loops)

    def calibrate_loops(self) -> None:
        # pyperf would take as many values at the final number of loops as a run has.
        self.args.warmups, self.args.values = 0, 1
        super().calibrate_loops()
        if self._cell.row.cyclic and not self.args.recalibrate_loops:
            # The collector runs once in so many new objects; a value without a run would show
            # the making of garbage and not the price of it.
            self.loops = max(self.loops, 2 * gc.get_threshold()[0])
            self.metadata["calibrate_loops"] = self.loops

    def collect_metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = super().collect_metadata()
        metadata.update(provenance.of_process())
        metadata.update(self._cell_metadata())
        if self.values:
            metrics = self._measurement.metrics(len(self.values))
            metadata[schema.METRICS_KEY] = json.dumps(metrics, allow_nan=False)
            metadata.update(self._samples())
            metadata.update(self._pauses())
            metadata.update(self._timeline())
        peak = self._measurement.process_peak_rss()
        if peak is not None:
            metadata["mem_max_rss"] = peak
        return metadata

    def _samples(self) -> dict[str, str]:
        """The single calls of this run's values, where they were timed, and by which clock."""
        calls = self._measurement.samples(len(self.values))
        if calls is None:
            return {}
        clock = sampler.system_clock()
        entry = {
            "overhead": self._measurement.sample_overhead_s(),
            "floor": clock.resolution_s,
            "histogram": Histogram.of(calls).encode(),
        }
        return {samples.SAMPLES_KEY: json.dumps(entry), samples.CLOCK_KEY: str(clock)}

    def _pauses(self) -> dict[str, str]:
        """The collector's pauses within this run's values, where they were looked at."""
        found = self._measurement.pauses(len(self.values))
        return {} if found is None else {pauses.PAUSES_KEY: Histogram.of(found).encode()}

    def _timeline(self) -> dict[str, str]:
        """The resident memory over time in this run's values, and what it took to record it."""
        recorder = self._measurement.timeline
        if recorder is None:
            return {}
        recordings = self._measurement.recordings(len(self.values))
        most = max(timeline.MOST_POINTS // len(recordings), timeline.LEAST_POINTS)
        entry = timeline.entry(
            recorder.interval_s,
            [(decimated(one.points, most), one.taken, one.cpu_s) for one in recordings],
        )
        return {timeline.TIMELINE_KEY: json.dumps(entry)}

    def _cell_metadata(self) -> dict[str, Any]:
        """What every run must carry, the calibration run too: one without drops it for pyperf."""
        work, prefix = self._cell.work, provenance.PREFIX
        stress = {name: getattr(self._cell.stress, name) for name in self._cell.stress_options}
        return {
            "tags": [schema.SCORE],
            schema.SCHEMA_KEY: schema.SCHEMA,
            schema.PARAMS_KEY: json.dumps(self._cell.all_params),
            schema.THREADS_KEY: work.threads_measured,
            f"{prefix}probes": ",".join(self._runner.probes),
            f"{prefix}touch": work.touch,
            **{prefix + name: value for name, value in stress.items()},
            **{prefix + name: value for name, value in self._cell.replay.facts().items()},
        }


class WorkerManager(Manager):  # type: ignore[misc]
    """In the manager: the workers of one cell."""

    def __init__(self, runner: "SuiteRunner", cell: Cell) -> None:
        super().__init__(runner)
        self._watcher = runner.watcher
        self._name = cell.name
        self._environ = runner.environ(cell)

    def display_run(self, bench: pyperf.Benchmark, run: pyperf.Run) -> None:
        self._watcher.worker_done()
        if self.args.verbose:
            super().display_run(bench, run)

    def spawn_worker(self, calibrate_loops: int, calibrate_warmups: int) -> pyperf.BenchmarkSuite:
        """As pyperf's, but that the worker is not reached by Ctrl-C and its end is told apart."""
        reader, writer = create_pipe()
        with reader:
            # What is blocked here stays blocked in the worker, and no signal can come between its
            # start and the block that ends it.
            unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
            try:
                # In here, too, for a signal within open() would have the pipe closed twice.
                stream = reader.open_text() if self.args.timeout is None else None
                with writer:
                    command = self.worker_cmd(
                        calibrate_loops, calibrate_warmups, writer.to_subprocess()
                    )
                    process = subprocess.Popen(command, env=self._environ, pass_fds=[writer.fd])
                with popen_killer(process):
                    signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
                    return self._result(process, reader, stream)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)

    def _result(
        self, process: "subprocess.Popen[bytes]", reader: Any, stream: TextIO | None
    ) -> pyperf.BenchmarkSuite:
        self._watcher.worker_started()
        try:
            text = stream.read() if stream else reader.read_text(timeout=self.args.timeout)
            status = process.wait(timeout=EXIT_TIMEOUT)
        except TimeoutError:
            raise WorkerError(f"took longer than the {self.args.timeout} s of --timeout") from None
        except subprocess.TimeoutExpired:
            raise WorkerError(f"sent its result and did not end within {EXIT_TIMEOUT} s") from None
        if status:
            raise WorkerError(_ending(status))
        suite = _load_suite_from_pipe(text)
        if suite is None:
            raise WorkerError("ended without a result")
        found = suite.get_benchmark_names()
        if found != [self._name]:
            raise WorkerError(f"ran {found} in place of {self._name!r}")
        return suite


def _ending(status: int) -> str:
    """How a process ended, from Popen's return code."""
    if status > 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "unknown"
    hint = "; the kernel does that when memory runs out" if -status == signal.SIGKILL else ""
    return f"was ended by signal {-status} ({name}{hint})"


def _nothing(args: argparse.Namespace) -> str:
    """What to say where no cell is left."""
    chosen = "--only" if args.only else "what was chosen"
    return f"nothing matches {chosen}; --list without it prints what there is"


def _work_of(cell: Cell) -> object:
    """What has to be alike for cells to do the same but for the stress."""
    return cell.row, cell.work, cell.allocator, cell.replay, cell.under


STOP_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class Watcher:
    """Is told what goes on in the manager; does nothing with it."""

    def cell_started(self, cell: Cell) -> None: ...

    def worker_started(self) -> None: ...

    def worker_done(self) -> None: ...


class SuiteRunner(pyperf.Runner):  # type: ignore[misc]
    """Runs the cells of a suite; one a process, as pyperf wants it."""

    def __init__(self, suite: Suite, argv: Sequence[str] | None = None) -> None:
        parser = options.build_parser(suite)
        super().__init__(
            **(QUICK if options.is_quick(argv) else USUAL),
            program_args=("-m", f"suites.{suite.name}", *suite.arguments),
            add_cmdline_args=options.forward,
            _argparser=options.PyperfOptions(parser),
        )
        self.argparser = parser
        self.words: Sequence[str] = (*suite.arguments, *(sys.argv[1:] if argv is None else argv))
        """The command line."""
        self.watcher = Watcher()
        self._loops_in_none: dict[object, int] = {}
        self._parse(argv)
        self.selection = options.select(parser, self.args, suite)
        cells = self.selection.cells(suite)
        if not cells:
            parser.error(_nothing(self.args))
        self._check_sweeps(cells)
        reasons = {cell.row: self._why_left_out(cell.row) for cell in cells}
        self.left_out = {row: reason for row, reason in reasons.items() if reason}
        self.cells = [cell for cell in cells if cell.row not in self.left_out]
        self.probes = tuple(dict.fromkeys(self.args.probe or suite.probes))
        if not self.cells:
            parser.error("; ".join(f"{row.name} {why}" for row, why in self.left_out.items()))

    def _check_sweeps(self, cells: Sequence[Cell]) -> None:
        """A --param that changes nothing is a mistake that an hour of measuring would not show."""
        for sweep in self.args.param or ():
            parameter = sweep.parameter
            if not any(parameter.matters(cell.row, cell.mode) for cell in cells):
                self.argparser.error(
                    f"argument --param: {parameter.name} has no effect on any benchmark that is"
                    " selected"
                )

    def _why_left_out(self, row: Row) -> str:
        """Why a row can't be run as it is asked for; empty where it can."""
        if row.requires and importlib.util.find_spec(row.requires) is None:
            return f"needs {row.requires}, which is not installed"
        if row.sharing is None and OWN not in self.selection.values.get("scope", (OWN,)):
            return "can't share a scope between threads"
        return ""

    def _parse(self, argv: Sequence[str] | None) -> None:
        args = self.argparser.parse_args(argv)
        if args.output and args.append:
            self.argparser.error("-o writes a new file, --append adds to one: give one of them")
        for hook in args.hook or ():
            if hook.startswith(OWN_HOOKS):
                self.argparser.error(
                    f"--hook {hook} is for benchmarks of others; a suite has the same figures by"
                    f" --probe {hook.removeprefix(OWN_HOOKS)}"
                )
        self.output, self.append = args.output, args.append
        args.output = args.append = None
        self._set_args(args)
        if args.worker:
            # Blocked by the manager while it started us. SIGINT stays blocked.
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS - {signal.SIGINT})
            return
        args.inherit_environ = [*(args.inherit_environ or ()), *chosen_environ()]

    def environ(self, cell: Cell) -> dict[str, str]:
        """In the manager: the variables of a worker for that cell."""
        args = self.args
        passed = create_environ(args.inherit_environ, args.locale, args.copy_env)
        return {**passed, **cell.allocator.environ()}

    def chosen_environ(self, cell: Cell) -> list[str]:
        """Those of them that it has to read back, as NAME=VALUE."""
        environ = self.environ(cell)
        chosen = {*(self.args.inherit_environ or ()), *cell.allocator.environ()}
        return [f"{name}={environ[name]}" for name in chosen if name in environ]

    def run_worker(self) -> None:
        """Run the cell this worker was started for; its number is --worker-task.

        WorkerError unless variables and allocators are those it was meant to get.
        """
        cell = self.cells[self.args.worker_task]
        mismatch = environ_mismatch(self.args.worker_environ or ()) or cell.allocator.mismatch(
            found_here()
        )
        if mismatch:
            raise WorkerError(mismatch)
        self._worker(CellTask(self, cell))

    @property
    def workers_per_cell(self) -> int:
        """Processes a benchmark takes, with the one that calibrates."""
        return int(self.args.processes) + (0 if self.args.loops else 1)

    def expected_s(self, cell: Cell) -> float:
        """A guess at how long a cell takes: the time left is worked out from these."""
        values = self.args.warmups + self.args.values
        startup = 0.8 if cell.mode is StressMode.MEMORY else 0.2
        return float(self.workers_per_cell * (startup + values * 1.5 * self.min_time_s(cell)))

    def min_time_s(self, cell: Cell) -> float:
        """The least duration of a value, in seconds: pyperf doubles the loops up to it."""
        least = self.args.min_time
        if cell.mode is StressMode.THREADS and not self.args.debug_single_value:
            return float(max(least, THREADS_MIN_TIME_S))
        return float(least)

    def run_cell(self, cell: Cell) -> pyperf.Benchmark:
        """All the workers of one cell; WorkerError when one fails."""
        self.watcher.cell_started(cell)
        args = self.args
        before = args.min_time, args.loops
        args.min_time, args.loops = self.min_time_s(cell), args.loops or self._known_loops(cell)
        args.worker_environ = self.chosen_environ(cell)
        try:
            bench = WorkerManager(self, cell).create_bench()
        except WorkerError as error:
            raise WorkerError(f"{cell.name}: the worker {error}") from None
        finally:
            args.min_time, args.loops = before
        if cell.mode is StressMode.NONE:
            loops = bench.get_runs()[-1].get_loops()
            self._loops_in_none[_work_of(cell)] = loops
        self._worker_task += 1
        if self.shows_runs and not args.quiet:
            self._display_result(bench)
        return bench

    def _known_loops(self, cell: Cell) -> int:
        """The loops of a value where they need no calibration; 0 where they do.

        A heap that lies there makes full collections dear and leaves the rest as it is.
        """
        if cell.mode is StressMode.MEMORY and not cell.row.periodic:
            return self._loops_in_none.get(_work_of(cell), 0)
        return 0

    @property
    def shows_runs(self) -> bool:
        """Whether pyperf's own text for each benchmark is asked for (-v, --dump, --stats ...)."""
        return bool(self._multiline_output())
