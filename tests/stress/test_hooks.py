"""The probes as hooks of pyperf: what they write, when, and that they never end somebody's run."""

import gc
import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from results import schema
from results.files import read
from stress.probes import PROBES, hooks
from stress.probes.hooks import CPUHook, GCHook, NativeHook, RSSHook

ROOT = Path(__file__).parents[2]
#: Probes that mean something in our suites alone.
NOT_FOR_OTHERS = {"alloc-live", "bystander"}


def one_round(kinds, *values, metadata=None):
    """What pyperf does with hooks for the warm-ups, or for the values: one body for each value."""
    metadata = {} if metadata is None else metadata
    made = [kind() for kind in kinds]
    for value in values:
        for hook in made:
            hook.__enter__()
        value()
        for hook in reversed(made):
            hook.__exit__(None, None, None)
    for hook in made:
        hook.teardown(metadata)
    return metadata


def records(metadata, probe):
    return json.loads(metadata[f"scopestress_metrics.{probe}"])


def nothing():
    pass


@pytest.fixture(autouse=True)
def own_round(monkeypatch):
    """No round is left to join from a test before."""
    monkeypatch.setattr(hooks.Round, "latest", None)


def test_every_probe_has_a_hook_of_its_name():
    found = {
        point.name: point.load().probe
        for point in entry_points(group="pyperf.hook")
        if point.name.startswith("scopestress_")
    }
    assert found == {f"scopestress_{name}": name for name in PROBES if name not in NOT_FOR_OTHERS}


def test_the_keys_are_those_that_readers_know():
    assert (hooks.SCHEMA_KEY, hooks.SCHEMA) == (schema.SCHEMA_KEY, schema.SCHEMA)
    assert hooks.METRICS_KEY == schema.METRICS_KEY


def test_a_hook_writes_a_figure_for_each_value():
    metadata = one_round([GCHook], nothing, lambda: (gc.collect(), gc.collect()), gc.collect)
    assert records(metadata, "gc")["gc.count"]["values"] == [0, 2, 1]
    assert metadata["scopestress_schema"] == 1


def test_warm_ups_are_overwritten_by_the_values():
    metadata = {}
    one_round([GCHook], *[gc.collect] * 5, metadata=metadata)
    one_round([GCHook], nothing, gc.collect, metadata=metadata)
    assert records(metadata, "gc")["gc.count"]["values"] == [0, 1]


def test_several_hooks_write_a_key_each():
    metadata = one_round([CPUHook, NativeHook, GCHook], nothing)
    keys = {key for key in metadata if key.startswith("scopestress_metrics")}
    assert keys == {f"scopestress_metrics.{name}" for name in ("cpu", "native", "gc")}


def test_several_hooks_share_one_window_whatever_their_order(monkeypatch):
    opened = []
    open_window = hooks.ForgivingWindow.open
    monkeypatch.setattr(
        hooks.ForgivingWindow,
        "open",
        lambda window: (opened.append(len(window.probes)), open_window(window)),
    )
    one_round([GCHook, RSSHook, CPUHook], nothing, nothing)
    assert opened == [3, 3]


