"""What rows take from bystanders, the stress threads beside them."""

import math
from collections.abc import Iterator, Sequence

from results.findings import Finding, agree, apart, figure, listed, short_name, times
from results.model import BASELINE, Row

SLOWED_FACTOR = 1.25
"""Of the stress threads' rate: below, it is how the turns fell."""

SLOWDOWN = "bystander.slowdown"


def bystanders(rows: Sequence[Row]) -> Iterator[Finding]:
    """Rows beside which stress threads get less done than beside the baseline, a mode a line."""
    slowed: dict[tuple[str, str], list[tuple[float, Row]]] = {}
    for row in rows:
        factor = figure(row, SLOWDOWN) or 0.0
        base = next((other for other in rows if _is_baseline(other, row)), None)
        if base and factor >= SLOWED_FACTOR and apart(row, base, SLOWDOWN):
            slowed.setdefault((row.mode, row.params.get("spin", "")), []).append((factor, row))
    for (mode, spin), cases in slowed.items():
        cases.sort(key=lambda case: -case[0])
        less = listed([f"{times(factor)} less beside {short_name(row)}" for factor, row in cases])
        threads = f"{spin} threads" if spin else "threads"
        text = f"{mode}: bystanders pay, too: the {threads} get done {less} than beside {BASELINE}"
        yield Finding(math.log2(cases[0][0]), f"{text}.")


def _is_baseline(other: Row, row: Row) -> bool:
    if row.operation == BASELINE or other.operation != BASELINE:
        return False
    return other.mode == row.mode and agree(other, row)
