"""`--timeline` and the pauses from end to end: in the file, beside figures that they agree with."""

import pytest

from results.files import read
from results.timeline import MOST_POINTS, cost

ROWS = "^(baseline|implicit_close)$"
OPTIONS = ("--only", ROWS, "-p2", "-n2", "-w1", "--loops=3000", "--mode=none", "--mode=threads")


@pytest.fixture(scope="module")
def rows(shared_suite):
    done = shared_suite(*OPTIONS, "--timeline", "--threads=1", "-orun.json")
    assert done.returncode == 0, done.stderr
    return read(shared_suite.folder / "run.json").rows


def test_every_process_has_a_recording_a_value(rows):
    for row in rows:
        assert [len(timeline.recordings) for timeline in row.timelines] == [2, 2]
        assert cost(row.timelines) > 0
        for timeline in row.timelines:
            assert sum(len(one.points) for one in timeline.recordings) <= MOST_POINTS


def test_no_point_is_above_the_kernels_own_high_water_mark(rows):
    for row in rows:
        peak = max(row.metrics["rss.peak"].values)
        floor = row.metrics["rss.peak"].metric.floor
        for timeline in row.timelines:
            for one in timeline.recordings:
                assert max(rss for _, rss in one.points) <= peak + floor


def test_the_histogram_holds_each_collection_of_the_values_and_none_of_the_warm_ups(rows):
    for row in rows:
        assert row.pauses.count == sum(row.metrics["gc.count"].values)
    assert rows[-1].pauses.count > 0


def test_the_table_says_what_recording_took(rows, shared_suite):
    done = shared_suite("--timeline", "--only=^base", "--mode=none", *shared_suite.smallest)
    assert done.returncode == 0, done.stderr
    assert "timeline: resident memory every 1 ms; that took " in " ".join(done.stdout.split())


def test_without_it_there_is_none(suite):
    done = suite("--only=^base", "--mode=none", *suite.smallest, "-oa.json")
    assert done.returncode == 0, done.stderr
    assert read(suite.folder / "a.json").rows[0].timelines == ()
