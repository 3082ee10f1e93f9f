import csv
import io
import json
from collections.abc import Callable

import pyperf
import pytest

from results.compare.comparison import Comparison, Selection
from results.compare.exact import csv_text, json_text

Make = Callable[..., pyperf.Benchmark]
Compared = Callable[..., Comparison]


@pytest.fixture
def comparison(compared: Compared, steady: Make) -> Comparison:
    before = steady("a[NONE,size=1MiB]", metrics={"gc.time": 0.0, "rss.peak": "why"}, loops=4)
    after = steady("a[NONE,size=1MiB]", 2e-6, metrics={"gc.time": 0.5, "rss.peak": 5e7}, loops=4)
    return compared(before, after)


def test_csv_has_a_line_a_change_with_exact_figures(comparison: Comparison) -> None:
    lines = list(csv.DictReader(io.StringIO(csv_text([comparison], Selection()))))
    by_metric = {line["metric"]: line for line in lines}
    score = by_metric["score"]
    assert (score["benchmark"], score["mode"], score["size"]) == ("a", "NONE", "1MiB")
    assert (float(score["before"]), float(score["after"])) == (1e-6, 2e-6)
    assert (float(score["change"]), score["verdict"]) == (1.0, "worse")
    assert float(score["low"]) < 1 < float(score["high"])
    assert by_metric["gc.time"]["change"] == ""
    assert by_metric["rss.peak"]["before"] == "why"


def test_json_has_all_of_it(comparison: Comparison) -> None:
    (found,) = json.loads(json_text([comparison], Selection(), []))["comparisons"]
    changes = {change["metric"]: change for change in found["changes"]}
    assert changes["score"]["change"] == 1.0
    assert len(changes["score"]["before"]["processes"]) == 6
    assert changes["gc.time"]["change"] is None
    assert changes["rss.peak"]["before"] == {"mean": None, "reason": "why"}
    assert found["geometric_means"]["score"] == {"ratio": pytest.approx(2.0), "rows": 1}
    assert found["tests"] == 2


def test_json_tells_what_differs_and_what_was_allowed(compared: Compared, steady: Make) -> None:
    comparison = compared(steady(), steady(metadata={"cpu_count": 4}))
    (found,) = json.loads(json_text([comparison], Selection(), ["machine"]))["comparisons"]
    (difference,) = found["differences"]
    assert (difference["name"], difference["allowed"]) == ("machine", True)


def test_hidden_changes_are_in_neither(comparison: Comparison) -> None:
    selection = Selection(min_change=1.5)
    lines = csv_text([comparison], selection).splitlines()
    assert not any(",score," in line for line in lines)
    assert '"metric": "score"' not in json_text([comparison], selection, [])
