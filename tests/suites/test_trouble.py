"""When something goes wrong: a clear line, a status other than 0, no file, no process left."""

import os
import pty
import select
import signal
import subprocess
from collections.abc import Iterator

import psutil
import pyperf
import pytest
from pyperf._utils import ReadPipe

from suites.provenance import ROOT
from suites.runner import STOP_SIGNALS, SuiteRunner
from suites.scope_close import SUITE

LONG = ("--only", "^baseline", "--mode", "none", "-p", "20", "--min-time", "30", "-o", "out.json")

DEADLINE_S = 30


class Session:
    """A suite on a terminal, in a process group of its own, once its first worker runs."""

    def __init__(self, process: "subprocess.Popen[bytes]", terminal: int) -> None:
        self.process = process
        self._terminal = terminal
        self.text = ""
        self._read(until="process 1 of")
        self.workers = psutil.Process(process.pid).children(recursive=True)

    def end(self) -> int:
        """Wait for the end and return the exit status."""
        self._read(until=None)
        return self.process.wait(timeout=DEADLINE_S)

    def _read(self, until: str | None) -> None:
        while until is None or until not in self.text:
            ready, _, _ = select.select([self._terminal], [], [], DEADLINE_S)
            assert ready, f"nothing more came in {DEADLINE_S} s after {self.text!r}"
            try:
                chunk = os.read(self._terminal, 4096)
            except OSError:  # what a terminal gives once its other end is closed
                return
            self.text += chunk.decode()


@pytest.fixture
def session(suite) -> Iterator[Session]:
    ours, theirs = pty.openpty()
    process = suite.start(*LONG, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    try:
        yield Session(process, ours)
    finally:
        os.close(ours)
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_manager_and_workers_without_a_file(session, tmp_path, number, status):
    os.killpg(session.process.pid, number)
    assert session.end() == status
    assert len(session.workers) == 1
    assert psutil.wait_procs(session.workers, timeout=10)[1] == []
    assert list(tmp_path.iterdir()) == []
    assert f"stopped by {number.name}; nothing was written" in session.text
    assert "Traceback" not in session.text


def test_a_signal_to_the_manager_alone_ends_the_workers_as_well(session):
    session.process.send_signal(signal.SIGINT)
    assert session.end() == 130
    assert psutil.wait_procs(session.workers, timeout=10)[1] == []


def test_signals_wait_while_the_pipe_from_a_worker_is_opened(monkeypatch):
    waiting = []
    open_text = ReadPipe.open_text

    def noting(pipe):
        waiting.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        return open_text(pipe)

    monkeypatch.setattr(pyperf.Runner, "_created", set())
    monkeypatch.setattr(ReadPipe, "open_text", noting)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    only = ("--only", "^baseline", "--mode", "none", "--debug-single-value", "-q")
    runner = SuiteRunner(SUITE, only)
    runner.run_cell(runner.cells[0])
    assert waiting
    assert all(signals >= STOP_SIGNALS for signals in waiting)


def test_a_worker_that_dies_is_named_with_its_end_and_leaves_no_file(session, tmp_path):
    session.workers[0].kill()
    assert session.end() == 1
    assert (
        "baseline[NONE]: the worker was ended by signal 9 (SIGKILL; the kernel does that when "
        "memory runs out); nothing was written"
    ) in session.text
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_fails_says_why_and_is_named(suite):
    done = suite("--only", "^baseline", "--mode", "none", "--python", "/bin/false", *suite.smallest)
    assert done.returncode == 1
    assert "baseline[NONE]: the worker ended with exit status 1; nothing was" in done.stderr


def test_a_worker_that_says_nothing_is_named(suite):
    done = suite("--only", "^baseline", "--mode", "none", "--python", "/bin/true", *suite.smallest)
    assert done.returncode == 1
    assert "baseline[NONE]: the worker ended without a result" in done.stderr


def test_a_worker_that_takes_too_long_is_ended(suite):
    done = suite("--only", "^base", "--mode", "none", "-p1", "--min-time", "99", "--timeout", "1")
    assert done.returncode == 1
    assert "baseline[NONE]: the worker took longer than the 1 s of --timeout" in done.stderr


def test_a_variable_that_did_not_reach_the_worker_is_an_error(suite):
    worker = ("--worker", "--worker-task=0", "--loops=1", "--warmups=0", "--values=1")
    done = suite("--worker-environ=SCOPES_EXAMPLE=1", *worker, SCOPES_EXAMPLE="2")
    assert done.returncode == 1
    assert (
        "the environment differs: expected ['SCOPES_EXAMPLE=1'], found ['SCOPES_EXAMPLE=2']"
    ) in done.stderr


def test_a_variable_that_was_passed_on_is_read_back(suite):
    worker = ("--worker", "--worker-task=0", "--loops=1", "--warmups=0", "--values=1")
    done = suite("--worker-environ=EXAMPLE=1", *worker)
    assert done.returncode == 1
    assert "the environment differs: expected ['EXAMPLE=1'], found []" in done.stderr


def test_an_allocator_variable_that_nobody_meant_is_an_error(suite):
    worker = ("--worker", "--worker-task=0", "--loops=1", "--warmups=0", "--values=1")
    done = suite(*worker, MALLOC_ARENA_MAX="1")
    assert done.returncode == 1
    assert "the environment differs: expected [], found ['MALLOC_ARENA_MAX=1']" in done.stderr


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("-o", "old.json"), "old.json: exists already; it is not overwritten"),
        (("-o", "no/such.json"), "no/such.json: can't be written: the directory no does not exist"),
        (("--append", "old.json"), "old.json: expected"),
        (("--size", "1024TiB"), "argument --size: expected at most the "),
        (("--mode", "memory", "--heap-objects", "9" * 15), "a heap of 999,999,999,999,999 cont"),
    ],
    ids=["exists", "folder", "append", "size", "heap"],
)
def test_what_can_t_work_is_refused_before_anything_runs(suite, tmp_path, argv, message):
    (tmp_path / "old.json").write_text("{}")
    done = suite(*argv)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["old.json"]
