"""What was last set on a slot, for all operations of a block at once."""

import numpy as np
from numpy.typing import NDArray


class Carried:
    """A table of slots, with columns of int64 that are -1 until they are set."""

    def __init__(self, size: int, columns: int) -> None:
        self._table = np.full((columns, size), -1, np.int64)

    def before(
        self, slot: NDArray[np.uint32], sets: NDArray[np.bool_], *values: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """For each operation, in order: what was last set on its slot before it, a row a column.

        Those where `sets` is true set `values`, an array for each column.
        """
        value = np.array(values, np.int64).reshape(len(self._table), len(slot))
        order = np.argsort(slot, kind="stable")
        place = np.arange(len(slot))
        grouped = slot[order]
        is_first = np.ones(len(slot), bool)
        is_first[1:] = grouped[1:] != grouped[:-1]
        begin = np.maximum.accumulate(np.where(is_first, place, 0))
        # The place of the last one that set something, up to and with each; -1 for none.
        up_to = np.maximum.accumulate(np.where(sets[order], place, -1))
        earlier = np.concatenate(([-1], up_to[:-1]))[: len(slot)]
        set_here = earlier >= begin
        found = self._table[:, grouped]
        found[:, set_here] = value[:, order[earlier[set_here]]]
        is_last = np.roll(is_first, -1) & (up_to >= begin)
        self._table[:, grouped[is_last]] = value[:, order[up_to[is_last]]]
        result = np.empty_like(found)
        result[:, order] = found
        return result
