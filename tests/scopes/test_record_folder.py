"""The folder of a recording: what is refused, what is told, what is left when a process ends."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import scopes
from scopes import _core

if not hasattr(_core, "start_events"):
    pytest.skip("a build without events", allow_module_level=True)


def info(folder):
    return json.loads((Path(folder) / "info.json").read_text())


# ---- the folder ----------------------------------------------------------------------------------


def test_info_tells_what_was_recorded_and_at_what_cost(folder):
    with scopes.record(folder):
        scopes.ConfinedScope().close()
    found = info(folder)
    assert (found["source"], found["stopped"], found["truncated"]) == ("scopes", True, None)
    assert (found["pid"], found["command"]) == (os.getpid(), sys.orig_argv)
    assert 0 < found["overhead"]["ns_per_operation"] < 1e7


def test_a_folder_that_exists_is_refused(tmp_path):
    with (
        pytest.raises(FileExistsError, match="expected a name for a new folder"),
        scopes.record(tmp_path),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_none_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError), scopes.record(tmp_path / "none" / "recording"):
        pass


def test_a_recording_within_a_recording_is_refused_and_the_first_goes_on(
    folder, tmp_path, read_events
):
    with scopes.record(folder):
        scopes.ConfinedScope().close()
        with pytest.raises(RuntimeError, match="one at a time"), scopes.record(tmp_path / "second"):
            pass
        scopes.ConfinedScope().close()
    assert len(read_events(folder)) == 6
    assert not (tmp_path / "second").exists()


def test_nothing_recorded_is_an_error_and_leaves_no_folder(folder):
    with pytest.raises(RuntimeError, match="nothing was recorded"), scopes.record(folder):
        pass
    assert not folder.exists()


def test_an_exception_of_the_body_stays_as_it_is(folder, read_events):
    scope = scopes.ConfinedScope()
    with pytest.raises(KeyError), scopes.record(folder), scope:
        {}[scope.allocate(1).nbytes]
    assert info(folder)["stopped"]
    assert [e.operation for e in read_events(folder)][:2] == ["allocate", "drop"]


@pytest.mark.parametrize(
    ("bound", "count"), [({"max_events": 4}, 4), ({"max_bytes": 100}, 2)], ids=str
)
def test_a_bound_ends_the_recording_and_not_the_program(folder, bound, count, read_events):
    with scopes.record(folder, **bound):
        for _ in range(3):
            scopes.ConfinedScope().close()
    assert len(read_events(folder)) == count
    (name, value), *_ = bound.items()
    assert info(folder)["truncated"] == f"{name}={value} was reached"


def test_a_bound_that_is_not_reached_truncates_nothing(folder):
    with scopes.record(folder, max_events=3, max_bytes=10_000):
        scopes.ConfinedScope().close()
    assert info(folder)["truncated"] is None


@pytest.mark.parametrize("bound", [{"max_events": 0}, {"max_bytes": 47}], ids=str)
def test_a_bound_without_room_for_one_event_is_refused(folder, bound):
    with pytest.raises(ValueError, match=r"must be at least \d+, found"):
        scopes.record(folder, **bound).__enter__()
    assert not folder.exists()


def test_a_build_without_events_says_so(folder, monkeypatch):
    monkeypatch.delattr(_core, "start_events")
    with pytest.raises(RuntimeError, match="SCOPES_EVENTS=0"), scopes.record(folder):
        pass
    assert not folder.exists()


# ---- processes -----------------------------------------------------------------------------------

WORK = """
    import os, signal, sys
    import scopes
    folder = sys.argv[1] if len(sys.argv) > 1 else None
    def work(lives):
        for _ in range(lives):
            with scopes.ConfinedScope() as scope:
                scope.allocate(8)
"""


@pytest.fixture
def child(folder):
    """Runs code in a new interpreter with `work` and `folder`; what subprocess.run returns."""

    def run(code, **env):
        found = str(Path(scopes.__file__).parents[1])
        path = os.pathsep.join(filter(None, [found, os.environ.get("PYTHONPATH")]))
        whole = textwrap.dedent(WORK) + textwrap.dedent(code)
        return subprocess.run(
            [sys.executable, "-c", whole, str(folder)],
            env=os.environ | {"PYTHONPATH": path} | env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def test_what_a_killed_process_did_is_there_but_for_the_last_buffer(child, folder, read_events):
    done = child("""
        with scopes.record(folder):
            work(1000)
            os.kill(os.getpid(), signal.SIGKILL)
    """)
    assert done.returncode == -signal.SIGKILL
    assert not info(folder)["stopped"]
    count = len(read_events(folder))
    assert 5000 - 1365 < count <= 5000
    assert [event.sequence for event in read_events(folder)] == list(range(count))


def test_a_full_disk_ends_the_recording_and_not_the_program(child, folder, read_events):
    done = child("""
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        with scopes.record(folder):
            work(2000)
        print("went on")
    """)
    assert (done.returncode, done.stdout) == (0, "went on\n")
    assert "is truncated: File too large" in done.stderr
    assert info(folder)["truncated"] == "File too large"
    assert len(read_events(folder)) == 100_000 // 48


def test_a_child_of_fork_records_nothing_and_may_record_elsewhere(child, folder, read_events):
    done = child("""
        with scopes.record(folder):
            outer = scopes.SharedScope()
            segment = outer.allocate(8)
            pid = os.fork()
            if pid == 0:
                del segment
                work(1000)
                with scopes.record(folder + "-child"):
                    work(1)
                print("child", flush=True)
            else:
                assert os.waitpid(pid, 0)[1] == 0
                outer.close()
        if pid == 0:
            os._exit(0)
        print("parent")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "child\nparent\n", "")
    assert [e.operation for e in read_events(folder)] == ["open", "allocate", "close"]
    assert len(read_events(f"{folder}-child")) == 5
    assert info(folder)["truncated"] is None


def test_leaving_the_interpreter_ends_the_recording(child, folder, read_events):
    done = child("""
        context = scopes.record(folder)
        context.__enter__()
        work(2)
    """)
    assert (done.returncode, done.stderr) == (0, "")
    assert info(folder)["stopped"]
    assert len(read_events(folder)) == 10


def test_the_environment_records_a_whole_process(child, tmp_path, read_events):
    done = child("work(2)", SCOPES_RECORD=str(tmp_path / "run-%p"))
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = tmp_path.iterdir()
    assert found.name == f"run-{info(found)['pid']}"
    assert len(read_events(found)) == 10


def test_a_process_that_can_not_record_for_the_environment_warns_and_goes_on(child, tmp_path):
    done = child("work(2); print('went on')", SCOPES_RECORD=str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "went on\n")
    assert "SCOPES_RECORD: nothing is recorded:" in done.stderr
    assert "expected a name for a new folder" in done.stderr


def test_a_writer_holds_a_lock_that_its_children_do_not_inherit(child, folder):
    done = child("""
        import fcntl
        with scopes.record(folder):
            work(1)
            if os.fork() == 0:
                with open(folder + "/operations.raw", "r+b") as file:
                    try:
                        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except OSError:
                        print("locked", flush=True)
                os._exit(0)
            os.wait()
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "locked\n", "")
