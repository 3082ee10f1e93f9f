"""What is done to a process while it is measured, and what is read off it.

stress.modes    the stress modes NONE, MEMORY, THREADS: `stressed(mode, options)`
stress.sampler  single calls timed: `for _ in create().arm(turns): call()`
stress.probes   the figures beside the score, one probe a file, and the window that reads them

Two extensions do what Python can't: `stress._native` (cffi: spinners that hold no GIL) and
`stress._probe` (C API: the collector's callback, counters around the allocators, the sampler,
clocks of threads).
"""

from stress.base import Stress, StressError
from stress.modes import StressMode, StressOptions, stressed

__all__ = ["Stress", "StressError", "StressMode", "StressOptions", "stressed"]
