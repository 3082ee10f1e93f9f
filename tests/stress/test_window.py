"""The window: the order of its probes, what it keeps, and that it ends what it began."""

import json

import pytest

from stress.probes import Metric, Probe, Window, create


class Recording(Probe):
    """A probe that writes down what is done with it and gives the figures it was told to."""

    summary = "what the test wants"

    def __init__(self, name, cost_ns=0, log=None, unsupported=None, fails_in=None):
        self.name = name
        self.cost_ns = cost_ns
        self.metrics = (Metric(f"{name}.figure", "s", "sum", "lower", 0.5),)
        self.log = [] if log is None else log
        self.unsupported = unsupported
        self.fails_in = fails_in

    def _do(self, step):
        self.log.append(f"{self.name} {step}")
        if step == self.fails_in:
            raise OSError(f"{self.name} {step}")

    def before(self):
        self._do("before")

    def after(self):
        self._do("after")

    def figures(self, duration_s, operations):
        return {self.metrics[0].name: duration_s / operations}


@pytest.fixture
def log():
    return []


def windows(window, *durations):
    for duration in durations:
        window.open()
        window.close()
        window.record(duration, 1)


def test_the_dearest_probe_is_outermost_whatever_the_order_given(log):
    window = Window(
        [Recording("mid", 50, log), Recording("cheap", 1, log), Recording("dear", 900, log)]
    )
    window.open()
    log.append("clock")
    window.close()
    assert log == [
        "dear before",
        "mid before",
        "cheap before",
        "clock",
        "cheap after",
        "mid after",
        "dear after",
    ]


def test_of_the_default_probes_rss_is_outermost_and_gc_innermost():
    by_cost = sorted(create(), key=lambda probe: probe.cost_ns)
    assert by_cost[0].name == "gc"
    assert by_cost[-1].name == "rss"


def test_the_last_values_are_kept_and_those_of_warm_ups_are_not():
    window = Window([Recording("a")])
    windows(window, 9.0, 8.0, 1.0, 2.0)
    assert window.metrics(2)["a.figure"]["values"] == [1.0, 2.0]


def test_no_values_are_asked_for_and_none_are_given():
    window = Window([Recording("a")])
    windows(window, 9.0)
    assert window.metrics(0)["a.figure"]["values"] == []


def test_a_metric_carries_what_a_file_says_of_it():
    window = Window([Recording("a")])
    windows(window, 3.0)
    assert window.metrics(1) == {
        "a.figure": {"unit": "s", "agg": "sum", "better": "lower", "floor": 0.5, "values": [3.0]}
    }


def test_figures_see_the_number_of_operations():
    window = Window([Recording("a")])
    window.open()
    window.close()
    window.record(3.0, 4)
    assert window.metrics(1)["a.figure"]["values"] == [0.75]


def test_zero_not_measurable_and_unsupported_are_three_different_outputs():
    zero, unmeasurable = Recording("zero"), Recording("unmeasurable")
    unmeasurable.figures = lambda duration_s, operations: {"unmeasurable.figure": None}
    window = Window([zero, unmeasurable, Recording("absent", unsupported="no such clock")])
    windows(window, 0.0)
    metrics = json.loads(json.dumps(window.metrics(1), allow_nan=False))
    assert metrics["zero.figure"]["values"] == [0.0]
    assert metrics["unmeasurable.figure"]["values"] == [None]
    assert metrics["absent.figure"] == {"unsupported": "no such clock"}


def test_an_unsupported_probe_is_not_called(log):
    windows(Window([Recording("a", 1, log, unsupported="no such clock")]), 1.0)
    assert log == []


def test_metrics_are_in_the_order_in_which_the_probes_were_given():
    window = Window([Recording("b", 1), Recording("c", 99), Recording("a", 50)])
    assert list(window.metrics(0)) == ["b.figure", "c.figure", "a.figure"]


@pytest.mark.parametrize("last", [-1, 2])
def test_more_values_than_were_recorded_cannot_be_had(last):
    window = Window([Recording("a")])
    windows(window, 1.0)
    expected = f"^figures of the last {last} windows were asked for; 1 were recorded$"
    with pytest.raises(ValueError, match=expected):
        window.metrics(last)


def test_a_window_cannot_be_opened_twice():
    window = Window([])
    window.open()
    with pytest.raises(RuntimeError, match="open already"):
        window.open()


def test_a_window_that_is_not_open_cannot_be_closed(log):
    with pytest.raises(RuntimeError, match="not open"):
        Window([Recording("a", 1, log)]).close()
    assert log == []


def test_a_window_is_recorded_once():
    window = Window([])
    windows(window, 1.0)
    with pytest.raises(RuntimeError, match="no closed window"):
        window.record(1.0, 1)


def test_an_open_window_is_not_recorded():
    window = Window([])
    window.open()
    with pytest.raises(RuntimeError, match="no closed window"):
        window.record(1.0, 1)


@pytest.mark.parametrize("duration", [-1.0, float("nan"), float("inf")])
def test_a_duration_that_is_no_time_is_refused(duration):
    window = Window([])
    window.open()
    window.close()
    with pytest.raises(
        ValueError, match=f"^a duration is finite seconds from 0 on; found {duration}$"
    ):
        window.record(duration, 1)


def test_a_window_without_operations_is_refused():
    window = Window([])
    window.open()
    window.close()
    with pytest.raises(ValueError, match=r"^a window has at least 1 operation; found 0$"):
        window.record(1.0, 0)


def test_probes_that_began_are_ended_when_a_later_one_cannot_begin(log):
    window = Window(
        [
            Recording("dear", 3, log),
            Recording("mid", 2, log, fails_in="before"),
            Recording("cheap", 1, log),
        ]
    )
    with pytest.raises(OSError, match="mid before"):
        window.open()
    assert log == ["dear before", "mid before", "dear after"]


def test_a_window_that_could_not_open_can_be_opened_again(log):
    failing = Recording("a", 1, log, fails_in="before")
    window = Window([failing])
    with pytest.raises(OSError, match="a before"):
        window.open()
    failing.fails_in = None
    windows(window, 1.0)
    assert window.metrics(1)["a.figure"]["values"] == [1.0]


def test_every_probe_is_ended_when_one_of_them_fails_to(log):
    window = Window([Recording("dear", 3, log), Recording("cheap", 1, log, fails_in="after")])
    window.open()
    with pytest.raises(OSError, match="cheap after"):
        window.close()
    assert log[2:] == ["cheap after", "dear after"]


def test_the_default_probes_fill_a_window_with_figures_fit_for_json():
    window = Window(create())
    windows(window, 0.25, 10.0)
    metrics = json.loads(json.dumps(window.metrics(2), allow_nan=False))
    for probe in window.probes:
        for metric in probe.metrics:
            entry = metrics[metric.name]
            assert entry == {"unsupported": probe.unsupported} or len(entry["values"]) == 2
