/* What the parts of the allocation probe offer each other. All need an attached thread state.
 *
 * probe_counts  the counters, plain C
 * probe_hooks   around Python's allocators
 * probe_numpy   around NumPy's
 * probe_alloc   what Python code sees
 */
#ifndef STRESS_PROBE_ALLOC_H
#define STRESS_PROBE_ALLOC_H

#include "probe.h"

#include <stdbool.h>

/* Every domain is counted from now on, wherever others have wrapped or dropped the hooks. -1 with an
 * error set: MemoryError, or, without the GIL, RuntimeError when there are other threads already. */
int hooks_put_in_place(void);

/* Whether the allocations of every domain come past a hook. */
bool hooks_are_met(void);

/* Array data is counted from now on, if NumPy is loaded. -1 with RuntimeError set where it is of a kind
 * that is not known here. */
int numpy_put_in_place(void);

#endif
