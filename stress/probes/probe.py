"""What a probe is: reads something before and after a window, and makes figures of the two."""

from abc import ABC, abstractmethod
from typing import ClassVar

from stress.base import Stress
from stress.probes.metric import Metric

#: The figures of one window by metric name; None for one that this window can't tell, such as a
#: share of no time at all. Zero is a figure like any other.
Figures = dict[str, float | None]


class Probe(ABC):
    """Measures one thing over one window at a time.

    name: as in `--probe NAME`. summary: its line in `--probe list`. cost_ns: what before() and
    after() take together, roughly; a window puts the dearest outermost, so that a cheap one does
    not measure it. metrics: all that figures() gives.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    cost_ns: ClassVar[int]
    metrics: ClassVar[tuple[Metric, ...]]

    #: Why nothing can be measured here, found when the probe is made; None where it can.
    unsupported: str | None = None

    def attach(self, stress: Stress, threads: tuple[int, ...]) -> None:  # noqa: B027
        """Learn of the stress and of threads that are measured beside the calling one, by their
        idents. Most probes are of the whole process and need neither."""

    @abstractmethod
    def before(self) -> None:
        """Begin a window. Only where the probe is supported."""

    @abstractmethod
    def after(self) -> None:
        """End the window that before() began."""

    @abstractmethod
    def figures(self, duration_s: float, operations: int) -> Figures:
        """The figures of the last window, which took that many seconds for that many operations."""
