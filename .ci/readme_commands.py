"""Runs each command of the shell blocks of README and docs in the checkout, in its environment.

`make bench` runs like the others; `make test` is left to .ci/run, which ends with it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = ("make test",)
PAGES = ("README.md", "docs/hooks.md", "docs/replay.md")


def commands(text: str) -> list[str]:
    """The lines of all ```sh blocks, without comments and with continued lines joined."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line.split("  #")[0].strip() for line in lines if line.strip()]


def main() -> int:
    environment = dict(os.environ)
    environment["PATH"] = f"{ROOT / '.venv' / 'bin'}:{environment['PATH']}"
    found = {page: commands((ROOT / page).read_text()) for page in PAGES}
    empty = [page for page, lines in found.items() if not lines]
    if empty:
        print(f"no shell block with commands in {', '.join(empty)}")
        return 1
    for command in (line for lines in found.values() for line in lines):
        if command in LEFT_OUT:
            continue
        print(f"--- {command}", flush=True)
        start = time.monotonic()
        status = subprocess.run(command, shell=True, cwd=ROOT, env=environment, check=False)
        print(f"--- took {time.monotonic() - start:.1f} s", flush=True)
        if status.returncode != 0:
            print(f"exit status {status.returncode}: {command}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
