"""Files with all that a report can show, and one with next to nothing."""

import json

import pytest

from results import pauses, timeline
from results.files import read, write
from results.histogram import Histogram
from results.report.page import page

MIB = 2**20
MODES = ("NONE", "MEMORY", "THREADS")


@pytest.fixture(scope="session", autouse=True)
def _needs_matplotlib():
    pytest.importorskip("matplotlib")


def series(lengths, peak_mib):
    """The metadata of a run with pauses, and with one recording a value."""
    points = [[step / 100, (20 + (peak_mib - 20) * (step % 40) / 40) * MIB] for step in range(100)]
    recordings = [{"taken": 100, "cpu": 0.004, "points": points}] * 3
    entry = {"interval": 0.001, "recordings": recordings}
    return {
        "scopestress_schema": 1,
        pauses.PAUSES_KEY: Histogram.of(lengths).encode(),
        timeline.TIMELINE_KEY: json.dumps(entry),
    }


@pytest.fixture(scope="session")
def write_full(make_score, quiet, thrashing):
    """Writes a file with three rows in three modes; the factor is that of all scores."""

    def write_it(path, factor=1.0, **provenance):
        calls = [[(1e-7 * factor, 100_000), (1e-4, 200), (2e-2, 12)]] * 3
        scores = []
        for mode in MODES:
            for operation, seconds, metrics, lengths, peak in (
                ("baseline", 1e-8, quiet(cpu=1e-8), [], 24),
                ("confined_close", 1e-7, quiet(cpu=9e-8), [], 32),
                ("implicit_close", 2.5e-4, thrashing(), [(2e-5, 900), (4e-2, 3)], 812),
            ):
                scores.append(
                    make_score(
                        f"{operation}[{mode}]",
                        seconds * factor,
                        metrics=metrics,
                        metadata=series(lengths, peak) | provenance,
                        calls=calls,
                    )
                )
        write(path, scores)
        return read(path)

    return write_it


@pytest.fixture(scope="session")
def full(write_full, tmp_path_factory):
    return write_full(tmp_path_factory.mktemp("full") / "full.json")


@pytest.fixture(scope="session")
def two(write_full, tmp_path_factory):
    """The same benchmarks twice: under another policy for huge pages, at half the speed."""
    folder = tmp_path_factory.mktemp("two")
    other = write_full(folder / "b.json", factor=2.0, scopestress_thp="never")
    return [write_full(folder / "a.json"), other]


@pytest.fixture(scope="session")
def full_page(full):
    """Its page, drawn once for all tests that look at it."""
    return page([full])


@pytest.fixture(scope="session")
def two_page(two):
    return page(two)


@pytest.fixture
def plain(tmp_path, make_score):
    """A file of somebody else's benchmarks: no mode, no metric, two processes."""
    write(tmp_path / "plain.json", [make_score("json_dumps", 1e-3, processes=2)])
    return read(tmp_path / "plain.json")
