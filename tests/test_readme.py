"""The README's Python is run, each block in a process of its own; CI runs its shell commands."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def test_the_python_of_the_readme_runs_and_says_what_it_should():
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    said = [
        subprocess.run(
            [sys.executable, "-c", block], check=True, capture_output=True, text=True
        ).stdout
        for block in blocks
    ]
    library, budget = said
    assert re.fullmatch(r"handles released\nthe confined scope at 0x[0-9a-f]+ is closed\n", library)
    assert budget == "True\n"
