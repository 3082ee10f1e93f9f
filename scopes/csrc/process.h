/* What belongs to the process and not to a module: how often it was forked, and the one lock of all that
 * its threads share without it belonging to a scope: arenas, and the watches of owners and accounts.
 *
 * The lock is held for a few stores, never where Python code can run, and over each fork: a child finds
 * what it guards in order, and the lock itself free. Under the GIL it is nothing: see atomics.h. */
#ifndef SCOPES_PROCESS_H
#define SCOPES_PROCESS_H

#include "atomics.h"

extern word process_forks __attribute__((visibility("hidden")));

/* How often the process has become a child by fork since process_watch_forks. What was made before has a
 * lower number. */
static inline uint64_t fork_generation(void)
{
    return atomic_load_explicit(&process_forks, memory_order_relaxed);
}

/* Has forks counted, and the lock held over them; from the first call on that succeeds. Returns 0 or the
 * errno of the failure. */
int process_watch_forks(void);

#if SCOPES_CONCURRENT
void process_lock(void);
void process_unlock(void);
#else
static inline void process_lock(void) {}
static inline void process_unlock(void) {}
#endif

#endif
