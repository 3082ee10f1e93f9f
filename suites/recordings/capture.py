"""Records a program with memray, in a process of its own: the recording is made of what that
leaves, whatever became of it."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from suites import provenance
from suites.recordings import finish
from suites.recordings.format import (
    CAPTURE,
    FORMAT,
    INFO,
    Info,
    NothingRecordedError,
    RecordingError,
)
from suites.recordings.memray_capture import memray
from suites.recordings.writer import make_folder, write_json

CALIBRATION_TIMEOUT_S = 60


@dataclass(frozen=True)
class Recorder:
    """How to record: at most `max_bytes` of memray's capture, `max_operations` of the recording;
    what Python's own allocators hand out, or what they take from the system."""

    max_bytes: int
    max_operations: int | None = None
    python_allocators: bool = True

    def record(self, folder: Path, command: Sequence[str]) -> int:
        """Run a command, a script or -m and a module with arguments, and record it to a new folder.

        Returns the program's exit status, 128 + N where signal N ended it. RecordingError where it
        can't be recorded, before it has begun, or where nothing was, at its end.
        """
        memray()
        _check(command)
        make_folder(folder)
        info: Info = {
            "format": FORMAT,
            "source": "memray",
            "stopped": False,
            "pid": os.getpid(),
            "command": list(command),
            "memray": memray().__version__,
            "fork": "the process itself; not those that it forks or starts",
            "max_bytes": self.max_bytes,
            "max_operations": self.max_operations,
            "provenance": provenance.of_process() | provenance.of_project(),
        }
        write_json(folder / INFO, info)
        status = self._run(folder / CAPTURE, command)
        if status < 0:
            info["truncated"] = f"the process was ended by {signal.Signals(-status).name}"
        info |= {"stopped": True, "exit_status": status, "overhead": self._overhead()}
        write_json(folder / INFO, info)
        try:
            finish.finish(folder)
        except NothingRecordedError:
            shutil.rmtree(folder)
            raise
        return status if status >= 0 else 128 - status

    def _run(self, capture: Path, command: Sequence[str]) -> int:
        options = [str(capture), str(int(self.python_allocators)), str(self.max_bytes)]
        arguments = _python("suites.recordings.tracked", *options, *command)
        with subprocess.Popen(arguments) as process, _left_to(process):
            return process.wait()

    def _overhead(self) -> Info | None:
        """What memray takes for an operation here; None where that can't be found out."""
        arguments = _python("suites.recordings.calibration", str(int(self.python_allocators)))
        try:
            done = subprocess.run(
                arguments, capture_output=True, check=True, timeout=CALIBRATION_TIMEOUT_S
            )
            return {
                "ns_per_operation": float(done.stdout),
                "how": "bytes objects made and dropped, with memray and without, afterwards",
            }
        except (OSError, ValueError, subprocess.SubprocessError):
            return None


def _python(module: str, *arguments: str) -> list[str]:
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *flags, "-m", module, *arguments]


def _check(command: Sequence[str]) -> None:
    if not command or list(command) == ["-m"]:
        raise RecordingError("expected a script, or -m and a module, found nothing to run")
    if command[0] != "-m" and not Path(command[0]).exists():
        raise RecordingError(f"{command[0]}: expected a script of Python, found no such file")


@contextmanager
def _left_to(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Signals are the recorded process's business; this one waits for what it makes of them.

    Ctrl-C reaches both by the terminal. What is sent to this process alone is handed on.
    """

    def hand_on(number: int, _: FrameType | None) -> None:
        if number != signal.SIGINT:
            process.send_signal(number)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, hand_on) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
