"""The recorded process, as capture.py starts it.

Imports little, so that what the program imports is imported by it, and recorded.
"""

import atexit
import fcntl
import os
import runpy
import sys
from _thread import allocate_lock, start_new_thread
from time import sleep

import memray

WATCH_S = 0.05
"""Between two looks at the size of the capture."""
LEAST_FREE = 64 << 20
"""Bytes of the disk that are left to the program, and a fifth of the capture, which grows by a
tenth."""


class Tracking:
    """All that is allocated goes to the capture, until the process ends or there is no room."""

    def __init__(self, capture: str, python_allocators: bool, max_bytes: int) -> None:
        # Not compressed: it is read once, and then it goes.
        destination = memray.FileDestination(capture, compress_on_exit=False)
        self._tracker = memray.Tracker(
            destination=destination, trace_python_allocators=python_allocators, follow_fork=False
        )
        self._capture = capture
        self._max_bytes = max_bytes
        self._pid = os.getpid()
        self._ending = allocate_lock()
        self._watching = allocate_lock()
        # Readers see by the lock that the capture is still growing; it ends with the process.
        self._file = open(capture, "rb+")  # noqa: SIM115
        fcntl.lockf(self._file, fcntl.LOCK_EX)

    def start(self) -> None:
        self._tracker.__enter__()
        # The first that is registered is called last: threads have ended, handlers were recorded.
        atexit.register(self.stop)
        # The reader of the capture knows the watch as the second thread that it sees.
        self._watching.acquire()
        start_new_thread(self._watch, ())
        self._watching.acquire()

    def stop(self) -> None:
        """End it, once; not in a child of fork, which memray does not record."""
        if os.getpid() == self._pid and self._ending.acquire(blocking=False):
            self._tracker.__exit__(None, None, None)

    def _watch(self) -> None:
        seen = bytearray(1000)  # by memray
        self._watching.release()
        while not self._ending.locked():
            why = self._why_full()
            if why:
                self.stop()
                with open(self._capture + ".truncated", "w") as file:
                    file.write(why)
            sleep(WATCH_S)
        del seen

    def _why_full(self) -> str:
        size = os.fstat(self._file.fileno()).st_size
        if size > self._max_bytes:
            return f"max_bytes={self._max_bytes} was reached"
        disk = os.fstatvfs(self._file.fileno())
        if disk.f_bavail * disk.f_frsize < LEAST_FREE + size // 5:
            return "the disk is nearly full"
        return ""


def run(command: list[str]) -> None:
    """Run a program as Python would: a script, or `-m module`."""
    is_module = command[0] == "-m"
    sys.argv = command[1:] if is_module else command
    if not sys.flags.safe_path:
        script = os.path.realpath(command[0])
        sys.path[0] = os.getcwd() if is_module else os.path.dirname(script)
    if is_module:
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(command[0], run_name="__main__")


def main() -> None:
    capture, python_allocators, max_bytes, *command = sys.argv[1:]
    tracking = Tracking(capture, python_allocators == "1", int(max_bytes))
    tracking.start()
    run(command)


if __name__ == "__main__":
    main()
