"""Times of single calls in the buckets of HdrHistogram, and their percentiles."""

import base64
import math
import zlib
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.histogram import (
    LEAST_BEYOND,
    PER_SECOND,
    PERCENTILES,
    Histogram,
    bucket_of,
    lowest_of,
)

LARGEST = 2**46 - 1
VALUES = st.lists(st.integers(0, 2**40), min_size=1, max_size=400)


def histogram(values: Sequence[int]) -> Histogram:
    """Of values in units of the histogram."""
    return Histogram.of((value / PER_SECOND, 1) for value in values)


def test_small_values_have_buckets_of_their_own() -> None:
    assert [bucket_of(value) for value in range(2048)] == list(range(2048))


@pytest.mark.parametrize("bucket", [2047, 2048, 3071, 3072, 20_000, bucket_of(LARGEST)])
def test_a_bucket_begins_where_the_one_before_it_ends(bucket: int) -> None:
    assert bucket_of(lowest_of(bucket)) == bucket
    assert bucket_of(lowest_of(bucket) - 1) == bucket - 1


def test_what_is_too_long_is_in_the_last_bucket() -> None:
    assert bucket_of(LARGEST + 1) == bucket_of(10**30) == bucket_of(LARGEST)


@given(VALUES)
def test_a_percentile_is_of_nearest_rank_to_a_thousandth(values: list[int]) -> None:
    found = histogram(values)
    for share in PERCENTILES:
        exact = sorted(values)[max(math.ceil(Fraction(share) * len(values)), 1) - 1]
        seconds = found.percentile(share)
        if seconds is not None:
            assert seconds * PER_SECOND == pytest.approx(exact, rel=1 / 1024, abs=0.5)


@pytest.mark.parametrize(
    ("share", "least"),
    [("0.50", 20), ("0.90", 100), ("0.95", 200), ("0.99", 1000), ("0.999", 10_000)],
)
def test_a_percentile_needs_calls_beyond_it(share: str, least: int) -> None:
    assert Fraction(share) + Fraction(LEAST_BEYOND, least) == 1
    assert Histogram({5: least - 1}).percentile(share) is None
    assert Histogram({5: least}).percentile(share) == 5 / PER_SECOND


def test_fastest_and_slowest_are_known_of_any_call() -> None:
    one = histogram([123])
    assert one.percentile("0.00") == one.percentile("1.00") == 123 / PER_SECOND


def test_no_call_has_no_percentile() -> None:
    assert [Histogram({}).percentile(share) for share in PERCENTILES] == [None] * len(PERCENTILES)


def test_percentiles_are_no_maxima_and_no_means() -> None:
    calls = histogram([100] * 9900 + [50_000] * 100)
    assert calls.percentile("0.50") == calls.percentile("0.99") == 100 / PER_SECOND
    assert calls.percentile("0.999") == pytest.approx(50_000 / PER_SECOND, rel=1e-3)


def test_a_merged_percentile_is_of_all_calls_and_no_mean_of_percentiles() -> None:
    quick, slow = histogram([100] * 3000), histogram([900] * 1000)
    assert Histogram.merged([quick, slow]).percentile("0.50") == 100 / PER_SECOND
    assert Histogram.merged([quick, slow]).percentile("0.90") == 900 / PER_SECOND
    assert Histogram.merged([quick, slow]).count == 4000


def test_the_slowest_calls_and_their_share_of_the_time() -> None:
    calls = histogram([100] * 900 + [900] * 100)
    assert calls.slowest(500 / PER_SECOND) == (100, pytest.approx(0.5))
    assert calls.slowest(1) == (0, 0.0)
    assert Histogram({}).slowest(0) == (0, 0.0)


@given(st.dictionaries(st.integers(0, bucket_of(LARGEST)), st.integers(1, 2**50), max_size=50))
def test_what_is_written_is_read_again(counts: dict[int, int]) -> None:
    found = Histogram(dict(sorted(counts.items())))
    assert Histogram.decode(found.encode()) == found


@given(VALUES)
def test_hdrhistogram_reads_the_same_from_the_text(values: list[int]) -> None:
    theirs = pytest.importorskip("hdrh.histogram").HdrHistogram
    ours = histogram(values)
    read = theirs.decode(ours.encode())
    assert read.get_total_count() == len(values)
    own = theirs(1, LARGEST, 3)
    for value in values:
        own.record_value(value)
    for percent in (0, 50, 99, 100):
        assert read.get_value_at_percentile(percent) == own.get_value_at_percentile(percent)
    assert read.get_max_value() == round((ours.percentile("1.00") or 0) * PER_SECOND)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cut off"),
        ("HISTF", "not an HDR histogram or cut off"),
        ("schöne Zeit", "not an HDR histogram|string argument"),
        (base64.b64encode(b"12345678").decode(), "expected a compressed HDR histogram"),
        (Histogram({1: 1}).encode()[:-4], "expected a compressed HDR histogram"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Histogram.decode(text)


def packed(inner: bytes) -> str:
    compressed = zlib.compress(inner)
    header = b"\x1c\x84\x93\x14" + len(compressed).to_bytes(4, "big")
    return base64.b64encode(header + compressed).decode()


def inner(counts: bytes, digits: int = 3) -> bytes:
    header = bytearray(zlib.decompress(base64.b64decode(Histogram({}).encode())[8:]))
    header[4:8] = len(counts).to_bytes(4, "big")
    header[15] = digits
    return bytes(header) + counts


@pytest.mark.parametrize(
    ("whole", "message"),
    [
        (b"", "cut off"),
        (inner(b"")[:20], "cut off"),
        (b"\0" * 40, "found others"),
        (inner(b"") + b"\2", "found others"),
        (inner(b"", digits=2), "expected an HDR histogram of"),
        (inner(b"\x80"), "cut off or more than its buckets"),
        (inner(b"\2" * 40_000), "cut off or more than its buckets"),
    ],
    ids=["empty", "short", "zeros", "longer", "two digits", "half a number", "too many"],
)
def test_histograms_of_another_kind_are_refused(whole: bytes, message: str) -> None:
    assert Histogram.decode(packed(inner(b"\2"))) == Histogram({0: 1})
    with pytest.raises(ValueError, match=message):
        Histogram.decode(packed(whole))