def test_garbage_of_one_value_is_not_in_the_next():
    def litter():
        for _ in range(gc.get_threshold()[0] // 2):
            cycle = []
            cycle.append(cycle)

    metadata = one_round([GCHook], *[litter] * 4)
    assert records(metadata, "gc")["gc.count"]["values"] == [0] * 4


def test_a_benchmark_that_has_the_collector_off_is_spared_collections():
    recorder = hooks.create(["gc"])[0]
    gc.disable()
    try:
        recorder.before()
        one_round([CPUHook], nothing)
        recorder.after()
    finally:
        gc.enable()
    assert recorder.figures(1.0, 1)["gc.count"] == 0


def test_what_is_per_operation_is_written_for_the_whole_value():
    metadata = one_round([CPUHook], nothing)
    record = records(metadata, "cpu")["score.cpu"]
    assert (record["unit"], record["per"]) == ("s", "op")
    assert "per" not in records(one_round([GCHook], nothing), "gc")["gc.time"]


def test_a_probe_that_a_benchmark_disturbs_is_unsupported_with_the_reason():
    metadata = one_round([GCHook, CPUHook], gc.callbacks.clear, nothing)
    found = records(metadata, "gc")
    assert set(found) == {"gc.time", "gc.count", "gc.pause.max", "gc.share"}
    assert found["gc.time"]["unsupported"].startswith("RuntimeError: the recorder was taken out of")
    assert len(records(metadata, "cpu")["score.cpu"]["values"]) == 2


def test_a_probe_that_is_unsupported_here_says_so(monkeypatch):
    monkeypatch.setattr(hooks, "create", lambda names: [Absent()])
    found = records(one_round([CPUHook], nothing), "cpu")
    assert found["score.cpu"] == {"unsupported": "no such clock"}


class Absent(PROBES["cpu"]):
    unsupported = "no such clock"


def test_a_command_runs_elsewhere_so_its_figures_are_unsupported():
    metadata = one_round([RSSHook], nothing, metadata={"command": "python3 -c pass"})
    assert records(metadata, "rss")["rss.peak"] == {
        "unsupported": "the benchmark is a command, which runs in a process of its own"
    }


def test_a_value_that_raised_leaves_no_figure():
    hook = GCHook()
    hook.__enter__()
    hook.__exit__(KeyError, KeyError(), None)
    hook.__enter__()
    hook.__exit__(None, None, None)
    metadata = {}
    hook.teardown(metadata)
    assert records(metadata, "gc")["gc.count"]["values"] == [0]


def test_a_hook_that_was_never_entered_writes_no_figures():
    metadata = {}
    GCHook().teardown(metadata)
    assert metadata == {}


def test_the_peak_of_the_process_is_the_one_before_it_was_lowered():
    metadata = one_round([RSSHook], nothing)
    if "unsupported" in records(metadata, "rss")["rss.peak"]:
        pytest.skip("the kernel refuses to lower the mark")
    assert metadata["mem_max_rss"] >= records(metadata, "rss")["rss.peak"]["values"][0]


def test_the_peak_of_the_process_is_left_to_pyperf_without_the_rss_hook():
    assert "mem_max_rss" not in one_round([GCHook], nothing)


LAUNCHER = """
import subprocess, sys
footprint = b"x" * (256 << 20)
sys.exit(subprocess.run([sys.executable, "-c", sys.argv[1]]).returncode)
"""
LAUNCHED = """
import resource
from stress.probes.rss import RSSProbe
probe = RSSProbe()
inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
if probe.unsupported is None:
    probe.before()
    probe.after()
    print(inherited, probe.figures(1.0, 1)["rss.peak"])
"""


def test_resident_memory_of_the_launcher_is_nobody_else_s():
    done = subprocess.run(
        [sys.executable, "-c", LAUNCHER, LAUNCHED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    if not done.stdout:
        pytest.skip("the kernel refuses to lower the mark")
    inherited, peak = map(int, done.stdout.split())
    assert inherited > 256 << 20, "the premise: ru_maxrss starts at the launcher's"
    assert peak < 128 << 20


@pytest.fixture(scope="module")
def timeit(tmp_path_factory):
    """The file of `pyperf timeit` with three hooks, one warm-up and two values in two processes."""
    path = tmp_path_factory.mktemp("hooks") / "run.json"
    named = [f"--hook=scopestress_{name}" for name in ("gc", "cpu", "rss")]
    loops = ["-p2", "-n2", "-w1", "--min-time=0.001", "--inner-loops=2"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pyperf",
            "timeit",
            *named,
            *loops,
            "-o",
            str(path),
            "-s",
            "import gc",
            "gc.collect(0); gc.collect(0)",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return read(path)


def test_pyperf_takes_the_hooks_and_the_figures_cover_the_values_alone(timeit):
    (row,) = timeit.rows
    assert [len(process) for process in row.metrics["gc.count"].by_process] == [2, 2]
    for loops, process in zip(row.loops, row.metrics["gc.count"].by_process, strict=True):
        assert process == (2 * loops,) * 2


def test_time_and_memory_are_in_one_record(timeit):
    (row,) = timeit.rows
    assert len(row.values) == len(row.metrics["rss.peak"].by_process or row.values)
    assert min(min(process) for process in row.values) > 0


def test_cpu_time_is_read_per_operation(timeit):
    (row,) = timeit.rows
    assert row.metrics["score.cpu"].metric.unit == "s/op"
    for wall, cpu in zip(row.values, row.metrics["score.cpu"].measured, strict=True):
        assert max(cpu) < 2 * max(wall)
