"""The command line of suites.record: programs that are recorded, and what becomes of them."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import pytest

from suites import record
from suites.recordings import capture
from suites.recordings.format import Operation
from suites.recordings.loader import load

needs_memray = pytest.mark.skipif(find_spec("memray") is None, reason="needs memray")


@pytest.fixture
def no_calibration(monkeypatch):
    """What memray costs is measured in a test of its own: it takes a second."""
    monkeypatch.setattr(capture.Recorder, "_overhead", lambda self: None)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "recording"


@pytest.fixture
def run(tmp_path, folder, monkeypatch, no_calibration):
    """Records a script of the given text; the exit status."""
    monkeypatch.chdir(tmp_path)

    def make(code, *options, args=()):
        (tmp_path / "script.py").write_text(textwrap.dedent(code))
        return record.main(["-o", str(folder), *options, "--", "script.py", *args])

    return make


def sizes(recording, operation=Operation.ALLOCATE):
    rows = recording.operations
    return rows["size"][rows["operation"] == operation].tolist()


# ---- programs ------------------------------------------------------------------------------------


@needs_memray
def test_what_a_program_allocates_is_recorded_with_its_threads(run, folder, capfd):
    status = run(
        """
        import sys, threading
        kept = bytearray(123_457)
        def work():
            bytearray(234_561)
        thread = threading.Thread(target=work, name="worker")
        thread.start()
        thread.join()
        print("hello", *sys.argv[1:], __name__)
    """,
        args=["a", "--b"],
    )
    out, err = capfd.readouterr()
    assert (status, out) == (0, "hello a --b __main__\n")
    recording = load(folder)
    assert f"record: {len(recording.operations):,} operations of 2 threads in" in err
    assert [thread["name"] for thread in recording.threads] == ["MainThread", "worker"]
    rows = recording.operations
    by_size = {int(row["size"]): row for row in rows if row["operation"] == Operation.ALLOCATE}
    assert by_size[123_458]["thread"] == 0
    assert by_size[234_562]["thread"] == 1
    assert 234_562 in sizes(recording, Operation.FREE)
    assert not recording.timed
    info = recording.info
    assert (info["source"], info["exit_status"], info["truncated"]) == ("memray", 0, None)
    assert info["command"] == ["script.py", "a", "--b"]
    assert info["provenance"]["scopestress_python"].startswith("CPython")


@needs_memray
def test_an_object_is_recorded_once_by_either_choice(run, folder, tmp_path):
    code = (
        "import sys; kept = [bytes(20_011) for _ in range(50)]; small = [object() for _ in 'abc']"
    )
    assert run(code) == 0
    assert sizes(load(folder)).count(20_044) == 50
    folder.rename(tmp_path / "first")
    assert run(code, "--native-only") == 0
    assert sizes(load(folder)).count(20_044) == 50
    assert min(len(load(tmp_path / "first").operations), 10_000) > len(load(folder).operations)


@needs_memray
def test_a_reallocation_is_one_operation(run, folder):
    assert run("a = bytearray(70_001); a.extend(bytes(200_000)); del a") == 0
    recording = load(folder)
    at = sizes(recording).index(70_002)
    rows = recording.operations
    slot = rows[rows["operation"] == Operation.ALLOCATE][at]["object"]
    first = int(rows[rows["operation"] == Operation.ALLOCATE][at]["sequence"])
    later = [Operation(row["operation"]) for row in rows[first:] if row["object"] == slot]
    assert later[:3] == [Operation.ALLOCATE, Operation.REALLOCATE, Operation.FREE]


@needs_memray
def test_a_module_is_run_as_python_would(tmp_path, folder, monkeypatch, no_calibration, capfd):
    (tmp_path / "here.py").write_text("import sys; print(__name__, sys.argv[1:])")
    monkeypatch.chdir(tmp_path)
    assert record.main(["-o", str(folder), "--", "-m", "here", "x"]) == 0
    assert capfd.readouterr().out == "__main__ ['x']\n"


@needs_memray
def test_threads_and_handlers_after_the_main_program_are_recorded(run, folder):
    assert (
        run("""
        import atexit, threading, time
        go = threading.Event()
        def work():
            go.wait()
            bytearray(345_671)
        threading.Thread(target=work).start()
        atexit.register(lambda: bytearray(456_781))
        threading.Timer(0.01, go.set).start()
    """)
        == 0
    )
    assert {345_672, 456_782} <= set(sizes(load(folder)))


# ---- ends ----------------------------------------------------------------------------------------


@needs_memray
@pytest.mark.parametrize(
    ("code", "status", "truncated"),
    [
        ("raise SystemExit(7)", 7, None),
        ("raise ValueError", 1, None),
        ("import os; os._exit(3)", 3, None),
        ("import os; os.execv('/bin/true', ['true'])", 0, None),
        ("import os; os.kill(os.getpid(), 9)", 137, "the process was ended by SIGKILL"),
        ("import os; os.abort()", 134, "the process was ended by SIGABRT"),
        ("import os; os.kill(os.getpid(), 2)", 130, "the process was ended by SIGINT"),
    ],
)
def test_the_exit_status_is_passed_on_and_what_was_done_is_there(
    run, folder, code, status, truncated
):
    assert run(f"kept = bytearray(123_457); {code}") == status
    recording = load(folder)
    assert 123_458 in sizes(recording)
    assert recording.info["truncated"] == truncated


@needs_memray
def test_a_child_of_fork_is_not_recorded(run, folder):
    assert (
        run("""
        import os, sys
        first = bytearray(123_457)
        pid = os.fork()
        if pid == 0:
            second = bytearray(234_561)
            sys.exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        third = bytearray(345_671)
    """)
        == 0
    )
    found = set(sizes(load(folder)))
    assert {123_458, 345_672} <= found
    assert 234_562 not in found


@needs_memray
def test_a_signal_to_the_recorder_reaches_the_program(tmp_path, folder):
    (tmp_path / "script.py").write_text(
        textwrap.dedent("""
        import signal
        kept = bytearray(123_457)
        print("ready", flush=True)
        signal.pause()
    """)
    )
    command = [sys.executable, "-m", "suites.record", "-o", folder, "--", "script.py"]
    root = Path(record.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": str(root)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 128 + signal.SIGTERM
    recording = load(folder)
    assert recording.info["truncated"] == "the process was ended by SIGTERM"
    assert 123_458 in sizes(recording)


@needs_memray
def test_a_bound_of_operations_is_kept(run, folder, capfd):
    assert run("print('all of it')", "--max-operations", "100") == 0
    out, err = capfd.readouterr()
    assert out == "all of it\n"
    assert "truncated: max_operations=100 was reached" in err
    assert len(load(folder).operations) == 100


@needs_memray
def test_a_program_goes_on_unrecorded_when_the_capture_is_full(run, folder, capfd):
    assert (
        run(
            """
        from pathlib import Path
        kept, reached = [], Path(FOLDER) / "capture.memray.truncated"
        while not reached.exists():
            kept.append(bytearray(1000))
        late = bytearray(123_457)
        print("all of it")
    """.replace("FOLDER", repr(str(folder))),
            "--max-size",
            "64KiB",
        )
        == 0
    )
    assert capfd.readouterr().out == "all of it\n"
    recording = load(folder)
    assert recording.info["truncated"] == "max_bytes=65536 was reached"
    assert recording.operations.nbytes <= 65536
    assert 123_458 not in sizes(recording)


@needs_memray
@pytest.mark.long
def test_the_cost_of_recording_is_measured(run, folder, monkeypatch):
    monkeypatch.undo()
    assert capture.Recorder(max_bytes=1 << 30)._overhead()["ns_per_operation"] > 0


# ---- what is refused -----------------------------------------------------------------------------


@needs_memray
def test_a_folder_that_exists_is_refused_before_the_program_runs(run, folder, capfd):
    folder.mkdir()
    assert run("print('ran')") == 2
    out, err = capfd.readouterr()
    assert (out, err) == ("", f"record: {folder} exists: expected a name for a new folder\n")


@needs_memray
def test_a_script_that_is_not_there_is_refused(folder, capsys):
    assert record.main(["-o", str(folder), "--", "none.py"]) == 2
    assert "none.py: expected a script of Python, found no such file" in capsys.readouterr().err
    assert not folder.exists()


def test_without_memray_the_program_is_not_run(run, folder, monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, "memray", None)
    assert run("print('ran')") == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert "pip install 'scopestress[record]'" in err
    assert not folder.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "x"], "expected -- and a script, or -m and a module, found nothing to run"),
        (["-o", "x", "--"], "found nothing to run"),
        (["--", "x.py"], "required: -o/--output"),
        (["-o", "x", "--max-size", "0", "--", "x.py"], "expected at least 1 byte, found '0'"),
        (["-o", "x", "--max-operations", "no", "--", "x.py"], "at least 1, found 'no'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        record.main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


# ---- info and import -----------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("operation,object,size\nallocate,1,100\nfree,1,\nfree,2,\n")
    return path


def test_a_table_is_imported_and_shown(table, folder, capsys):
    assert record.main(["import", str(table), "-o", str(folder)]) == 0
    assert f"record: 2 operations of 1 thread in {folder}" in capsys.readouterr().err
    assert record.main(["info", str(folder)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{folder}: 2 operations of 1 thread, by csv\n")
    assert "preexisting: 1 event of what is older" in out
    assert record.main(["info", str(folder), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["info"]["source"] == "csv"


def test_a_table_that_makes_no_sense_leaves_no_folder(table, folder, capsys):
    table.write_text("operation,object\nallocate,1\n")
    assert record.main(["import", str(table), "-o", str(folder)]) == 2
    assert "line 2: expected a size of allocate" in capsys.readouterr().err
    assert not folder.exists()


def test_a_table_of_nothing_is_an_error_and_leaves_no_folder(table, folder, capsys):
    table.write_text("operation,object\n")
    assert record.main(["import", str(table), "-o", str(folder)]) == 1
    assert "nothing was recorded" in capsys.readouterr().err
    assert not folder.exists()


def test_a_folder_that_is_no_recording_is_refused(tmp_path, capsys):
    assert record.main(["info", str(tmp_path)]) == 2
    assert "expected a file info.json, found none" in capsys.readouterr().err
