"""The README's Python is run; CI runs its shell commands."""

import re
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def test_the_python_of_the_readme_runs_and_says_what_it_should(capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    assert blocks
    for block in blocks:
        exec(compile(block, str(README), "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "handles released"
    assert re.fullmatch(r"the confined scope at 0x[0-9a-f]+ is closed", lines[1])
