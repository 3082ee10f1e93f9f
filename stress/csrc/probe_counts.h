/* What each thread was handed by Python's allocators, and all threads together. Plain C, no Python.h.
 *
 * A thread writes counters of its own: no lock and no atomic read-modify-write on the way of an
 * allocation. They are on a list from the first allocation of the thread to its end, and are then
 * folded into those of the threads that ended. Who reads the total holds the list's lock, so a thread
 * that ends meanwhile is on the list or folded: never both, never neither. No counter ever falls.
 *
 * Where the counters of a thread are (counts_thread.place):
 *   NOWHERE -> LISTED   with its first allocation; part of the total from then on
 *   LISTED  -> FOLDED   when the thread ends. What destructors of other libraries allocate after that
 *                       goes to the total directly, under the lock: nobody will come to fold it
 *   NOWHERE -> FOLDED   where the end of the thread can't be learned (no memory for that)
 *   any     -> APART    counts_exclude: what came before stays in the total, what follows does not
 *
 * function                                    may be called by            guarded by
 *   counts_enter, counts_leave                any thread                  nothing, the lock at the first
 *   counts_own.bytes, .allocations            their own thread            nothing
 *   counts_read, counts_threads               any thread                  the lock
 *   counts_switch, _began, _exclude           any thread                  the lock
 *   counts_init                               any thread, before all else pthread_once
 * No thread holds the lock while it allocates, and a fork happens with the lock held.
 */
#ifndef STRESS_PROBE_COUNTS_H
#define STRESS_PROBE_COUNTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { COUNTS_NOWHERE, COUNTS_LISTED, COUNTS_FOLDED, COUNTS_APART } counts_place;

typedef struct counts_thread {
    _Atomic uint64_t bytes; /* asked for, in allocations that succeeded; written by its thread alone */
    _Atomic uint64_t allocations; /* likewise */
    bool inside;                  /* in an allocator below a counted one, or in the probe's own work */
    bool ready;                   /* LISTED or APART: the counters above are all that is to be written */
    counts_place place;           /* changed under the lock, by its thread or by a fork's child */
    unsigned passed;              /* hooks that were met while inside, as bits; who asks clears it */
    uint64_t number;              /* 1, 2, 3 ... in the order of listing; never used again */
    uintptr_t ident;              /* its pthread_t, which threading calls ident */
    struct counts_thread *next;   /* on the list */
    struct counts_thread *previous;
} counts_thread;

typedef struct {
    uint64_t bytes;
    uint64_t allocations;
} counts_total;

/* One thread of the list. */
typedef struct {
    uint64_t number;
    uintptr_t ident;
    uint64_t bytes;
} counts_entry;

/* Static thread storage: initial-exec makes it one instruction instead of a call. */
#define COUNTS_STORAGE __attribute__((visibility("hidden"), tls_model("initial-exec")))
extern _Thread_local counts_thread counts_own COUNTS_STORAGE;

/* Whether allocations are counted now: while counts_switch says so. */
extern atomic_bool counts_on __attribute__((visibility("hidden")));

/* 0, or the error number of what the system refused. Further calls say the same. */
int counts_init(void);

/* true: one more user wants allocations to be counted; false: one less. */
void counts_switch(bool on);

/* Whether anything was ever switched on: if not, zeros say nothing. */
bool counts_began(void);

/* All threads but the excluded ones, ended ones included. */
counts_total counts_read(void);

/* The calling thread's own. */
counts_total counts_read_own(void);

/* Fills in the threads that are on the list, at most `room`, and says how many are on it. */
size_t counts_threads(counts_entry *entries, size_t room);

/* From now on the calling thread is no part of the total and not on the list. */
void counts_exclude(void);

/* Counts for a thread that is not ready. */
void counts_add_slowly(counts_thread *own, size_t size);

/* An allocator is about to be called through a hook. NULL where that is not to be counted: nothing is
 * now, or the call comes from an allocator that is counted itself. `hook` is the caller's bit. */
static inline counts_thread *counts_enter(unsigned hook)
{
    counts_thread *own = &counts_own;
    if (own->inside) {
        own->passed |= hook;
        return NULL;
    }
    if (!atomic_load_explicit(&counts_on, memory_order_relaxed)) {
        return NULL;
    }
    own->inside = true;
    return own;
}

/* The allocator that counts_enter announced gave `memory` of `size` bytes, or NULL: not counted. */
static inline void counts_leave(counts_thread *own, const void *memory, size_t size)
{
    own->inside = false;
    if (memory == NULL) {
        return;
    }
    if (!own->ready) {
        counts_add_slowly(own, size);
        return;
    }
    /* One writer: a plain addition whose halves are atomic is enough. */
    uint64_t bytes = atomic_load_explicit(&own->bytes, memory_order_relaxed);
    atomic_store_explicit(&own->bytes, bytes + size, memory_order_relaxed);
    uint64_t allocations = atomic_load_explicit(&own->allocations, memory_order_relaxed);
    atomic_store_explicit(&own->allocations, allocations + 1, memory_order_relaxed);
}

/* The probe's own allocations between the two don't count; `before` is what counts_hush gave. */
static inline bool counts_hush(void)
{
    bool before = counts_own.inside;
    counts_own.inside = true;
    return before;
}

static inline void counts_unhush(bool before)
{
    counts_own.inside = before;
}

#endif
