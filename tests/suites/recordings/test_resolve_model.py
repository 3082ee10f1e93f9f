"""From addresses to slots: random events against the rules of docs/recording.md in Python."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suites.recordings.format import (
    EVENTS,
    INVALID,
    NONE,
    PART,
    TIMED,
    UNTIMED,
    Operation,
)
from suites.recordings.resolve import Resolver

NAMES = {number: name for name, number in EVENTS.items()}
A, F, R = Operation.ALLOCATE, Operation.FREE, Operation.REALLOCATE
OPEN, CLOSE, DROP = Operation.OPEN, Operation.CLOSE, Operation.DROP
ADOPT, DROP_SCOPE = Operation.ADOPT, Operation.DROP_SCOPE
EXPORT, UNEXPORT = Operation.EXPORT, Operation.UNEXPORT


few = st.integers(0, 4)
event = st.tuples(st.integers(0, 13), few, few, st.integers(0, 9))


class Model:
    """The rules of docs/recording.md, one dict after the other."""

    def __init__(self):
        self.objects, self.scopes = {}, {}  # address -> life, "dead" or "older"
        self.free = {"object": [], "scope": []}
        self.used = Counter()
        self.rows, self.invalid, self.older = [], Counter(), Counter()

    def take(self, table):
        if self.free[table]:
            return self.free[table].pop()
        self.used[table] += 1
        return self.used[table] - 1

    def emit(self, operation, life=None, scope=None, size=0):
        if life is not None:
            scope = life["scope"]
        self.rows.append(
            (operation, life and life["slot"], scope and scope["slot"], size)
            if life is not None
            else (operation, None, scope["slot"], size)
        )

    def leave_out(self, known, operation, reason):
        if known == "dead":
            self.invalid[reason] += 1
        else:
            self.older[operation] += 1

    def drop_life(self, life):
        life["parts"] -= 1
        if life["parts"] == 0:
            self.emit(DROP if life["scope"] else F, life, size=life["size"])
            life["live"] = life["live"] and life["scope"] is not None
            if life["scope"]:
                life["scope"]["objects"] -= 1
                self.reuse(life["scope"])
            self.free["object"].append(life["slot"])

    def reuse(self, scope):
        if scope["dropped"] and scope["objects"] == 0:
            self.free["scope"].append(scope["slot"])

    def clear(self, address):
        if isinstance(self.objects.get(address), dict):
            self.invalid[INVALID[3]] += 1
            self.drop_life(self.objects[address])
        self.objects[address] = "dead"

    def begin(self, operation, address, scope, size):
        self.clear(address)
        life = {"slot": self.take("object"), "scope": scope, "size": size, "parts": 1}
        life["live"] = operation != ADOPT
        self.objects[address] = life
        if scope:
            scope["lives"].append(life)
            scope["objects"] += 1
        self.emit(operation, life, size=size)

    def open(self, address):
        scope = {"slot": self.take("scope"), "closed": False, "dropped": False}
        self.scopes[address] = scope | {"lives": [], "objects": 0}
        self.emit(OPEN, scope=self.scopes[address])

    def close(self, scope):
        live = [life for life in scope["lives"] if life["live"]]
        for life in live:
            life["live"] = False
        scope["closed"], scope["lives"] = True, []
        self.emit(CLOSE, scope=scope, size=sum(life["size"] for life in live))

    def step(self, operation, address, other, size):
        if not 1 <= operation <= PART:
            self.invalid[INVALID[0]] += 1
            return
        if operation == R and address == 0:
            operation, address, other = A, other, 0
        elif operation == R and other == 0:
            operation = F
        of_scope = operation in (OPEN, Operation.CLOSING, CLOSE, DROP_SCOPE)
        needs_other = of_scope or operation in (ADOPT, PART)
        if (
            (address == 0 and not of_scope)
            or (other == 0 and needs_other)
            or (operation == PART and address == other)
        ):
            self.invalid[INVALID[1]] += 1
        elif of_scope:
            self.scope_step(operation, other)
        elif operation in (A, ADOPT):
            self.allocate(operation, address, other, size)
        elif operation == R:
            self.reallocate(address, other, size)
        elif operation == PART:
            known = self.objects.setdefault(other, "older")
            self.clear(address)
            if isinstance(known, dict):
                known["parts"] += 1
                self.objects[address] = known
            else:
                self.objects[address] = "older"
                self.leave_out(known, operation, INVALID[2])
        else:
            known = self.objects.setdefault(address, "older")
            if operation in (F, DROP):
                self.objects[address] = "dead"
            if not isinstance(known, dict):
                self.leave_out(known, operation, INVALID[2])
            elif operation in (F, DROP):
                self.drop_life(known)
            else:
                self.export(operation, known, size)

    def export(self, operation, life, size):
        skipped = life.setdefault("skipped", 0)
        if operation == UNEXPORT and skipped:
            life["skipped"] -= 1
        elif operation == EXPORT and life["scope"] and life["scope"]["closed"]:
            life["skipped"] += 1
            self.invalid[INVALID[4]] += 1
        else:
            self.emit(operation, life, size=size)

    def reallocate(self, address, other, size):
        known = self.objects.get(address, "older")
        if not isinstance(known, dict):
            self.leave_out(known, R, INVALID[2])
            self.objects[address] = "dead"
            self.begin(A, other, None, size)
            return
        if known["scope"]:
            self.invalid[INVALID[6]] += 1
            return
        if other != address:
            self.objects[address] = "dead"
            self.clear(other)
            self.objects[other] = known
        known["size"] = size
        self.emit(R, known, size=size)

    def allocate(self, operation, address, other, size):
        if other == 0:
            self.begin(operation, address, None, size)
            return
        if self.scopes.get(other, "older") == "older":
            self.open(other)
        scope = self.scopes[other]
        if scope == "dead" or scope["closed"]:
            self.invalid[INVALID[5 if scope == "dead" else 4]] += 1
            self.clear(address)
            self.objects[address] = "older"
        else:
            self.begin(operation, address, scope, size)

    def scope_step(self, operation, other):
        known = self.scopes.get(other, "older")
        if operation == OPEN:
            if isinstance(known, dict):
                self.invalid[INVALID[3]] += 1
                self.drop_scope(other)
            self.open(other)
        elif not isinstance(known, dict):
            self.leave_out(known, operation, INVALID[5])
            self.scopes[other] = "dead" if operation == DROP_SCOPE else known
        elif operation == DROP_SCOPE:
            self.drop_scope(other)
        elif known["closed"]:
            self.invalid[INVALID[4]] += 1
        elif operation == CLOSE:
            self.close(known)
        else:
            self.emit(operation, scope=known)

    def drop_scope(self, address):
        scope = self.scopes[address]
        if not scope["closed"]:
            self.close(scope)
        self.emit(DROP_SCOPE, scope=scope)
        self.scopes[address] = "dead"
        scope["dropped"] = True
        self.reuse(scope)


@pytest.mark.parametrize("timed", [True, False], ids=["timed", "untimed"])
@given(program=st.lists(event, max_size=40))
@settings(deadline=None, max_examples=300)
def test_random_events_become_what_the_model_makes_of_them(events, timed, program):
    model = Model()
    for step in program:
        model.step(*step)
    resolver = Resolver(timed)
    found = resolver.run(events(*program))
    rows = [
        (op, *(None if slot == NONE else slot for slot in slots), size)
        for op, *slots, size in found[["operation", "object", "scope", "size"]].tolist()
    ]
    assert rows == model.rows
    assert found.dtype == (TIMED if timed else UNTIMED)
    info = resolver.info()
    assert info["invalid"] == dict(model.invalid)
    assert info["preexisting"] == {NAMES[number]: count for number, count in model.older.items()}
    assert (info["objects"], info["scopes"]) == (model.used["object"], model.used["scope"])
