"""The unit and the decimals that fit a column of numbers.

Numbers that are read against each other share a unit. They get the largest one in which the
smallest of them still shows; where they lie too far apart for that, each gets its own.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_SECONDS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
_BYTES = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("bytes", 1.0))

# In units. A time per operation shares its unit with all others, from the empty operation up: the
# smallest shows two of its digits in four decimals. Totals and peaks keep to friendlier numbers.
_LEAST_PER_OPERATION, _LEAST = 0.002, 0.1
_MOST = 99_999.0
_MOST_DECIMALS = 4


@dataclass(frozen=True)
class Scale:
    """How a number is printed: divided by `factor`, with so many `decimals`, before `symbol`."""

    symbol: str
    factor: float = 1.0
    decimals: int = 0

    def format(self, value: float) -> str:
        """The number without its unit. Zero is "0", and what would round to it "<0.001"."""
        scaled = value / self.factor
        if value == 0:
            return "0"
        text = f"{scaled:.{self.decimals}f}"
        if float(text) != 0:
            return text
        least = f"{10.0**-self.decimals:.{self.decimals}f}"
        return f"<{least}" if value > 0 else f">-{least}"


def scale_for(unit: str, values: Iterable[float], share: bool = False) -> Scale | None:
    """The scale for all these values of a unit of a file (s, s/op, bytes ...).

    None if the values lie too far apart for one. `share`: the unit is a ratio to print as per cent.
    """
    sizes = sorted(abs(value) for value in values if value)
    if share:
        return Scale("%", 0.01, 1)
    base, slash, per = unit.partition("/")
    ladder = {"s": _SECONDS, "bytes": _BYTES}.get(base)
    if ladder is None:
        return Scale(unit, 1.0, _decimals(sizes, 2))
    suffix = slash + per
    if not sizes:
        # All are zero: the unit that such figures mostly have.
        symbol, factor = ladder[1]
        return Scale(symbol + suffix, factor)
    least, digits, least_decimals = _LEAST, 2, 1
    if per == "op":
        least, digits, least_decimals = _LEAST_PER_OPERATION, 3, 3
    for symbol, factor in ladder:
        if sizes[0] / factor >= least and sizes[-1] / factor <= _MOST:
            scaled = [size / factor for size in sizes]
            return Scale(symbol + suffix, factor, _decimals(scaled, digits, least_decimals))
    return None


def brief(unit: str, value: float) -> str:
    """A number with its own unit for a sentence, two or three digits: "812 MiB", "1.5 us"."""
    scale = own_scale(unit, value)
    scaled = value / scale.factor
    return f"{scaled:.{0 if abs(scaled) >= 10 or scaled == int(scaled) else 1}f} {scale.symbol}"


def own_scale(unit: str, value: float) -> Scale:
    """The scale for a value by itself: the largest unit of which it makes at least one."""
    base, slash, per = unit.partition("/")
    ladder = {"s": _SECONDS, "bytes": _BYTES}.get(base, ((base, 1.0),))
    symbol, factor = next((step for step in ladder if abs(value) >= step[1]), ladder[-1])
    return Scale(symbol + slash + per, factor, _decimals([abs(value) / factor], 2, 1))


def _decimals(sizes: Sequence[float], digits: int, least: int = 0) -> int:
    """As many as the smallest number needs to show so many digits; none for whole numbers."""
    if all(size == int(size) for size in sizes) and least <= 1:
        return 0
    needed = digits - 1 - math.floor(math.log10(min(size for size in sizes if size)))
    return min(max(needed, least), _MOST_DECIMALS)
