"""`--report`: a page beside the results, and an error before measuring where there can be none."""

from pathlib import Path

import pytest

import suites

ROOT = Path(suites.__file__).parent.parent

SMALL = ("--only=^(confined|implicit)_close$", "--mode=none", "--report", "--timeline")


def test_a_page_is_written_beside_the_results(suite):
    pytest.importorskip("matplotlib")
    done = suite(*SMALL, *suite.smallest, "-orun.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("Written to run.json\nReport in run.html\n")
    assert "implicit_close" in (suite.folder / "run.html").read_text()


def test_a_page_that_can_not_be_written_is_known_before_measuring(suite):
    pytest.importorskip("matplotlib")
    (suite.folder / "run.html").mkdir()
    done = suite(*SMALL, *suite.smallest, "-orun.json")
    assert done.returncode == 2
    assert "run.html: expected the name of a file, found a directory" in done.stderr
    assert not (suite.folder / "run.json").exists()


def test_without_matplotlib_it_says_what_to_install_before_measuring(suite):
    (suite.folder / "sitecustomize.py").write_text(
        "import importlib.util as util\nreal = util.find_spec\n"
        "util.find_spec = lambda name, *a: None if name == 'matplotlib' else real(name, *a)\n"
    )
    paths = f"{suite.folder}:{ROOT}"
    done = suite(*SMALL, *suite.smallest, "-orun.json", PYTHONPATH=paths)
    assert done.returncode == 2
    assert "charts need matplotlib: pip install 'scopestress[report]'" in done.stderr
    assert not (suite.folder / "run.json").exists()
