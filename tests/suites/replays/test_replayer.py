"""A cell's recording in this process: what is timed, what is not, and what is told beside it."""

import pytest

pytest.importorskip("stress._native")

from stress.modes import StressMode
from suites.cells import Cell
from suites.measure import Measurement
from suites.recordings.loader import load
from suites.recordings.synthetic import Hot, ScopeLives
from suites.replays import replayer, survey
from suites.replays.options import ReplayOptions, Source
from suites.replays.replayer import Replayer
from suites.replays.survey import Survey, SurveyError
from suites.replays.targets import BY_NAME
from suites.rows import Work


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recordings")
    Hot(6_000, live=2_000, threads=2, crossing=0.1, regrown=0.1).write(folder / "hot")
    ScopeLives(200, segments=2, size=4096).write(folder / "lives")
    return folder


@pytest.fixture
def cell(folder):
    def make(row, recording="hot", **options):
        cell = {name: options.pop(name) for name in ("sampled", "under") if name in options}
        replay = ReplayOptions(Source(folder / recording), **options)
        work = Work(touch="none")
        return Cell(BY_NAME[row], StressMode.NONE, work, usual=work, replay=replay, **cell)

    return make


@pytest.fixture
def replays():
    """Replayers, which are closed at the end."""
    made = []

    def make(cell, measured=False):
        made.append(Replayer(cell, measured))
        return made[-1]

    yield make
    for one in made:
        one.close()


def turns(replay, count=1):
    replay.start()
    replay.prepare(count)
    return replay.run()


@pytest.mark.parametrize("row", ["baseline", "malloc", "arena", "pymalloc"])
def test_a_recording_in_blocks_is_replayed_as_one_that_is_kept(cell, replays, monkeypatch, row):
    assert turns(replays(cell(row)), 2) > 0
    monkeypatch.setattr(replayer, "KEPT", 0)
    monkeypatch.setattr(replayer, "BLOCK", 500)
    in_blocks = replays(cell(row))
    assert turns(in_blocks, 2) > 0
    assert in_blocks.beside_ns() > 0


def test_planning_between_the_blocks_is_no_cpu_time_of_the_score(cell, monkeypatch):
    monkeypatch.setattr(replayer, "KEPT", 0)
    monkeypatch.setattr(replayer, "BLOCK", 50)
    with Measurement(cell("baseline", replay_threads="merged"), ("cpu",)) as measurement:
        measurement.value(5)
        metrics = measurement.metrics(1)
    operations = 5 * len(load(cell("baseline").replay.recording.path).operations)
    scored = metrics["score.cpu"]["values"][0] * operations
    process = metrics["cpu.norm"]["values"][0] * operations
    assert scored < process / 2


def test_only_values_that_count_are_surveyed(cell, replays):
    assert replays(cell("malloc"), measured=False).probes == ()
    (make,) = replays(cell("malloc"), measured=True).probes
    figures = make().figures(1.0, 1_000_000)
    assert figures["driver.share"] > 0
    assert figures["mapped.peak"] > 0


def test_nothing_has_no_memory_to_look_at(cell, replays):
    assert replays(cell("baseline"), measured=True).probes == ()


def test_single_operations_are_timed_in_all_threads(cell, replays):
    replay = replays(cell("malloc", sampled=True), measured=True)
    turns(replay, 3)
    operations = len(load(cell("malloc").replay.recording.path).operations)
    assert sum(count for _, count in replay.take()) == 3 * operations
    assert replay.sample_overhead_s() >= 0


def test_threads_are_the_recorded_ones_or_one(cell, replays):
    assert len(replays(cell("malloc")).start()) == 2
    assert replays(cell("malloc", replay_threads="merged")).start() == ()
    assert replays(cell("pymalloc")).start() == ()


# ---- the survey ----------------------------------------------------------------------------------


def test_a_map_an_object_is_as_many_pages_as_the_objects_need(folder, cell):
    # At the peak of one life two segments of 4,096 bytes are live.
    found = survey.survey(cell("mmap", "lives"), load(folder / "lives"), peak_at=3)
    assert (found.live, found.mapped) == (8192, 2 * max(survey.PAGE_BYTES, 4096))


def test_a_packed_recording_is_surveyed_as_its_folder(folder, cell):
    from suites.recordings.packed import pack

    pack(load(folder / "lives"), folder / "lives.tar.xz")
    found = [
        survey.survey(cell("mmap", name), load(folder / name), peak_at=3)
        for name in ("lives", "lives.tar.xz")
    ]
    assert (found[0].live, found[0].mapped) == (found[1].live, found[1].mapped)


@pytest.mark.parametrize("row", ["malloc", "arena", "pymalloc", "confined", "implicit+budget"])
def test_what_is_live_at_the_peak_is_known_in_each_row(folder, cell, row):
    found = survey.survey(cell(row, "lives"), load(folder / "lives"), peak_at=3)
    assert found.live == 8192
    assert found.mapped >= 0


def test_a_watcher_is_on_in_the_survey(folder, cell):
    found = survey.survey(
        cell("pymalloc", "hot", under="tracemalloc"), load(folder / "hot"), peak_at=2_000
    )
    plain = survey.survey(cell("pymalloc", "hot"), load(folder / "hot"), peak_at=2_000)
    assert found.mapped > plain.mapped


def test_a_survey_that_fails_says_why(folder, cell):
    with pytest.raises(SurveyError, match=r"looks at the memory failed: .*nowhere"):
        survey.survey(cell("malloc"), _moved(load(folder / "hot")), peak_at=5)


def _moved(recording):
    """A folder that is there when it is asked for, and gone for the process that reads it."""

    class Gone(type(recording.path)):
        def is_dir(self):
            return True

    from dataclasses import replace

    return replace(recording, path=Gone("/nowhere"))


@pytest.mark.parametrize(
    ("found", "overhead", "fragmentation"),
    [
        (Survey(live=4 << 20, mapped=6 << 20, resident=5 << 20), 0.5, 0.2),
        (Survey(live=4 << 20, mapped=3 << 20, resident=2 << 20), -0.25, 0.0),
        (Survey(live=4 << 20, mapped=0, resident=0), -1.0, None),
        (Survey(live=1000, mapped=8192, resident=8192), None, None),
    ],
)
def test_shares_are_of_what_was_live(found, overhead, fragmentation):
    assert found.overhead == overhead
    assert found.fragmentation == pytest.approx(fragmentation)
