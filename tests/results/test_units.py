import pytest

from results.units import Scale, brief, own_scale, scale_for

MIB = 2**20


@pytest.mark.parametrize(
    ("unit", "values", "symbol"),
    [
        ("s/op", [1.5e-8, 1e-7, 4e-4], "us/op"),
        ("s/op", [2e-9, 1e-7], "ns/op"),
        ("s/op", [9e-9, 4e-4], "us/op"),
        ("s/op", [0.4, 1.2], "s/op"),
        ("s", [0.054, 4.81], "ms"),
        ("s", [1.2, 4.81], "s"),
        ("bytes", [32 * MIB, 900 * MIB], "MiB"),
        ("bytes", [0, 300 * 1024, 780 * MIB], "MiB"),
        ("bytes", [200 * MIB, 900 * MIB], "MiB"),
        ("bytes", [64, 128], "bytes"),
        ("bytes/s", [3 * 2**30], "GiB/s"),
        ("bytes/op", [1_000_057, 1_006_677], "KiB/op"),
        ("collections", [3, 12], "collections"),
    ],
)
def test_a_column_has_the_largest_unit_that_shows_its_smallest_number(
    unit: str, values: list[float], symbol: str
) -> None:
    scale = scale_for(unit, values)
    assert scale is not None
    assert scale.symbol == symbol


@pytest.mark.parametrize("unit", ["s", "s/op", "bytes", "ratio", "collections"])
@pytest.mark.parametrize("smallest", [1.23e-9, 1.5e-8, 3e-4, 0.07, 1.0, 640.0])
@pytest.mark.parametrize("span", [1.0, 30.0, 1e4])
def test_no_number_of_a_column_prints_as_zero_unless_it_is(
    unit: str, smallest: float, span: float
) -> None:
    scale = scale_for(unit, [smallest, smallest * span])
    texts = [
        (scale or own_scale(unit, value)).format(value) for value in (smallest, smallest * span)
    ]
    assert all(text.strip("0.") for text in texts)


def test_numbers_too_far_apart_for_one_unit_get_their_own() -> None:
    assert scale_for("bytes", [1024, 800 * MIB]) is None
    assert own_scale("bytes", 1024).symbol == "KiB"
    assert own_scale("bytes", 800 * MIB).symbol == "MiB"


def test_a_share_is_printed_as_per_cent() -> None:
    scale = scale_for("ratio", [0.41, 0.02], share=True)
    assert scale is not None
    assert (scale.format(0.41), scale.symbol) == ("41.0", "%")


def test_times_per_operation_keep_three_decimals_or_more() -> None:
    scale = scale_for("s/op", [1.05e-7, 2.5e-4])
    assert scale is not None
    assert [scale.format(value) for value in (1.05e-7, 2.5e-4)] == ["0.105", "250.000"]


def test_sizes_per_operation_that_differ_by_less_than_a_hundredth_read_differently() -> None:
    scale = scale_for("bytes/op", [1_000_057.3, 1_006_677.2])
    assert scale is not None
    assert [scale.format(value) for value in (1_000_057.3, 1_006_677.2)] == ["976.6", "983.1"]


def test_whole_numbers_have_no_decimals() -> None:
    scale = scale_for("collections", [3, 12])
    assert scale is not None
    assert scale.format(12.0) == "12"


def test_zero_is_a_bare_zero() -> None:
    assert Scale("ms", 1e-3, 3).format(0.0) == "0"


def test_what_would_round_to_zero_says_so() -> None:
    assert Scale("us", 1e-6, 3).format(1e-10) == "<0.001"
    assert Scale("us", 1e-6, 3).format(-1e-10) == ">-0.001"


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("bytes", 812.4 * MIB, "812 MiB"),
        ("bytes", 1.5 * 2**30, "1.5 GiB"),
        ("s", 0.0463, "46 ms"),
        ("s", 1.2e-7, "120 ns"),
        ("s", 3e-10, "0.3 ns"),
        ("bytes", 0, "0 bytes"),
    ],
)
def test_a_number_in_a_sentence_is_short(unit: str, value: float, text: str) -> None:
    assert brief(unit, value) == text


def test_single_calls_of_some_hundred_nanoseconds_are_in_nanoseconds() -> None:
    assert scale_for("s", [1.419e-7, 3.5e-6], calls=True) == Scale("ns", 1e-9, 1)
    assert scale_for("s", [1.419e-7, 3.5e-6]) == Scale("us", 1e-6, 2)
