"""Two files against each other."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyperf
import pytest

from results.compare.comparison import Comparison, compare
from results.files import read


@pytest.fixture
def compared(file_of: Callable[..., Path]) -> Callable[..., Comparison]:
    """The comparison of what is before and after, each a score or several."""

    def make(before: Any, after: Any, *options: Any) -> Comparison:
        files = [
            read(file_of(name, *(scores if isinstance(scores, Sequence) else [scores])))
            for name, scores in (("a.json", before), ("b.json", after))
        ]
        return compare(files[0], files[1], *options)

    return make


@pytest.fixture
def steady(make_score: Callable[..., pyperf.Benchmark]) -> Callable[..., pyperf.Benchmark]:
    """A score of processes that differ by a per cent, so that a tenth is told apart."""

    def make(name: str = "a[NONE]", seconds: float = 1e-6, **more: Any) -> pyperf.Benchmark:
        spread = (0.99, 1.0, 1.01, 0.995, 1.005, 1.0)
        return make_score(name, by_process=[[seconds * by] for by in spread], **more)

    return make
