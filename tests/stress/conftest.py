"""What the tests of stress share."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import stress

ROOT = Path(stress.__file__).parents[1]

#: Seconds after which a condition that must come true counts as one that never will.
PATIENCE = 30.0


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Gives the other threads the core until a condition holds; fails when it never does."""

    def wait(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "the condition never came true"
            os.sched_yield()

    return wait


@pytest.fixture
def thread_ids() -> Callable[[], set[int]]:
    """The kernel's ids of the threads that this process has now."""
    return lambda: {int(name) for name in os.listdir("/proc/self/task")}


@pytest.fixture
def run_python() -> Callable[..., list[str]]:
    """Runs a program in a fresh interpreter and gives the lines it prints."""

    def run(code: str, **variables: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run
