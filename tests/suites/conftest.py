"""A suite is run as its users do: as a program of its own, in a directory of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import scopes
import suites

ROOT = Path(suites.__file__).parent.parent


class Program:
    """`python -m suites.NAME` in a directory."""

    smallest = ("--debug-single-value", "--heap-objects", "1000", "--threads", "1")
    """One operation a process, and the least of everything else that costs time."""

    def __init__(self, folder: Path, name: str = "scope_close") -> None:
        self.folder = folder
        self.name = name

    def __call__(self, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run it to its end."""
        return self._with(subprocess.run, arguments, variables, capture_output=True, text=True)

    def start(self, *arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
        return self._with(subprocess.Popen, arguments, {}, **options)

    def _with(self, call: Any, arguments: Any, variables: dict[str, str], **options: Any) -> Any:
        return call(
            [sys.executable, "-m", f"suites.{self.name}", *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
            **options,
        )


@pytest.fixture
def suite(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.fixture(scope="module")
def shared_suite(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """One directory for the tests of a module that look at the same run."""
    return Program(tmp_path_factory.mktemp("run"))


@pytest.fixture(autouse=True)
def budget_of_this_process():
    """Rows that are compiled here may have switched the byte budget off."""
    budget = scopes.statistics().implicit_budget
    yield
    scopes.set_implicit_budget(budget)
