from results.history.text import sparkline


def test_a_sparkline_has_a_tick_a_value() -> None:
    assert sparkline([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]) == "▁▂▃▄▅▆▇█"
    assert sparkline([1.0, None, 8.0]) == "▁·█"


def test_a_level_line_is_low() -> None:
    assert sparkline([3.0, 3.0]) == "▁▁"
    assert sparkline([]) == ""
    assert sparkline([None]) == ""


def test_a_long_sparkline_is_of_means() -> None:
    line = sparkline([0.0] * 500 + [1.0] * 500, width=10)
    assert line == "▁▁▁▁▁█████"
