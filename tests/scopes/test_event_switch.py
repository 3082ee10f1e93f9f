"""What the switch of the events costs while nobody records."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "event_switch.py"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="an atomic switch is loaded first"
)
def test_an_event_that_nobody_records_costs_two_instructions_at_most():
    done = subprocess.run(
        [sys.executable, SCRIPT, "--short"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "life" in done.stdout
