"""Histograms of the times of single calls, and the percentiles of one.

The buckets are those of an HDR histogram of three digits over tenths of a nanosecond, and the text
of one is HdrHistogram's own format (V2, compressed), so that its tools for other languages read it:
https://hdrhistogram.github.io/HdrHistogram/. Values up to 2,047 have a bucket each; beyond, every
doubling is cut into 1,024 of equal width. So a time is known to a tenth of a nanosecond or to a
thousandth of itself.
"""

import base64
import binascii
import math
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

PER_SECOND = 10**10
"""Units of a time: tenths of a nanosecond."""
PERCENTILES = ("0.00", "0.50", "0.90", "0.95", "0.99", "0.999", "0.9999", "1.00")
"""As JMH prints them, shares of one."""
LEAST_BEYOND = 10
"""Calls that must be beyond a percentile: with fewer it is next to the maximum, which is luck. The
lowest and the highest are what they are of any number."""

_DIGITS = 3
_HALF_BITS = 10
_SINGLES = 2 << _HALF_BITS
_LARGEST = 2**46 - 1  # tenths of a nanosecond: 1.9 hours

_COOKIE, _COMPRESSED_COOKIE = 0x1C849313, 0x1C849314
_HEADER = struct.Struct(">iiiiqqd")
"""Cookie, bytes of counts, offset, digits, lowest and highest value, factor to the value's unit."""
_COMPRESSED_HEADER = struct.Struct(">ii")
_MOST_BYTES = 1 << 20
"""Of a histogram: each of 38,000 buckets takes nine at most."""


def bucket_of(value: int) -> int:
    """The number of the bucket of a value in units, from 0 on; beyond the last one it is that."""
    value = min(value, _LARGEST)
    shift = max(value, _SINGLES - 1).bit_length() - _HALF_BITS - 1
    return (shift << _HALF_BITS) + (value >> shift)


def lowest_of(bucket: int) -> int:
    """The lowest value in a bucket, in units."""
    shift = max((bucket >> _HALF_BITS) - 1, 0)
    return (bucket - (shift << _HALF_BITS)) << shift


@dataclass(frozen=True)
class Histogram:
    """How many calls took how long: `counts` by bucket, in rising order, none of them 0."""

    counts: Mapping[int, int]

    @classmethod
    def of(cls, samples: Iterable[tuple[float, int]]) -> "Histogram":
        """From pairs of seconds and how many calls took that long."""
        counts: Counter[int] = Counter()
        for seconds, count in samples:
            counts[bucket_of(round(seconds * PER_SECOND))] += count
        return cls(dict(sorted(counts.items())))

    @classmethod
    def merged(cls, histograms: Iterable["Histogram"]) -> "Histogram":
        """All calls of several."""
        counts: Counter[int] = Counter()
        for histogram in histograms:
            counts.update(histogram.counts)
        return cls(dict(sorted(counts.items())))

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    def percentile(self, share: str) -> float | None:
        """The seconds that this share of the calls ("0.99") took at most; "0.00" is the fastest.

        The smallest time in the histogram that so many calls do not exceed (nearest rank). None if
        fewer than `LEAST_BEYOND` calls are beyond it, or there are none at all.
        """
        quantile = Fraction(share)
        count = self.count
        if not count or (0 < quantile < 1 and count * (1 - quantile) < LEAST_BEYOND):
            return None
        rank = max(math.ceil(quantile * count), 1)
        bucket = next(
            bucket
            for bucket, upto in zip(self.counts, accumulate(self.counts.values()), strict=True)
            if upto >= rank
        )
        # The highest of the bucket, as HdrHistogram has it: that many calls are surely not above.
        return (lowest_of(bucket) if not quantile else lowest_of(bucket + 1) - 1) / PER_SECOND

    def middles(self) -> list[tuple[float, int]]:
        """The seconds in the middle of each bucket, and how many calls it holds; in rising order.

        None is further from its calls than half a bucket.
        """
        return [
            ((lowest_of(bucket) + lowest_of(bucket + 1) - 1) / 2 / PER_SECOND, number)
            for bucket, number in self.counts.items()
        ]

    def slowest(self, above_s: float) -> tuple[int, float]:
        """How many calls took longer than that, and their share of the time of all."""
        calls, time, whole = 0, 0.0, 0.0
        for each, number in self.middles():
            whole += each * number
            if each > above_s:
                calls += number
                time += each * number
        return calls, time / whole if whole else 0.0

    def encode(self) -> str:
        """HdrHistogram's text of it: version 2, compressed, base64."""
        counts = bytearray()
        last = -1
        for bucket, number in self.counts.items():
            if bucket - last > 1:
                counts += _signed(-(bucket - last - 1))
            counts += _signed(number)
            last = bucket
        header = (_COOKIE, len(counts), 0, _DIGITS, 1, _LARGEST, 1 / PER_SECOND)
        packed = zlib.compress(_HEADER.pack(*header) + counts)
        whole = _COMPRESSED_HEADER.pack(_COMPRESSED_COOKIE, len(packed)) + packed
        return base64.b64encode(whole).decode("ascii")

    @classmethod
    def decode(cls, text: str) -> "Histogram":
        """What `encode` has written; ValueError for anything else."""
        try:
            packed = base64.b64decode(text, validate=True)
            cookie, length = _COMPRESSED_HEADER.unpack_from(packed)
            if cookie != _COMPRESSED_COOKIE or length != len(packed) - _COMPRESSED_HEADER.size:
                raise ValueError("expected a compressed HDR histogram of version 2")
            whole = zlib.decompressobj().decompress(
                packed[_COMPRESSED_HEADER.size :], max_length=_MOST_BYTES
            )
            cookie, length, *rest = _HEADER.unpack_from(whole)
        except (binascii.Error, struct.error, zlib.error) as error:
            raise ValueError(f"not an HDR histogram or cut off: {error}") from None
        if cookie != _COOKIE or length != len(whole) - _HEADER.size:
            raise ValueError("expected the counts of an HDR histogram of version 2, found others")
        expected = [0, _DIGITS, 1, _LARGEST, 1 / PER_SECOND]
        if rest != expected:
            raise ValueError(f"expected an HDR histogram of {expected}, found {rest}")
        return cls(_counts(whole[_HEADER.size :]))


def _counts(data: bytes) -> dict[int, int]:
    """Numbers by bucket. A number below zero stands for so many empty buckets."""
    counts: dict[int, int] = {}
    bucket, value, shift = 0, 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte & 0x80:
            continue
        number = (value >> 1) ^ -(value & 1)
        if number > 0:
            counts[bucket] = number
        bucket += max(-number, 1)
        value, shift = 0, 0
    if shift or bucket > bucket_of(_LARGEST) + 1:
        raise ValueError("the counts of the HDR histogram are cut off or more than its buckets")
    return counts


def _signed(number: int) -> bytes:
    """A number in zigzag LEB128, seven bits a byte, the lowest first.

    HdrHistogram puts eight bits into a ninth byte: numbers of so many calls do not occur.
    """
    value = number << 1 if number >= 0 else (-number << 1) - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
