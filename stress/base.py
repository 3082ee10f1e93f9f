"""What every stress has in common: the error, and the handle that a benchmark holds."""


class StressError(RuntimeError):
    """A stress can't be put on this process; the message says what is missing and how much."""


class Stress:
    """The stress a process is under, as `stressed()` yields it; this one needs no parking.

    The heap of MEMORY stress lies there all the time, so only THREADS overrides the methods.
    """

    #: The CPUs that the stress threads were moved to, so that the measured thread has its own for
    #: itself; empty where there are no threads, or where they run wherever the measured one may.
    cpus: frozenset[int] = frozenset()

    #: The kernel's ids of the stress threads.
    thread_ids: tuple[int, ...] = ()

    def park(self) -> None:
        """Let the stress threads sleep; returns when the last of them is parked."""

    def unpark(self) -> None:
        """Let the stress threads work; returns when the last of them runs."""

    def spins(self) -> int:
        """Work done by the stress threads so far, in turns of their loop; 0 without threads.

        Turns of Python and of native spinners are not comparable with each other.
        """
        return 0
