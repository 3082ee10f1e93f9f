"""What must have happened before an operation, for a replay with a thread for each recorded one.

Threads of a replay run at a speed of their own. An operation has to wait for the previous one on
the same object, and for the previous one in the same scope, where another thread does that; all
older ones have happened then, too. Objects and scopes are slots that are used again, so what takes
a slot waits, by the same rule, for what left it.
"""

import numpy as np
from numpy.typing import NDArray

from suites.recordings.format import NONE, Operations
from suites.recordings.slots import Carried

EDGE = np.dtype([("index", "<u4"), ("after", "<u8"), ("thread", "<u4")])
"""The operation at `index` of the block waits for the one of sequence `after`, by `thread`."""


class Order:
    """Finds the edges of block after block. `objects` and `scopes` are the sizes of the tables."""

    def __init__(self, objects: int, scopes: int) -> None:
        self._tables = {"object": Carried(objects, 2), "scope": Carried(scopes, 2)}

    def edges(self, block: Operations) -> NDArray[np.void]:
        """The edges into a block, as an array of `EDGE`, sorted by index: none, one or two for an
        operation. Blocks have to come in order, all of them."""
        found = np.concatenate([self._edges(block, field) for field in self._tables])
        return found[np.argsort(found["index"], kind="stable")]

    def _edges(self, block: Operations, field: str) -> NDArray[np.void]:
        used = np.flatnonzero(block[field] != NONE)
        rows = block[used]
        after, by = self._tables[field].before(
            rows[field], np.ones(len(rows), bool), rows["sequence"], rows["thread"]
        )
        waits = (after >= 0) & (by != rows["thread"])
        edges = np.empty(np.count_nonzero(waits), EDGE)
        edges["index"] = used[waits]
        edges["after"] = after[waits]
        edges["thread"] = by[waits]
        return edges
