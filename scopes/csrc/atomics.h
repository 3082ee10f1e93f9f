/* Counters that are shared between threads.
 *
 * Under the GIL one thread at a time is in this library, so a counter needs no locked instruction and
 * nothing a lock: a plain load and store of an atomic are the same machine code as an ordinary one.
 * SCOPES_CONCURRENT=1 (a free-threaded interpreter, or the C tests) makes them real.
 *
 * What may be touched without the GIL in an ordinary build: nothing but memory already handed over,
 * such as ranges taken off the books that arena_unmap gives back. */
#ifndef SCOPES_ATOMICS_H
#define SCOPES_ATOMICS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SCOPES_CONCURRENT
#define SCOPES_CONCURRENT 0
#endif

#ifndef SCOPES_DEBUG
#define SCOPES_DEBUG 0
#endif

/* Errors of ours are told by assertions in debug builds only. */
#if SCOPES_DEBUG
#include <assert.h>
#define SCOPES_ASSERT(condition) assert(condition)
#else
#define SCOPES_ASSERT(condition) ((void)0)
#endif

#define SCOPES_LIKELY(x) __builtin_expect(!!(x), 1)
#define SCOPES_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* A function that the fast paths call rarely: inlined, it would cost them registers. */
#define SCOPES_RARE __attribute__((cold, noinline))

typedef _Atomic int64_t counter;
typedef _Atomic uint64_t word;

static inline int64_t counter_get(counter *c)
{
    return atomic_load_explicit(c, memory_order_relaxed);
}

static inline void counter_set(counter *c, int64_t value)
{
    atomic_store_explicit(c, value, memory_order_relaxed);
}

/* Adds and returns the new value. */
static inline int64_t counter_add(counter *c, int64_t n)
{
#if SCOPES_CONCURRENT
    return atomic_fetch_add(c, n) + n;
#else
    int64_t value = counter_get(c) + n;
    counter_set(c, value);
    return value;
#endif
}

/* Sets and returns the value found. */
static inline int64_t counter_exchange(counter *c, int64_t value)
{
#if SCOPES_CONCURRENT
    return atomic_exchange(c, value);
#else
    int64_t old = counter_get(c);
    counter_set(c, value);
    return old;
#endif
}

/* Adds n if the sum is at most most. Returns the value found; it was added if that is at most most - n. */
static inline int64_t counter_add_within(counter *c, int64_t n, int64_t most)
{
    int64_t old = counter_get(c);
#if SCOPES_CONCURRENT
    /* by chance: another thread changes the counter just now */
    while (old <= most - n && !atomic_compare_exchange_weak_explicit(c, &old, old + n, memory_order_acq_rel,
                                                                     memory_order_relaxed)) {
    }
#else
    if (old <= most - n)
        counter_set(c, old + n);
#endif
    return old;
}

/* Raises the counter to at least the value. */
static inline void counter_raise(counter *c, int64_t value)
{
    int64_t old = counter_get(c);
#if SCOPES_CONCURRENT
    /* by chance: another thread changes the counter just now */
    while (old < value && !atomic_compare_exchange_weak_explicit(c, &old, value, memory_order_relaxed,
                                                                 memory_order_relaxed)) {
    }
#else
    if (old < value)
        counter_set(c, value);
#endif
}

static inline uint64_t word_get(word *w)
{
    return atomic_load_explicit(w, memory_order_acquire);
}

/* Sets and returns the value found. */
static inline uint64_t word_exchange(word *w, uint64_t value)
{
#if SCOPES_CONCURRENT
    return atomic_exchange(w, value);
#else
    uint64_t old = word_get(w);
    atomic_store_explicit(w, value, memory_order_release);
    return old;
#endif
}

/* Replaces *expected by desired; on failure *expected holds what was found. */
static inline int word_replace(word *w, uint64_t *expected, uint64_t desired)
{
#if SCOPES_CONCURRENT
    return atomic_compare_exchange_weak_explicit(w, expected, desired, memory_order_acq_rel,
                                                 memory_order_acquire);
#else
    uint64_t found = word_get(w);
    if (found != *expected) {
        *expected = found;
        return 0;
    }
    atomic_store_explicit(w, desired, memory_order_release);
    return 1;
#endif
}

/* Adds and returns the new value. */
static inline uint64_t word_add(word *w, uint64_t n)
{
#if SCOPES_CONCURRENT
    return atomic_fetch_add_explicit(w, n, memory_order_acq_rel) + n;
#else
    uint64_t value = word_get(w) + n;
    atomic_store_explicit(w, value, memory_order_release);
    return value;
#endif
}

#endif
