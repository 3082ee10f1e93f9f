"""The plain C parts by their own programs, warnings as errors, under the sanitizers."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "csrc"
SOURCES = Path(__file__).parents[2] / "stress" / "csrc"
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wundef", "-Wshadow", "-Wconversion", "-Werror"]
#: Without address randomisation: older TSan runtimes refuse the layouts of newer kernels.
FIXED_LAYOUT = ["setarch", platform.machine(), "-R"]

pytestmark = pytest.mark.skipif(
    not (shutil.which("cc") and shutil.which("setarch")), reason="needs cc and setarch"
)


@pytest.mark.parametrize(
    ("program", "source", "sanitizers"),
    [
        ("test_pauses.c", "probe_pauses.c", "address,undefined"),
        ("test_counts.c", "probe_counts.c", "address,undefined"),
        ("test_counts.c", "probe_counts.c", "thread"),
        ("test_hdr.c", None, "address,undefined"),
        ("test_ticks.c", "probe_ticks.c", "address,undefined"),
        ("test_resolver.c", "resolver.c", "address,undefined"),
        ("test_replay.c", "replay*.c", "address,undefined"),
        ("test_replay.c", "replay*.c", "thread"),
        ("test_spinners.c", "spinners.c", "address,undefined"),
        ("test_spinners.c", "spinners.c", "thread"),
        ("test_timeline.c", "timeline.c", "address,undefined"),
        ("test_timeline.c", "timeline.c", "thread"),
    ],
)
def test_a_c_program_holds_under_sanitizers(
    tmp_path: Path, program: str, source: str | None, sanitizers: str
) -> None:
    binary = tmp_path / "program"
    options = [*STRICT, "-O1", "-g", "-pthread", f"-I{SOURCES}", f"-I{HERE}"]
    options += [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    sources = [HERE / program, *(SOURCES.glob(source) if source else ())]
    subprocess.run(["cc", *options, *sources, "-o", binary], check=True)
    done = subprocess.run(
        [*FIXED_LAYOUT, str(binary)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
