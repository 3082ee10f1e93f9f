"""What does it cost to allocate many arrays as one structure, and who counts along?

Each operation makes a structure of n arrays of n 4-byte integers, and drops or closes it; --size is
n, a count and not bytes. The rows differ in whose memory it is and in how many pieces.

  baseline         the empty operation: the cost of the harness itself
  scope_segments   one scope, a segment an array
  segment_parts    one scope, one segment, and a part of it an array
  scope_zeros      one scope and one NumPy array of n x n in it
  numpy_rows       a NumPy array an array
  numpy_matrix     one NumPy array of n x n
  nested_lists     a list of lists
  bytearrays       a bytearray an array
  ctypes_arrays    a ctypes array an array

The wrong way is a piece for each array where the lifetime is one: every piece is made, tracked and
freed by itself. The right way allocates once and hands out parts, or takes one array of two axes.

What you should see: for large n the cost of a row is that of its zeroed bytes, 4 n n of them, and
the rows come together; for small n it is that of making objects, where one scope with parts beats
separate arrays. What watching costs is a before and an after: --under tracemalloc, or of scopes
--under events and --under listener, and python -m results compare BEFORE AFTER --across under.
"""

from suites.cells import Part, Suite
from suites.main import run
from suites.rows import BASELINE, Row, Work

SIZES = tuple(2**power for power in range(11))

_SCOPE = """
    from scopes import ConfinedScope

    nbytes = 4 * size
    times_n = range(size)
"""

ROWS = (
    BASELINE,
    Row(
        "scope_segments",
        "one scope, a segment an array",
        setup=_SCOPE,
        body="""
            scope = ConfinedScope()
            allocate = scope.allocate
            arrays = [allocate(nbytes) for _ in times_n]
            scope.close()
            del arrays
        """,
    ),
    Row(
        "segment_parts",
        "one scope, one segment, and a part of it an array",
        setup=f"""{_SCOPE}
    starts = range(0, nbytes * size, nbytes)
""",
        body="""
            scope = ConfinedScope()
            memory = scope.allocate(nbytes * size)
            arrays = [memory[start : start + nbytes] for start in starts]
            scope.close()
            del memory, arrays
        """,
    ),
    Row(
        "scope_zeros",
        "one scope and one NumPy array of n x n in it",
        setup="""
            from numpy import dtype

            from scopes import ConfinedScope

            i4 = dtype("i4")
            shape = size, size
        """,
        body="""
            scope = ConfinedScope()
            matrix = scope.zeros(shape, i4)
            del matrix
            scope.close()
        """,
    ),
    Row(
        "numpy_rows",
        "a NumPy array an array",
        setup="""
            from numpy import dtype, zeros

            i4 = dtype("i4")
            times_n = range(size)
        """,
        body="""
            arrays = [zeros(size, i4) for _ in times_n]
            del arrays
        """,
        requires="numpy",
    ),
    Row(
        "numpy_matrix",
        "one NumPy array of n x n",
        setup="""
            from numpy import dtype, zeros

            i4 = dtype("i4")
            shape = size, size
        """,
        body="""
            matrix = zeros(shape, i4)
            del matrix
        """,
        requires="numpy",
    ),
    Row(
        "nested_lists",
        "a list of lists",
        setup="times_n = range(size)",
        body="""
            arrays = [[0] * size for _ in times_n]
            del arrays
        """,
    ),
    Row(
        "bytearrays",
        "a bytearray an array",
        setup="""
            nbytes = 4 * size
            times_n = range(size)
        """,
        body="""
            arrays = [bytearray(nbytes) for _ in times_n]
            del arrays
        """,
    ),
    Row(
        "ctypes_arrays",
        "a ctypes array an array",
        setup="""
            from ctypes import c_int32

            Array = c_int32 * size
            times_n = range(size)
        """,
        body="""
            arrays = [Array() for _ in times_n]
            del arrays
        """,
    ),
)

SUITE = Suite(
    name="multi_array_alloc",
    text=__doc__,
    rows=ROWS,
    quick=(Part(size=1), Part(size=32), Part(size=1024)),
    work=Work(size=SIZES[-1], touch="none"),
    sizes=SIZES,
    counts=True,
)

if __name__ == "__main__":
    raise SystemExit(run(SUITE))
