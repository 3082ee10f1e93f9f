"""Recording what scopes do, while memory, or room for the file, runs out."""

import importlib.util
import tempfile
import threading
from contextlib import contextmanager

import pytest

import scopes
from scopes import _core

if not hasattr(_core, "start_events"):
    pytest.skip("a build without events", allow_module_level=True)

EVENT_BYTES = 48


@pytest.fixture
def file():
    with tempfile.TemporaryFile() as made:
        yield made


@contextmanager
def events(file, most=2**40):
    _core.start_events(file and file.fileno(), most, threading._active)
    try:
        yield
    finally:
        _core.stop_events()


@pytest.fixture(autouse=True)
def warm():
    """The buffer of the events stays for the next recording."""
    with events(None):
        pass


def test_starting_to_record(survives, file):
    def life():
        outcome = yield None, lambda: _core.start_events(file.fileno(), 10, threading._active)
        if outcome.error is None:
            assert _core.stop_events()["records"] == 0
        else:
            assert _core.stop_events() is None

    survives(life)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((None, 1, None), TypeError),
        ((None, "1", {}), TypeError),
        (("1", 1, {}), TypeError),
        ((None, 1), TypeError),
    ],
    ids=str,
)
def test_starting_to_record_with_arguments_that_are_wrong(survives, arguments, error):
    def life():
        yield None, lambda: _core.start_events(*arguments)

    survives(life, raises=(error,))


def test_starting_to_record_twice(survives):
    def life():
        with events(None):
            yield None, lambda: _core.start_events(None, 1, threading._active)

    survives(life, raises=(RuntimeError,))


def test_the_events_of_a_scope(survives, file):
    """Without memory for a thread's name its events are recorded all the same."""

    def life():
        file.seek(0)
        file.truncate()
        scope = scopes.SharedScope()
        _core.start_events(file.fileno(), 100, threading._active)
        outcome = yield scope, lambda: scope.allocate(10)
        found = _core.stop_events()
        assert found["records"] == (outcome.error is None)
        assert file.seek(0, 2) == EVENT_BYTES * found["records"]
        scope.close()

    survives(life)


def test_stopping_to_record(survives, file):
    def life():
        scope = scopes.SharedScope()
        _core.start_events(file.fileno(), 100, threading._active)
        scope.close()
        outcome = yield None, _core.stop_events
        assert _core.stop_events() is None
        if outcome.error is None and not outcome.failed:
            assert outcome.value["records"] == 1

    survives(life, effects=True)


def test_no_room_for_the_file(faults, file):
    scope = scopes.SharedScope()
    with events(file):
        scope.close()
        faults.begin(0, lasts=False)
        found = _core.stop_events()
        faults.end()
    assert found["error"] != 0
    assert (found["records"], file.seek(0, 2)) == (0, 0)


def test_no_room_for_the_file_and_no_memory(faults, file):
    scope = scopes.SharedScope()
    with events(file):
        scope.close()
        faults.begin(0, lasts=True)
        with pytest.raises(MemoryError):
            _core.stop_events()
        faults.end()
        assert _core.stop_events() is None


def test_the_first_recording_of_a_process(faults):
    """Its buffer is new."""
    spec = importlib.util.spec_from_file_location("scopes._core", _core.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for before in range(100):
        faults.begin(before, lasts=False)
        try:
            module.start_events(None, 1, threading._active)
        except MemoryError:
            faults.end()
            continue
        if faults.end() == 0:
            break
        module.stop_events()
    assert 1 < before < 50
    module.stop_events()


def test_recording_before_the_core_was_executed(faults):
    spec = importlib.util.spec_from_file_location("scopes._core", _core.__file__)
    module = importlib.util.module_from_spec(spec)
    for function, *arguments in ((module.start_events, None, 1, {}), (module.stop_events,)):
        faults.begin(0, lasts=True)
        with pytest.raises(MemoryError):
            function(*arguments)
        faults.end()
