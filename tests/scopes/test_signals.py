"""Signals in the middle: handlers raise, close, allocate and collect wherever the main thread is.

Python runs a handler between two of its instructions, so within our calls wherever these call
Python: callbacks, releases, conversions, finalizers, the collector. Each test runs in a child.
"""

import pytest

#: A scope whose every step calls Python, so that a handler can run there.
LIFE = """
import gc, os, signal
import scopes

class Number:
    def __init__(self, value):
        self.value = value
    def __index__(self):
        for _ in range(20):
            pass
        return self.value

class Node:
    def __init__(self, held):
        self.me, self.held = self, held
    def __del__(self):
        for _ in range(20):
            pass

ran, registered = [], []

def call(number):
    for _ in range(20):
        pass
    ran.append(number)

current = None

def close_current():
    try:
        if current is not None:
            current.close()
    except scopes.ScopeInUseError:
        pass

def life(kind):
    global current
    scope = current = kind()
    try:
        for number in range(3):
            registered.append(scope.callback(call, number))
            segment = scope.allocate(Number(1000), align=Number(16))
            segment.fill(Number(7))
            segment[Number(3):Number(5)] = b"ab"
            memoryview(segment).release()
            with segment.pin():
                segment[Number(1)] = Number(8)
        scope.adopt(Number(4096), Number(0), call)
        Node(scopes.ImplicitScope().allocate(100_000))
    except scopes.ScopeClosedError:
        assert scope.closed
    finally:
        while not getattr(scope, "closed"):
            try:
                scope.close()
            except scopes.ScopeInUseError:
                gc.collect()

def left():
    gc.collect(); gc.collect()
    now = scopes.statistics()
    return (now.live_bytes, now.open_scopes, now.deferred_bytes, now.retired_bytes)

scopes.set_implicit_budget(1_000_000)
"""

AT_A_HIGH_RATE = (
    LIFE
    + """
import sys

class Interrupt(BaseException):
    pass

def arm():
    # Once each time, so that the main thread gets on.
    signal.setitimer(signal.ITIMER_REAL, 0.0003)

def handler(number, frame):
    global handled, may_raise
    handled += 1
    try:
        {handle}
    finally:
        arm()

sys.unraisablehook = lambda seen: seen.exc_type is Interrupt or os._exit(3)
handled = lives = interrupted = 0
may_raise = False
signal.signal(signal.SIGALRM, handler)
arm()
while handled < 300:
    try:
        may_raise = True
        life((scopes.SharedScope, scopes.ConfinedScope)[lives % 2])
        lives += 1
        may_raise = False
    except Interrupt:
        interrupted += 1
signal.signal(signal.SIGALRM, signal.SIG_IGN)
current = None
print(left(), lives > 0, interrupted > 0)
"""
)

HANDLERS = {
    "raising": "if may_raise: may_raise = False; raise Interrupt",
    "closing": "close_current()",
    "opening": "with scopes.SharedScope() as other: other.allocate(5000).fill(9)",
    "collecting": "gc.collect(); scopes.trim(); scopes.set_cache_limit(handled % 2 * 2**20)",
    "garbage": "Node(scopes.ImplicitScope().allocate(300_000))",
}


@pytest.mark.parametrize("handle", HANDLERS.values(), ids=HANDLERS)
def test_a_handler_that_runs_at_a_high_rate_leaves_all_in_order(in_child, handle):
    said = in_child(AT_A_HIGH_RATE.format(handle=handle), "-W", "ignore")
    assert said == f"(0, 0, 0, 0) True {handle == HANDLERS['raising']}"


# ---- KeyboardInterrupt, at a place that is known -------------------------------------------------

INTERRUPTED = (
    LIFE
    + """
signal.signal(signal.SIGINT, signal.default_int_handler)

def interrupt(*ignored):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(100):
        pass
    return 5

class Interrupting:
    __index__ = __bool__ = interrupt
    def __buffer__(self, flags):
        interrupt()
        return memoryview(b"abc")

scope = scopes.SharedScope()
segment = scope.allocate(100)
scope.callback(ran.append, "first")
try:
    {use}
except KeyboardInterrupt:
    print("interrupted", end=" ")
print(scope.closed, scope.statistics().exports, ran, end=" ")
scope.close()
del scope, segment
print(ran, left())
"""
)

KEPT_OPEN = "interrupted False 0 [] ['first'] (0, 0, 0, 0)"
CLOSED = "interrupted True 0 ['first'] ['first'] (0, 0, 0, 0)"
USES = {
    "allocate": ("scope.allocate(Interrupting())", KEPT_OPEN),
    "align": ("scope.allocate(1, align=Interrupting())", KEPT_OPEN),
    "adopt": ("scope.adopt(4096, Interrupting())", KEPT_OPEN),
    "read": ("segment[Interrupting()]", KEPT_OPEN),
    "write": ("segment[0] = Interrupting()", KEPT_OPEN),
    "slice": ("segment[:Interrupting()]", KEPT_OPEN),
    "fill": ("segment.fill(Interrupting())", KEPT_OPEN),
    "copy_from": ("segment.copy_from(b'a', Interrupting())", KEPT_OPEN),
    "limit": ("scopes.SharedScope(limit=Interrupting())", KEPT_OPEN),
    "account": ("scopes.account({1}, Interrupting())", KEPT_OPEN),
    "callback": ("scope.callback(interrupt); scope.close()", CLOSED),
    "callback before others": (
        "scope.callback(interrupt); scope.callback(bool); scope.close()",
        CLOSED,
    ),
    "release": ("scope.adopt(4096, 0, interrupt); scope.close()", CLOSED),
    "with statement": ("with scope: interrupt()", CLOSED),
    "end of a with statement": ("with scope: scope.callback(interrupt)", CLOSED),
}


@pytest.mark.parametrize(("use", "expected"), USES.values(), ids=USES)
def test_an_interrupted_call_propagates_and_leaves_the_scope_open_or_closed(
    in_child, use, expected
):
    assert in_child(INTERRUPTED.replace("{use}", use)) == expected


def test_an_interrupted_finalizer_of_a_forced_collection_does_not_keep_the_memory(in_child):
    said = in_child(
        INTERRUPTED.replace(
            "{use}",
            """
    import sys
    sys.unraisablehook = lambda seen: ran.append(seen.exc_type.__name__)
    scopes.set_implicit_budget(1000)
    cyclic = scopes.ImplicitScope()
    cyclic.callback(interrupt, cyclic, cyclic.allocate(900))
    del cyclic
    print(len(scopes.ImplicitScope().allocate(900)), end=" ")
""",
        )
    )
    assert said == ("900 False 0 ['KeyboardInterrupt'] ['KeyboardInterrupt', 'first'] (0, 0, 0, 0)")
