"""Events, and what becomes of them."""

import numpy as np
import pytest

from suites.recordings.format import EVENT, NONE, Operation
from suites.recordings.resolve import Resolver


@pytest.fixture(scope="session")
def events():
    """Makes events of (operation, object, other, size), all by thread 7."""

    def make(*fields):
        block = np.zeros(len(fields), EVENT)
        for number, (row, found) in enumerate(zip(block, fields, strict=True)):
            operation, address, other, size = (*found, 0, 0, 0)[:4]
            row["operation"], row["object"], row["other"], row["size"] = (
                operation,
                address,
                other,
                size,
            )
            row["thread"], row["time_ns"] = 7, 100 * number
        return block

    return make


@pytest.fixture(scope="session")
def resolved(events):
    """The operations of events as (operation, object, scope, size), None for NONE; and the info."""

    def run(*fields):
        resolver = Resolver(timed=True)
        operations = resolver.run(events(*fields))
        assert operations["sequence"].tolist() == list(range(len(operations)))
        rows = operations[["operation", "object", "scope", "size"]].tolist()
        return [
            (Operation(op), *(None if slot == NONE else slot for slot in slots), size)
            for op, *slots, size in rows
        ], resolver.info()

    return run
