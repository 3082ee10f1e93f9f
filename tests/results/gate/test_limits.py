import re
from pathlib import Path

import pytest

from results.errors import ResultsError
from results.gate.limits import (
    EXAMPLE,
    Limits,
    limits_of,
    merged,
    minima_of,
    pairs,
    percentage,
    quantity,
    read_limits,
)


@pytest.mark.parametrize(
    ("metric", "limit"), [("score", 0.05), ("score.cpu", 0.05), ("rss.peak", 0.1), ("gc.time", 0.1)]
)
def test_every_metric_has_a_limit_by_default(metric: str, limit: float) -> None:
    assert Limits({}, {}).limit(metric) == limit


def test_a_name_counts_more_than_a_pattern_and_a_pattern_more_than_the_default() -> None:
    limits = Limits({"gc.*": 0.2, "gc.time": 0.3, "*": 0.4}, {})
    assert [limits.limit(m) for m in ("gc.time", "gc.count", "score")] == [0.3, 0.2, 0.4]


def test_the_slowest_call_is_luck_and_off_unless_it_is_asked_for() -> None:
    assert Limits({}, {}).limit("p1.00") is None
    assert Limits({}, {}).limit("p0.99") == 0.1
    assert Limits(limits_of(pairs("p1.00=50%")), {}).limit("p1.00") == 0.5


def test_a_metric_can_be_off() -> None:
    assert Limits(limits_of(pairs("gc.*=off")), {}).limit("gc.time") is None


def test_times_of_operations_have_an_absolute_minimum() -> None:
    limits = Limits({}, {"rss.*": 4096})
    assert limits.minimum("score", "s/op") == 0.5e-9
    assert limits.minimum("rss.peak", "bytes") == 4096
    assert limits.minimum("gc.count", "collections/op") == 0


@pytest.mark.parametrize(("text", "value"), [("5%", 0.05), (" 12.5 % ", 0.125), ("0%", 0.0)])
def test_per_cent_are_read(text: str, value: float) -> None:
    assert percentage(text) == value


@pytest.mark.parametrize("text", ["5", "0.05", "%", "-5%", "five%", "inf%", "nan%", ""])
def test_what_is_no_per_cent_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"expected per cent, as 5%, found {text!r}")):
        percentage(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2ns", 2e-9),
        ("1.5 us", 1.5e-6),
        ("3 ms", 3e-3),
        ("1 s", 1.0),
        ("4 MiB", 4 * 2**20),
        ("0.5", 0.5),
    ],
)
def test_quantities_are_read_with_their_units(text: str, value: float) -> None:
    assert quantity(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "ns", "-2ns", "4 furlongs", "1.2.3"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a time, a size or a number"):
        quantity(text)


def test_pairs_are_read_and_one_without_a_name_is_for_all() -> None:
    assert pairs("score=5%, rss.peak = 10%") == {"score": "5%", "rss.peak": "10%"}
    assert pairs("7%") == {"*": "7%"}


@pytest.mark.parametrize("text", ["", "score=", "=5%", "score=5%,,"])
def test_what_is_no_pair_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected METRIC=VALUE, as score=5%"):
        pairs(text)


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "pyproject.toml"
    path.write_text(f"[tool.scopestress.gate]\n{text}\n")
    return path


def test_the_table_that_the_help_shows_is_read(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(EXAMPLE)
    limits = read_limits(tmp_path / "pyproject.toml")
    assert limits.most == {"score": 0.05, "rss.peak": 0.1, "gc.*": 0.2, "gc.pause.max": None}
    assert limits.least == pytest.approx({"score": 2e-9, "rss.peak": 4 * 2**20})
    assert limits.only is not None
    assert limits.only.pattern == "^implicit"
    assert (limits.allow, limits.noise) == (("kernel",), tmp_path / "ci/noise.json")


def test_names_with_dots_need_no_quotes(tmp_path: Path) -> None:
    path = table(tmp_path, 'max = {gc.time = "off", rss.peak = "7%"}')
    assert read_limits(path).most == {"gc.time": None, "rss.peak": 0.07}


@pytest.mark.parametrize("text", ["", "[project]\nname = 'x'", "[tool]\nscopestress = 3"])
def test_a_project_without_the_table_has_the_defaults(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert read_limits(tmp_path / "pyproject.toml") == Limits({}, {})
    assert read_limits(tmp_path / "none.toml") == Limits({}, {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max = 5", "max: expected a table, found 5"),
        ("max = {score = 5}", 'score: expected a text, as "5%", found 5'),
        ('max = {score = "5"}', "expected per cent, as 5%, found '5'"),
        ("maximum = {}", "expected max, min, only, allow or noise, found 'maximum'"),
        ('allow = ["weather"]', "allow: expected one of python"),
        ('allow = [["rows"]]', "allow: expected one of python"),
        ('only = "("', "missing )"),
    ],
)
def test_a_mistake_in_the_table_is_named_with_its_place(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = table(tmp_path, text)
    with pytest.raises(ResultsError) as caught:
        read_limits(path)
    assert str(caught.value).startswith(f"{path}: [tool.scopestress.gate]: {expected}")


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool")
    with pytest.raises(ResultsError, match=r"pyproject\.toml: can't be read"):
        read_limits(tmp_path / "pyproject.toml")
    with pytest.raises(ResultsError, match=r"none\.toml: can't be read"):
        read_limits(tmp_path / "none.toml", required=True)


def test_options_count_more_than_the_project() -> None:
    project = Limits(
        limits_of(pairs("score=3%,gc.time=4%")), minima_of(pairs("score=2ns")), allow=("thp",)
    )
    options = Limits(limits_of(pairs("gc.*=9%")), {}, re.compile("x"), ("gil",), Path("n.json"))
    found = merged(project, options)
    assert [found.limit(m) for m in ("score", "gc.time", "rss.peak")] == [0.03, 0.09, 0.1]
    assert found.minimum("score", "s/op") == pytest.approx(2e-9)
    assert (found.only, found.allow, found.noise) == (options.only, ("thp", "gil"), Path("n.json"))
