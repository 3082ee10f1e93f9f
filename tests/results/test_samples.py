"""Single calls in the metadata of runs: what is refused, and what becomes of several runs."""

import json
from typing import Any

import pytest

from results import samples
from results.errors import ResultsError
from results.histogram import Histogram
from results.samples import Samples
from results.statistics import Estimate, estimate

GOOD = {"overhead": 2.7e-8, "floor": 5e-10, "histogram": Histogram({1000: 5}).encode()}


def metadata(entry: Any) -> dict[str, Any]:
    return {"scopestress_schema": 1, "scopestress_samples": json.dumps(entry)}


def calls(bucket: int, count: int, overhead: float = 1e-8) -> Samples:
    return Samples(Histogram({bucket: count}), overhead, 5e-10)


def test_a_run_without_calls_has_none() -> None:
    assert samples.of_run({"name": "x"}, "here") is None


def test_calls_of_a_run_are_read() -> None:
    assert samples.of_run(metadata(GOOD), "here") == calls(1000, 5, 2.7e-8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scopestress_samples": "{}"}, "expected scopestress_schema 1, found None"),
        ({"scopestress_schema": 1, "scopestress_samples": 5}, "expected a line of JSON, found int"),
        (metadata([]), "expected an object, found list"),
        (metadata({}), "expected a histogram as text, found None"),
        (metadata(GOOD | {"histogram": "HISTFAAA"}), "not an HDR histogram or cut off"),
        (metadata(GOOD | {"overhead": -1}), "expected 0 or more seconds as 'overhead', found -1"),
        (metadata(GOOD | {"floor": "1"}), "expected 0 or more seconds as 'floor', found '1'"),
    ],
)
def test_what_is_no_record_of_calls_is_refused_with_its_place(given: Any, message: str) -> None:
    with pytest.raises(ResultsError, match=r"^here") as caught:
        samples.of_run(given, "here")
    assert message in str(caught.value)


def test_calls_of_all_runs_are_one_histogram_with_the_largest_overhead() -> None:
    merged = samples.merged([calls(7, 5, 1e-8), calls(9, 6, 3e-8)])
    assert merged == Samples(Histogram({7: 5, 9: 6}), 3e-8, 5e-10)


def test_a_run_without_calls_makes_percentiles_unsupported() -> None:
    runs = [calls(7, 5), None, calls(7, 5)]
    assert samples.merged(runs) is None
    reasons = {figures.unsupported for figures in samples.percentiles(runs).values()}
    assert reasons == {"recorded by 2 of 3 processes"}


def test_runs_without_calls_have_no_percentiles() -> None:
    assert samples.percentiles([None, None]) == samples.percentiles([]) == {}


def test_a_percentile_is_estimated_by_that_of_all_calls() -> None:
    found = samples.percentiles([calls(100, 3000), calls(900, 1000)])
    assert estimate(found["p0.90"]) == Estimate(9e-8, None, 4000, 2)
    assert found["p0.90"].by_process == ((1e-8,), (9e-8,))


def test_a_percentile_is_known_of_all_calls_where_no_process_can_carry_it() -> None:
    found = samples.percentiles([calls(100, 600), calls(100, 600)])["p0.99"]
    assert estimate(found).value == 1e-8
    assert found.by_process == ((None,), (None,))
