"""The unit and the decimals that fit a column of numbers.

Numbers that are read against each other share a unit. They get the largest one in which the
smallest of them still shows; where they lie too far apart for that, each gets its own.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SECONDS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
_BYTES = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("bytes", 1.0))
_LADDERS = {"s": SECONDS, "bytes": _BYTES}

_MOST = 99_999.0
"""In units: a longer number is not read but counted."""
_MOST_DECIMALS = 4


@dataclass(frozen=True)
class Scale:
    """How a number is printed: divided by `factor`, with so many `decimals`, before `symbol`."""

    symbol: str
    factor: float = 1.0
    decimals: int = 0

    def format(self, value: float) -> str:
        """The number without its unit. Zero is "0", and what would round to it "<0.001"."""
        if value == 0:
            return "0"
        text = f"{value / self.factor:.{self.decimals}f}"
        if float(text) != 0:
            return text
        least = f"{10.0**-self.decimals:.{self.decimals}f}"
        return f"<{least}" if value > 0 else f">-{least}"


@dataclass(frozen=True)
class _Style:
    """What a column asks for: the sizes in units that its smallest number may have, the better one
    first; the digits of it that show; the decimals that all have at least."""

    least: tuple[float, ...] = (0.1,)
    digits: int = 2
    decimals: int = 1


# All times of operations share a unit, from the empty operation up, so theirs may be small.
_PER_OPERATION = _Style(least=(0.01, 0.002), digits=3, decimals=3)
# Half a GiB reads better in MiB; half a MiB beside hundreds does not in KiB.
_SIZES = _Style(least=(1.0, 0.1))
# Of single calls; one of some hundred nanoseconds is better read with three digits than in us.
_CALLS = _Style(least=(1.0, 0.1), digits=3)
_OTHERS = _Style()
_COUNTS = _Style(decimals=0)


def is_share(name: str, unit: str) -> bool:
    """Whether a metric of that name and unit is told as per cent: others are ratios of one to
    several."""
    return unit == "ratio" and name.endswith((".share", ".overhead"))


def scale_for(
    unit: str, values: Iterable[float], share: bool = False, calls: bool = False
) -> Scale | None:
    """The scale for all these values of a unit of a file (s, s/op, bytes ...).

    None if the values lie too far apart for one. `share`: the unit is a ratio to print as per cent.
    `calls`: the values are times of single calls.
    """
    if share:
        return Scale("%", 0.01, 1)
    base, slash, per = unit.partition("/")
    sizes = sorted(abs(value) for value in values if value)
    if base not in _LADDERS:
        return Scale(unit, 1.0, _decimals(sizes, _COUNTS, base))
    if not sizes:
        # All are zero: the unit that such figures mostly have.
        symbol, factor = _LADDERS[base][1]
        return Scale(symbol + slash + per, factor)
    style = _SIZES if base == "bytes" else _PER_OPERATION if per == "op" else _OTHERS
    if calls:
        style = _CALLS
    for least in style.least:
        for symbol, factor in _LADDERS[base]:
            if sizes[0] / factor >= least and sizes[-1] / factor <= _MOST:
                decimals = _decimals([size / factor for size in sizes], style, base)
                return Scale(symbol + slash + per, factor, decimals)
    return None


def own_scale(unit: str, value: float) -> Scale:
    """The scale for a value by itself: the largest unit of which it makes at least one."""
    base, slash, per = unit.partition("/")
    ladder = _LADDERS.get(base, ((base, 1.0),))
    symbol, factor = next((step for step in ladder if abs(value) >= step[1]), ladder[-1])
    sizes = [abs(value) / factor] if value else []
    return Scale(symbol + slash + per, factor, _decimals(sizes, _OTHERS, base))


def brief(unit: str, value: float) -> str:
    """A number with its own unit for a sentence, two or three digits: "812 MiB", "1.5 us"."""
    scale = own_scale(unit, value)
    scaled = value / scale.factor
    decimals = 0 if abs(scaled) >= 10 or scaled == int(scaled) else 1
    return f"{scaled:.{decimals}f} {scale.symbol}"


def _decimals(sizes: Sequence[float], style: _Style, base: str) -> int:
    """As many as the smallest needs to show its digits; none where all are whole by nature."""
    whole = base != "s" and all(size == int(size) for size in sizes)
    if whole or not sizes:
        return 0
    needed = style.digits - 1 - math.floor(math.log10(min(sizes)))
    return min(max(needed, style.decimals), _MOST_DECIMALS)


def percentage(text: str) -> float:
    """0.05 from "5%"; the sign is asked for, since 5 and 0.05 are both meant by somebody."""
    number = text.strip().removesuffix("%")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if number == text.strip() or not 0 <= value < float("inf"):
        raise ValueError(f"expected per cent, as 5%, found {text!r}")
    return value / 100
