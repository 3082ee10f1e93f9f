"""Stress modes: names, options, and that nothing of a stress is left behind."""

from types import SimpleNamespace

import psutil
import pytest

from stress import StressError, StressMode, StressOptions, stressed


@pytest.mark.parametrize("text", ["MEMORY", "memory", "Memory", " memory "])
def test_a_mode_is_found_in_any_case(text):
    assert StressMode.parse(text) is StressMode.MEMORY


def test_an_unknown_mode_is_answered_with_the_modes_there_are():
    with pytest.raises(
        ValueError, match=r"^a stress mode is one of NONE, MEMORY, THREADS; found 'io'$"
    ):
        StressMode.parse("io")


@pytest.mark.parametrize("name", ["heap_objects", "threads"])
@pytest.mark.parametrize("number", [0, -1, 1.5])
def test_a_number_below_one_or_not_whole_is_refused(name, number):
    with pytest.raises(
        ValueError, match=f"^{name} must be a whole number from 1 on; found {number}$"
    ):
        StressOptions(**{name: number})


@pytest.mark.parametrize(
    ("name", "kinds"), [("heap_kind", "containers, bytes"), ("spin", "python, native")]
)
def test_an_unknown_kind_is_answered_with_the_kinds_there_are(name, kinds):
    with pytest.raises(ValueError, match=f"^{name} must be one of {kinds}; found 'tuples'$"):
        StressOptions(**{name: "tuples"})


def test_a_heap_that_cannot_fit_is_refused_at_once_with_both_numbers(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1000))
    with pytest.raises(StressError, match=r"needs 9,064 bytes and 1,000 are available"):
        StressOptions(heap_objects=100).check(StressMode.MEMORY)


def test_a_heap_that_cannot_fit_is_not_built(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1000))
    with pytest.raises(StressError), stressed(StressMode.MEMORY, StressOptions(10**12)):
        pytest.fail("the block ran")


@pytest.mark.parametrize("mode", [StressMode.NONE, StressMode.THREADS])
def test_the_heap_matters_to_memory_mode_alone(monkeypatch, mode):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=0))
    assert StressOptions().check(mode) is None


def test_a_heap_of_bytes_comes_with_a_note_on_the_collector():
    note = StressOptions(heap_kind="bytes").note(StressMode.MEMORY)
    assert note is not None
    assert "not CPython's collector" in note
    assert "\n" not in note


@pytest.mark.parametrize(
    ("kind", "mode"), [("containers", StressMode.MEMORY), ("bytes", StressMode.NONE)]
)
def test_nothing_else_needs_a_note(kind, mode):
    assert StressOptions(heap_kind=kind).note(mode) is None


@pytest.mark.parametrize("mode", [StressMode.NONE, StressMode.MEMORY])
def test_modes_without_threads_park_and_unpark_nothing(mode):
    with stressed(mode, StressOptions(heap_objects=10)) as stress:
        stress.unpark()
        assert stress.spins() == 0
        stress.park()


@pytest.mark.parametrize("mode", StressMode)
def test_no_thread_is_left_when_the_body_raises(mode, thread_ids, eventually):
    def failing_benchmark():
        with stressed(mode, StressOptions(heap_objects=10, threads=2)) as stress:
            stress.unpark()
            raise KeyError("the benchmark")

    before = thread_ids()
    with pytest.raises(KeyError, match="the benchmark"):
        failing_benchmark()
    eventually(lambda: thread_ids() <= before)
