"""What does it cost to give memory back, and who pays?

Each operation opens a scope, allocates from it, writes to the memory and gets rid of it. The rows
differ in how it is got rid of, the modes in what else the process has on its hands.

  baseline                  the empty operation: the cost of the harness itself
  confined_close            the right way: explicit close(), one thread
  shared_close              the right way where threads share the memory
  implicit_close            the wrong way: the scope is part of a reference cycle, as in real
                            object graphs, so that only the garbage collector can free it
  implicit_close_systemgc   the usual cure: the same, and a full collection every N operations
  implicit_close_budget     the cure of this library: the same, and the scopes' byte budget, which
                            asks for a collection once 64 MiB are unreleased
  implicit_close_refcount   no cycle: freed with the last reference
  implicit_close_weakref    freed when another object, its owner, dies

What you should see: by score alone implicit_close looks like a fair price for never having to think
about lifetimes. Its rows :rss.peak and :gc.time tell the rest: memory that nobody uses piles up,
because the collector counts objects and not bytes, and it comes back in pauses. With a large heap
(MEMORY) each periodic collection walks all of it. implicit_close_budget bounds the memory, and is
faster at that where memory is large: what is freed early is reused warm. confined_close and
shared_close show no collection and no growth in any mode. In THREADS the busy threads take most of
the wall time from every row alike: read score.cpu there. --sample shows who pays: half of the calls
of implicit_close are as quick as any, and one in some hundred runs the collector for the others.
"""

from stress.modes import StressMode
from suites.cells import Part, Suite
from suites.main import run
from suites.peers import PEERS
from suites.rows import BASELINE, Row, Sharing

_BUDGET_CYCLE = """
    from scopes import ImplicitScope

    class Node:
        __slots__ = ("memory", "myself")
"""

# As any library that leaves native memory to the collector: nobody counts the bytes.
_CYCLE = f"""{_BUDGET_CYCLE}
    from scopes import set_implicit_budget
    set_implicit_budget(None)
    del set_implicit_budget
"""

_CYCLE_BODY = """
    node = Node()
    node.myself = node
    node.memory = memory = ImplicitScope().allocate(size)
    touch(memory)
    del node, memory
"""

# Every byte by a copy, as the peers do it.
_FILL = "memory.copy_from(pattern)"

_SHARED_BODY = """
    memory = scope.allocate(size)
    touch(memory)
"""

ROWS = (
    BASELINE,
    Row(
        "confined_close",
        "open a confined scope, allocate, touch, close()",
        setup="from scopes import ConfinedScope",
        body="""
            scope = ConfinedScope()
            memory = scope.allocate(size)
            touch(memory)
            scope.close()
        """,
        fill=_FILL,
    ),
    Row(
        "shared_close",
        "open a shared scope, allocate, touch, close()",
        setup="from scopes import SharedScope",
        body="""
            scope = SharedScope()
            memory = scope.allocate(size)
            touch(memory)
            scope.close()
        """,
        fill=_FILL,
        sharing=Sharing(
            open="shared.scope = SharedScope()",
            body=_SHARED_BODY,
            close="shared.scope.close()",
        ),
    ),
    Row(
        "implicit_close",
        "the scope is part of a reference cycle: only the collector frees it",
        setup=_CYCLE,
        body=_CYCLE_BODY,
        fill=_FILL,
        cyclic=True,
    ),
    Row(
        "implicit_close_systemgc",
        "the same, and one gc.collect() every --collect-every operations",
        setup=_CYCLE,
        body=_CYCLE_BODY,
        fill=_FILL,
        periodic=True,
    ),
    Row(
        "implicit_close_budget",
        "the same, with the byte budget of the scopes in place of a period",
        setup=_BUDGET_CYCLE,
        body=_CYCLE_BODY,
        fill=_FILL,
        cyclic=True,
    ),
    Row(
        "implicit_close_refcount",
        "no cycle: freed when the last reference is dropped",
        setup="from scopes import ImplicitScope",
        body="""
            memory = ImplicitScope().allocate(size)
            touch(memory)
            del memory
        """,
        fill=_FILL,
        sharing=Sharing(
            open="shared.scope = ImplicitScope()",
            body=_SHARED_BODY,
            close="del shared.scope",
        ),
    ),
    Row(
        "implicit_close_weakref",
        "a scope with an owner: freed when the owner dies",
        setup="""
            from scopes import ImplicitScope

            class Owner:
                __slots__ = ("__weakref__",)
        """,
        body="""
            owner = Owner()
            memory = ImplicitScope(owner=owner).allocate(size)
            touch(memory)
            del memory, owner
        """,
        fill=_FILL,
    ),
)

# At 1 KiB CPython shows little thrash, and the byte budget nothing; at 1 MiB hundreds of MiB of it.
# Stress shows nothing new of rows that the collector has no part in, or of the cure at both sizes.
QUICK = (
    Part(
        size=1024,
        rows=(
            *("baseline", "confined_close", "shared_close"),
            *("implicit_close", "implicit_close_systemgc"),
        ),
    ),
    Part(
        size=1024,
        rows=("implicit_close_refcount", "implicit_close_weakref"),
        modes=(StressMode.NONE,),
    ),
    Part(size=1 << 20, rows=("confined_close", "implicit_close", "implicit_close_budget")),
    Part(size=1 << 20, rows=("implicit_close_systemgc",), modes=(StressMode.NONE,)),
)

SUITE = Suite(name="scope_close", text=__doc__, rows=ROWS, peers=PEERS, quick=QUICK)

if __name__ == "__main__":
    raise SystemExit(run(SUITE))
