import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.names import (
    Name,
    format_metric_name,
    format_name,
    format_size,
    parse_name,
    parse_size,
)

WORD = st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,12}", fullmatch=True)
KEY = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,8}", fullmatch=True)


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0"),
        (1000, "1000"),
        (1024, "1KiB"),
        (1536, "1536"),
        (65536, "64KiB"),
        (2**20, "1MiB"),
        (3 * 2**30, "3GiB"),
        (2**40, "1TiB"),
    ],
)
def test_a_size_has_the_shortest_exact_form(nbytes: int, text: str) -> None:
    assert format_size(nbytes) == text


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [("1024", 1024), ("64KiB", 65536), ("1 MiB", 2**20), ("2gib", 2**31), (" 5 B ", 5)],
)
def test_a_size_is_read_in_any_case_and_spacing(text: str, nbytes: int) -> None:
    assert parse_size(text) == nbytes


@pytest.mark.parametrize("text", ["", "KiB", "-1", "1.5KiB", "1KB", "64 K", "1e3", "0x10"])
def test_a_size_that_is_none_is_refused_with_what_was_found(text: str) -> None:
    with pytest.raises(ValueError, match="expected a size in bytes") as caught:
        parse_size(text)
    assert repr(text) in str(caught.value)


def test_a_negative_size_has_no_form() -> None:
    with pytest.raises(ValueError, match="expected a size of 0 bytes or more, found -1"):
        format_size(-1)


@given(st.integers(min_value=0, max_value=2**50))
def test_a_size_comes_back_from_its_form(nbytes: int) -> None:
    assert parse_size(format_size(nbytes)) == nbytes


def test_parameters_stand_sorted_behind_the_mode() -> None:
    name = format_name("implicit_close", "NONE", {"touch": "all", "size": "1MiB"})
    assert name == "implicit_close[NONE,size=1MiB,touch=all]"


def test_an_operation_without_mode_is_its_own_name() -> None:
    assert format_name("json_loads", "") == "json_loads"


def test_a_metric_stands_behind_a_colon() -> None:
    assert format_metric_name("implicit_close[NONE]", "gc.time") == "implicit_close[NONE]:gc.time"


@given(WORD, WORD, st.dictionaries(KEY, WORD, max_size=3), st.none() | WORD)
def test_a_name_comes_back_in_its_parts(
    operation: str, mode: str, params: dict[str, str], metric: str | None
) -> None:
    name = format_name(operation, mode, params)
    if metric is not None:
        name = format_metric_name(name, metric)
    assert parse_name(name) == Name(operation, mode, params, metric)


@pytest.mark.parametrize(
    "name",
    ["", "a[", "a[]", "a[NONE", "a[NONE,size]", "a[NONE]b", "a[NONE,b=1,a=1]", "a[N,a=1,a=2]"],
)
def test_a_name_that_could_not_have_been_made_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_name(name)


@pytest.mark.parametrize(
    ("operation", "mode", "params"),
    [("a[b", "NONE", {}), ("a", "N,O", {}), ("a", "NONE", {"b=": "1"}), ("a", "N", {"b": "1,2"})],
)
def test_parts_that_could_not_be_told_apart_again_make_no_name(
    operation: str, mode: str, params: dict[str, str]
) -> None:
    with pytest.raises(ValueError, match="without brackets, ':' and the like, found"):
        format_name(operation, mode, params)
