"""Keeps stress threads off the cores that a measured thread was given for itself."""

import errno
import os
from collections.abc import Iterable


def other_cpus(all_cpus: Iterable[int], own: Iterable[int]) -> frozenset[int]:
    """The CPUs of the machine that are not `own`; empty where the process has them all."""
    return frozenset(all_cpus) - frozenset(own)


def move_away(thread_ids: Iterable[int]) -> frozenset[int]:
    """Move threads to the CPUs that the calling thread may not use, and say which those are.

    Nothing moves, and the set is empty, where there are none: because the calling thread may use
    every CPU, or because the container the process runs in allows it no others.
    """
    machine = range(os.sysconf("SC_NPROCESSORS_CONF"))
    others = other_cpus(machine, os.sched_getaffinity(0))
    if not others:
        return others
    for thread_id in thread_ids:
        try:
            os.sched_setaffinity(thread_id, others)
        except OSError as error:
            if error.errno != errno.EINVAL:  # EINVAL: none of them is in the container's set
                raise
            return frozenset()
    return others
