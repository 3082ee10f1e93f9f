"""What is in a recording, against counting one operation after the other, and how it is shown."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suites.recordings import loader, show
from suites.recordings.format import EVENT, EVENTS, Operation
from suites.recordings.loader import Recording
from suites.recordings.resolve import Resolver
from suites.recordings.slots import Carried
from suites.recordings.summary import BUCKETS, SHORT, SMALL, summarize


def recording(*fields, **info):
    """Of events (operation, object, other, size, time_ns), as if it had been loaded."""
    block = np.zeros(len(fields), EVENT)
    for row, values in zip(block, fields, strict=True):
        name, *rest = values
        row["operation"] = EVENTS[name]
        for field, value in zip(("object", "other", "size", "time_ns"), rest, strict=False):
            row[field] = value
    resolver = Resolver(timed=True)
    operations = resolver.run(block)
    threads = ({"name": "main", "main": True},)
    known = {"source": "csv", "truncated": None} | resolver.info() | info
    return Memory(None, operations, threads, known)


class Memory(Recording):
    """A recording that is not on the disk."""

    def blocks(self, size=3):
        for start in range(0, len(self.operations), size):
            yield self.operations[start : start + size]


HEAP = (
    ("allocate", 10, 0, 100, 5),
    ("allocate", 20, 0, 1000, 10),
    ("reallocate", 10, 30, 300, 20),
    ("free", 20, 0, 0, 30),
    ("allocate", 40, 0, 0, 40),
    ("free", 30, 0, 0, 1040),
)


def test_operations_sizes_and_the_peak_are_counted():
    found = summarize(recording(*HEAP))
    assert found.operations == {"allocate": 3, "reallocate": 1, "free": 2}
    assert (found.allocations, found.allocated_bytes, found.small) == (3, 1100, 2)
    assert (found.peak_bytes, found.peak_sequence, found.peak_ns) == (1300, 2, 15)
    assert (found.live_bytes, found.duration_ns) == (0, 1035)
    assert {int(n): int(found.sizes[n]) for n in np.flatnonzero(found.sizes)} == {0: 1, 7: 1, 10: 1}
    assert found.bytes_by_size[7] == 100
    assert found.threads == [
        {"name": "main", "main": True, "operations": 6, "allocated_bytes": 1100}
    ]


def test_lifetimes_are_in_operations_and_in_time():
    found = summarize(recording(*HEAP)).objects
    assert (found.count, found.short, found.small_and_short) == (2, 2, 1)
    assert {int(n): int(found.operations[n]) for n in np.flatnonzero(found.operations)} == {
        2: 1,
        3: 1,
    }
    assert {int(n): int(found.ns[n]) for n in np.flatnonzero(found.ns)} == {5: 1, 11: 1}


def test_memory_of_scopes_is_live_until_the_close():
    found = summarize(
        recording(
            ("open", 0, 1),
            ("allocate", 10, 1, 100),
            ("drop", 10),
            ("allocate", 20, 1, 50),
            ("close", 0, 1),
            ("drop", 20),
            ("drop_scope", 0, 1),
        )
    )
    assert (found.peak_bytes, found.live_bytes) == (150, 0)
    assert (found.objects.count, found.scopes.count) == (2, 1)
    assert found.scopes.operations[3] == 1


def test_a_life_of_more_operations_is_not_short():
    pairs = [("allocate", 20, 0, 1), ("free", 20)] * (SHORT // 2)
    found = summarize(recording(("allocate", 10, 0, SMALL + 1), *pairs, ("free", 10)))
    assert (found.objects.count, found.objects.short) == (SHORT // 2 + 1, SHORT // 2)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["allocate", "free"]),
            st.integers(1, 5),
            st.just(0),
            st.integers(0, 2000),
        ),
        min_size=1,
        max_size=40,
    )
)
@settings(deadline=None, max_examples=100)
def test_it_is_what_counting_one_by_one_gives(fields):
    made = recording(*fields)
    if len(made.operations) == 0:
        return
    live, peak, begun, lived, sizes = {}, 0, {}, Counter(), Counter()
    for row in made.operations:
        slot = int(row["object"])
        if row["operation"] == Operation.ALLOCATE:
            live[slot], begun[slot] = int(row["size"]), int(row["sequence"])
            sizes[int(row["size"]).bit_length()] += 1
        else:
            del live[slot]
            lived[(int(row["sequence"]) - begun[slot]).bit_length()] += 1
        peak = max(peak, sum(live.values()))
    found = summarize(made)
    assert (found.peak_bytes, found.live_bytes) == (peak, sum(live.values()))
    assert found.sizes.tolist() == [sizes[n] for n in range(BUCKETS)]
    assert found.objects.operations.tolist() == [lived[n] for n in range(BUCKETS)]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 9)), max_size=30))
@settings(deadline=None)
def test_a_slot_remembers_what_was_set_last(steps):
    carried, last = Carried(4, 1), {}
    for start in range(0, len(steps), 7):
        part = steps[start : start + 7]
        slot, sets, value = (np.array(column) for column in zip(*part, strict=True))
        (found,) = carried.before(slot.astype(np.uint32), sets.astype(bool), value)
        for index, (at, is_set, number) in enumerate(part):
            assert found[index] == last.get(at, -1)
            if is_set:
                last[at] = number


# ---- shown ---------------------------------------------------------------------------------------


def test_the_page_tells_what_matters():
    made = recording(
        *HEAP,
        ("free", 99),
        ("free", 99),
        truncated="max_operations=6 was reached",
        command=["script.py", "1"],
        overhead={"ns_per_operation": 41.5, "how": "somehow"},
    )
    page = show.text(made, summarize(made))
    for line in (
        "None: 6 operations of 1 thread, by csv",
        "command       script.py 1",
        "truncated     max_operations=6 was reached",
        "overhead      41.5 ns an operation (somehow)",
        "peak          1.3 KiB live (operation 2, 33%, after 15 ns)",
        "at the end    0 bytes live in 1 object",
        "  allocate                 3  unknown 3",
        "allocations: 1.1 KiB in all, 67% of them of at most 512 bytes",
        "  64 to 127                          1     100 bytes  ##############################",
        "2 objects ended: 100% within 1,000 operations, 50% of at most 512 bytes, too",
        "  main                             6       1.1 KiB",
        "preexisting: 1 event of what is older than the recording left out: free 1",
        "invalid: 1 event that can't be true left out: of an object that has ended 1",
    ):
        assert line in page.splitlines()


def test_json_has_all_of_it():
    made = recording(*HEAP)
    found = json.loads(show.json_text(made, summarize(made)))
    assert found["info"]["end"] == {"live_objects": 1, "live_bytes": 0}
    assert found["summary"]["sizes"][0] == {"from": 0, "to": 0, "count": 1, "bytes": 0}
    assert found["summary"]["sizes"][-1] == {"from": 512, "to": 1023, "count": 1, "bytes": 1000}
    assert found["summary"]["objects"]["count"] == 2


def test_many_threads_are_cut_short():
    made = recording(*HEAP)
    threads = tuple({"name": f"thread {n}", "main": n == 0} for n in range(30))
    many = Memory(None, made.operations, threads, made.info)
    page = show.text(many, summarize(many))
    assert "  and 20 more" in page.splitlines()


@pytest.mark.parametrize("timed", [True, False], ids=["timed", "untimed"])
def test_synthetic_recordings_can_be_shown(tmp_path, timed):
    from suites.recordings.synthetic import Hot, ScopeLives

    (ScopeLives(10) if timed else Hot(1000)).write(tmp_path / "made")
    made = loader.load(tmp_path / "made")
    assert f"{len(made.operations):,} operations" in show.text(made, summarize(made))
