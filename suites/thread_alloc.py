"""How much is allocated where threads come and go, and who notices?

Each operation allocates the same bytes; the rows differ in which thread does it. The score is of
little interest here: read the rows :alloc.rate.norm, bytes an operation.

  baseline    the empty operation: the harness allocates nothing
  inline      the measured thread allocates
  separate    a new thread allocates, and ends: one thread an operation

The wrong way to count is to ask each live thread before and after, and to add up the differences:
:alloc.live.norm. The right way folds the counters of a thread into the total when it ends:
:alloc.rate.norm.

What you should see: by the right figure inline and separate agree within 1 %, and what separate
has more is the price of a thread (4 to 7 KB by version of Python; 25 KB, or 2.5 %, without GIL).
The wrong figure is right for inline and misses over 99 % of separate: the threads that allocated
are gone, and what is left is what the measured thread took to start them. The collector (:gc.count,
:gc.time) hardly runs in either: it counts objects, and a million bytes are one.
"""

from suites.cells import Part, Suite
from suites.main import run
from suites.rows import BASELINE, Row, Work

SIZE = 1_000_000

ROWS = (
    BASELINE,
    Row(
        "inline",
        "the measured thread allocates",
        body="""
            memory = bytearray(size)
            touch(memory)
            del memory
        """,
    ),
    Row(
        "separate",
        "a thread is started, allocates, and is joined",
        setup="from threading import Thread",
        body="""
            def allocate():
                memory = bytearray(size)
                touch(memory)

            thread = Thread(target=allocate)
            thread.start()
            thread.join()
        """,
    ),
)

SUITE = Suite(
    name="thread_alloc",
    text=__doc__,
    rows=ROWS,
    quick=(Part(size=SIZE),),
    work=Work(size=SIZE),
    probes=("alloc", "alloc-live", "gc"),
)

if __name__ == "__main__":
    raise SystemExit(run(SUITE))
