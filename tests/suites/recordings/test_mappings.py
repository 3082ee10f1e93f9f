"""Mapped ranges, of which parts are unmapped."""

import mmap

from hypothesis import given
from hypothesis import strategies as st

from suites.recordings.mappings import Mappings

PAGE = mmap.PAGESIZE


def pages_of(first, count):
    return set(range(first, first + count))


def removed(mappings, start, pages):
    return [
        (first // PAGE, size // PAGE, [(a // PAGE, n // PAGE) for a, n in left])
        for first, size, left in mappings.remove(start * PAGE, pages * PAGE)
    ]


def test_all_of_a_mapping_goes():
    mappings = Mappings()
    mappings.add(10 * PAGE, 3 * PAGE)
    assert removed(mappings, 10, 3) == [(10, 3, [])]
    assert removed(mappings, 10, 3) == []


def test_a_part_at_either_end_or_in_the_middle_leaves_the_rest():
    for start, left in ((10, [(11, 4)]), (14, [(10, 4)]), (12, [(10, 2), (13, 2)])):
        mappings = Mappings()
        mappings.add(10 * PAGE, 5 * PAGE)
        assert removed(mappings, start, 1) == [(10, 5, left)]
        assert removed(mappings, 0, 100) == [(first, size, []) for first, size in left]


def test_a_range_over_several_takes_each():
    mappings = Mappings()
    for start in (10, 20, 30):
        mappings.add(start * PAGE, 5 * PAGE)
    assert removed(mappings, 12, 20) == [(10, 5, [(10, 2)]), (20, 5, []), (30, 5, [(32, 3)])]


def test_a_length_is_in_whole_pages():
    mappings = Mappings()
    mappings.add(10 * PAGE, 1)
    assert removed(mappings, 10, 1) == [(10, 1, [])]


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 12), st.integers(1, 5)), max_size=20),
)
def test_it_knows_the_pages_that_are_mapped(steps):
    mappings, mapped = Mappings(), set()
    for adds, start, pages in steps:
        covered = pages_of(start, pages)
        for first, size, left in removed(mappings, start, pages):
            gone = pages_of(first, size).difference(*(pages_of(*part) for part in left))
            assert gone == pages_of(first, size) & covered
            mapped -= gone
        assert not mapped & covered
        if adds:
            mappings.add(start * PAGE, pages * PAGE)
            mapped |= covered
    whole = [pages_of(first, size) for first, size, _ in removed(mappings, 0, 50)]
    assert set().union(*whole) == mapped
