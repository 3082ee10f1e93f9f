#include "arena.h"

#include "os_memory.h"
#include "process.h"
#include "ranges.h"
#include "slabs.h"

#include <pthread.h>
#include <stdlib.h>

/* What a thread's magazine holds at most, in all and of one class. */
#define MAGAZINE_BYTES ((size_t)256 * 1024)
#define MAGAZINE_CLASS_BYTES ((size_t)32 * 1024)
/* Below this cache limit there are no magazines, else they would break it. */
#define MAGAZINE_LEAST_LIMIT (4 * MAGAZINE_BYTES)
/* A thread's live bytes go to the shared counter when they are this far off. */
#define FOLD_BYTES ((int64_t)64 * 1024)

/* Free slots at hand for one thread. Under the GIL all threads share one. */
typedef struct magazine magazine;
struct magazine {
    block *slots[SLOT_CLASSES];         /* last in, first out: the warmest is on top */
    uint32_t bytes_of[SLOT_CLASSES];    /* bytes in slots[kind] */
    counter bytes;                      /* in all of them; others only read it */
    counter unfolded;                   /* live bytes not yet in arena.live */
    counter scopes;                     /* opened less closed by the thread; others only read it */
    size_t reserved;                    /* of the cache limit, for bytes */
    arena *owner;
    magazine *next;
    magazine *prev;
};

struct arena {
    range_cache ranges;
    slab_pool slabs;
    size_t reserved;         /* of the limit, for magazines */
    _Atomic size_t limit;    /* see ARENA_CACHE_LIMIT */
    block_queue retired;
    size_t retired_bytes;
    size_t retired_warm;     /* of them, with their pages */
    size_t retired_blocks;
    block *_Atomic pending;  /* ranges taken off the books, to be unmapped */
    counter live;
    counter scopes;          /* open ones, but for what magazines count */
    counter peak;
    counter window_peak;
    counter cap;
    counter deferred;
    magazine *magazines;     /* of all threads */
    magazine shared;         /* the only one under the GIL */
#if SCOPES_CONCURRENT
    pthread_key_t key;       /* the calling thread's one */
    int has_key;             /* 0: the process has no key left; then there are no magazines */
#endif
};

/* ---- magazines ------------------------------------------------------------------------------- */

static size_t limit_of(arena *a)
{
    return atomic_load_explicit(&a->limit, memory_order_relaxed);
}

static void adopt_magazine_lock_held(arena *a, magazine *m)
{
    m->owner = a;
    m->reserved = 0;
    if (a->reserved + MAGAZINE_BYTES <= limit_of(a) / 4)
        m->reserved = MAGAZINE_BYTES;
    a->reserved += m->reserved;
    m->next = a->magazines;
    if (m->next != NULL)
        m->next->prev = m;
    a->magazines = m;
}

static void empty_magazine_lock_held(arena *a, magazine *m)
{
    for (unsigned kind = 0; kind < SLOT_CLASSES; kind++) {
        while (m->slots[kind] != NULL) {
            block *slot = m->slots[kind];
            m->slots[kind] = slot->next;
            slabs_put(&a->slabs, &a->ranges, slot);
        }
        m->bytes_of[kind] = 0;
    }
    counter_set(&m->bytes, 0);
}

/* Bytes besides free ranges that count towards the limit. */
static size_t other_warm_lock_held(const arena *a)
{
    return a->retired_warm + a->reserved + a->slabs.warm_bytes;
}

/* Keeps free and retired warm bytes within the limit by giving up free ranges, the oldest first. */
static void enforce_limit_lock_held(arena *a)
{
    size_t limit = limit_of(a);
    size_t other = other_warm_lock_held(a);
    size_t keep = limit > other ? limit - other : 0;
    if (SCOPES_LIKELY(a->ranges.free <= keep))
        return;
    block *pending = atomic_load_explicit(&a->pending, memory_order_relaxed);
    ranges_evict(&a->ranges, keep, &pending);
    atomic_store_explicit(&a->pending, pending, memory_order_relaxed);
}

static int is_over_limit_lock_held(arena *a)
{
    return a->ranges.free + other_warm_lock_held(a) > limit_of(a);
}

static inline void raise_peaks(arena *a, int64_t live)
{
    counter_raise(&a->peak, live);
    counter_raise(&a->window_peak, live);
}

static void fold(arena *a, counter *unfolded)
{
    int64_t n = counter_exchange(unfolded, 0);
    if (n != 0)
        raise_peaks(a, counter_add(&a->live, n));
}

static void unmap_pending(arena *a)
{
    size_t total;
    arena_take_back(a, arena_unmap(arena_pending(a, &total)));
}

/* Run by the thread's end: what it kept goes back to all. */
static void give_magazine_back(void *thread_magazine)
{
    magazine *m = thread_magazine;
    arena *a = m->owner;
    process_lock();
    empty_magazine_lock_held(a, m);
    fold(a, &m->unfolded);
    counter_add(&a->scopes, counter_get(&m->scopes));
    a->reserved -= m->reserved;
    if (m->prev != NULL)
        m->prev->next = m->next;
    else
        a->magazines = m->next;
    if (m->next != NULL)
        m->next->prev = m->prev;
    enforce_limit_lock_held(a);
    process_unlock();
    if (m != &a->shared)
        free(m);
    unmap_pending(a);
}

#if SCOPES_CONCURRENT
static magazine *new_thread_magazine(arena *a)
{
    magazine *m = calloc(1, sizeof(magazine));
    if (m == NULL)
        return NULL;
    if (pthread_setspecific(a->key, m) != 0) {
        free(m);
        return NULL;
    }
    process_lock();
    adopt_magazine_lock_held(a, m);
    process_unlock();
    return m;
}
#endif

/* The calling thread's magazine; NULL if there is no memory for one, and then all goes by the lock. */
static inline magazine *my_magazine(arena *a)
{
#if SCOPES_CONCURRENT
    if (SCOPES_UNLIKELY(!a->has_key))
        return NULL;
    magazine *m = pthread_getspecific(a->key);
    return SCOPES_LIKELY(m != NULL) ? m : new_thread_magazine(a);
#else
    return &a->shared;
#endif
}

/* ---- leasing --------------------------------------------------------------------------------- */

static int lease_lock_held(arena *a, size_t nbytes, size_t align, unsigned kind, block **leased)
{
    if (kind < SLOT_CLASSES)
        return slabs_take(&a->slabs, &a->ranges, kind, leased);
    return ranges_take(&a->ranges, nbytes, align, leased);
}

int arena_lease(arena *a, size_t nbytes, size_t align, block **leased)
{
    block *b = NULL;
    unsigned kind = slabs_class(nbytes, align);
    magazine *m = kind < SLOT_CLASSES ? my_magazine(a) : NULL;
    if (m != NULL && SCOPES_LIKELY(m->slots[kind] != NULL)) {
        b = m->slots[kind];
        m->slots[kind] = b->next;
        m->bytes_of[kind] -= (uint32_t)b->size;
        counter_set(&m->bytes, counter_get(&m->bytes) - (int64_t)b->size);
    }
    else {
        process_lock();
        int error = lease_lock_held(a, nbytes, align, kind, &b);
        process_unlock();
        if (error != 0)
            return error;
    }
    SCOPES_ASSERT(counter_get(&b->refs) == 0 && !b->retired);
    b->next = NULL;
    counter_set(&b->refs, 1);
    *leased = b;
    return 0;
}

/* ---- giving back ----------------------------------------------------------------------------- */

static int keep_in_magazine(arena *a, block *b)
{
    magazine *m = my_magazine(a);
    if (m == NULL)
        return 0;
    if (SCOPES_UNLIKELY(limit_of(a) < MAGAZINE_LEAST_LIMIT))
        return 0;
    size_t bytes = (size_t)counter_get(&m->bytes) + b->size;
    if (bytes > m->reserved || m->bytes_of[b->kind] + b->size > MAGAZINE_CLASS_BYTES)
        return 0;
    b->next = m->slots[b->kind];
    m->slots[b->kind] = b;
    m->bytes_of[b->kind] += (uint32_t)b->size;
    counter_set(&m->bytes, (int64_t)bytes);
    return 1;
}

static void no_longer_retired_lock_held(arena *a, block *b)
{
    queue_remove(&a->retired, b);
    a->retired_bytes -= b->size;
    a->retired_warm -= b->cold ? 0 : b->size;
    a->retired_blocks--;
    b->retired = b->cold = 0;
}

void arena_drop(arena *a, block *b)
{
    if (counter_add(&b->refs, -1) > 0)
        return;
    SCOPES_ASSERT(counter_get(&b->exports) == 0);
    if (b->retired) {
        process_lock();
        no_longer_retired_lock_held(a, b);
        process_unlock();
    }
    if (SCOPES_LIKELY(b->slab != NULL) && keep_in_magazine(a, b))
        return;
    process_lock();
    slab *partly_used = NULL;
    if (b->slab != NULL)
        partly_used = slabs_put(&a->slabs, &a->ranges, b);
    else
        ranges_put(&a->ranges, b);
    enforce_limit_lock_held(a);
    if (partly_used != NULL && SCOPES_UNLIKELY(is_over_limit_lock_held(a)))
        slabs_decommit_free(&a->slabs, partly_used, a->ranges.page);
    process_unlock();
}

static void decommit_lock_held(arena *a, block *b)
{
    if (b->cold)
        return;
    if (b->slab != NULL)
        slabs_decommit_retired(b, a->ranges.page);
    else
        os_decommit(b->base, b->size);
    b->cold = 1;
    a->retired_warm -= b->size;
}

void arena_retire(arena *a, block *b)
{
    process_lock();
    SCOPES_ASSERT(!b->retired && counter_get(&b->exports) == 0);
    b->retired = 1;
    queue_push(&a->retired, b);
    a->retired_bytes += b->size;
    a->retired_warm += b->size;
    a->retired_blocks++;
    /* Free ranges are of more use warm than this one. */
    if (is_over_limit_lock_held(a))
        decommit_lock_held(a, b);
    process_unlock();
}

block *arena_pending(arena *a, size_t *total)
{
    process_lock();
    block *pending = atomic_load_explicit(&a->pending, memory_order_relaxed);
    atomic_store_explicit(&a->pending, NULL, memory_order_relaxed);
    process_unlock();
    *total = ranges_total(pending);
    return pending;
}

int arena_has_pending(arena *a)
{
    return atomic_load_explicit(&a->pending, memory_order_relaxed) != NULL;
}

block *arena_unmap(block *pending)
{
    return ranges_unmap(pending);
}

void arena_take_back(arena *a, block *refused)
{
    if (SCOPES_LIKELY(refused == NULL))
        return;
    process_lock();
    ranges_take_back(&a->ranges, refused);
    process_unlock();
}

static void decommit_retired_lock_held(arena *a, size_t keep_warm)
{
    for (block *b = a->retired.oldest; b != NULL && a->retired_warm > keep_warm; b = b->newer)
        decommit_lock_held(a, b);
}

void arena_set_cache_limit(arena *a, size_t nbytes)
{
    magazine *m = my_magazine(a);
    process_lock();
    atomic_store(&a->limit, nbytes);
    if (m != NULL && nbytes < MAGAZINE_LEAST_LIMIT)
        empty_magazine_lock_held(a, m);
    enforce_limit_lock_held(a);
    if (is_over_limit_lock_held(a))
        slabs_decommit_all(&a->slabs, a->ranges.page);
    while (is_over_limit_lock_held(a) && a->retired_warm > 0)
        decommit_retired_lock_held(a, a->retired_warm - 1);
    process_unlock();
}

void arena_trim(arena *a)
{
    magazine *m = my_magazine(a);
    process_lock();
    if (m != NULL)
        empty_magazine_lock_held(a, m);
    block *pending = atomic_load_explicit(&a->pending, memory_order_relaxed);
    ranges_evict(&a->ranges, 0, &pending);
    atomic_store_explicit(&a->pending, pending, memory_order_relaxed);
    slabs_decommit_all(&a->slabs, a->ranges.page);
    decommit_retired_lock_held(a, 0);
    process_unlock();
}

/* ---- counters -------------------------------------------------------------------------------- */

/* The thread's own counter; NULL where all count exactly, in the shared one. */
static inline counter *apart(arena *a)
{
#if SCOPES_CONCURRENT
    magazine *m = my_magazine(a);
    return SCOPES_LIKELY(m != NULL && counter_get(&a->cap) == ARENA_NO_CAP) ? &m->unfolded : NULL;
#else
    (void)a;
    return NULL;
#endif
}

/* Adds to the thread's own counter. Where a cap was set meanwhile, that folded all counters before or
 * after this: one of the two sees the other, since both write first and read then. */
static void count_apart(arena *a, counter *unfolded, int64_t n)
{
    counter_add(unfolded, n);
    /* by chance: another thread sets the cap just now */
    if (SCOPES_UNLIKELY(atomic_load(&a->cap) != ARENA_NO_CAP))
        fold(a, unfolded);
}

static void fold_if_far_off(arena *a, counter *unfolded)
{
    int64_t n = counter_get(unfolded);
    if (n >= FOLD_BYTES || n <= -FOLD_BYTES)
        fold(a, unfolded);
}

int64_t arena_charge(arena *a, size_t nbytes)
{
    int64_t n = (int64_t)nbytes;
    counter *unfolded = apart(a);
    if (unfolded != NULL) {
        count_apart(a, unfolded, n);
        return -1;
    }
    int64_t cap = counter_get(&a->cap);
    int64_t found = counter_add_within(&a->live, n, cap);
    return SCOPES_LIKELY(found <= cap - n) ? -1 : found;
}

void arena_confirm(arena *a)
{
    counter *unfolded = apart(a);
    if (unfolded != NULL)
        fold_if_far_off(a, unfolded);
    else
        raise_peaks(a, counter_get(&a->live));
}

void arena_credit(arena *a, size_t nbytes)
{
    int64_t n = (int64_t)nbytes;
    counter *unfolded = apart(a);
    if (unfolded != NULL) {
        count_apart(a, unfolded, -n);
        fold_if_far_off(a, unfolded);
    }
    else
        counter_add(&a->live, -n);
}

static int64_t live_lock_held(arena *a)
{
    int64_t live = counter_get(&a->live);
    for (magazine *m = a->magazines; m != NULL; m = m->next)
        live += counter_get(&m->unfolded);
    return live;
}

void arena_set_cap(arena *a, int64_t nbytes)
{
    process_lock();
    atomic_store(&a->cap, nbytes);
    for (magazine *m = a->magazines; m != NULL; m = m->next)
        fold(a, &m->unfolded);
    process_unlock();
}

void arena_count_scope(arena *a, int n)
{
#if SCOPES_CONCURRENT
    magazine *m = my_magazine(a);
    if (SCOPES_LIKELY(m != NULL)) {
        counter_set(&m->scopes, counter_get(&m->scopes) + n);
        return;
    }
#endif
    counter_add(&a->scopes, n);
}

int64_t arena_cap(arena *a)
{
    return counter_get(&a->cap);
}

void arena_defer(arena *a, int64_t nbytes)
{
    counter_add(&a->deferred, nbytes);
}

int64_t arena_window_peak(arena *a, int reset)
{
    process_lock();
    int64_t live = live_lock_held(a);
    counter_raise(&a->window_peak, live);
    int64_t peak = counter_get(&a->window_peak);
    if (reset)
        counter_set(&a->window_peak, live);
    process_unlock();
    return peak;
}

void arena_read(arena *a, arena_figures *figures)
{
    process_lock();
    size_t in_magazines = 0;
    int64_t scopes = counter_get(&a->scopes);
    for (magazine *m = a->magazines; m != NULL; m = m->next) {
        in_magazines += (size_t)counter_get(&m->bytes);
        scopes += counter_get(&m->scopes);
    }
    int64_t live = live_lock_held(a);
    counter_raise(&a->peak, live);
    *figures = (arena_figures){
        .scopes = scopes,
        .live = live,
        .peak = counter_get(&a->peak),
        .deferred = counter_get(&a->deferred),
        .mapped = a->ranges.mapped,
        .cached = a->ranges.free + a->slabs.free_bytes + in_magazines,
        .retired = a->retired_bytes,
        .retired_blocks = a->retired_blocks,
    };
    process_unlock();
}

/* ---- life ------------------------------------------------------------------------------------ */

arena *arena_new(void)
{
    arena *a = calloc(1, sizeof(arena));
    if (a == NULL)
        return NULL;
#if SCOPES_CONCURRENT
    a->has_key = pthread_key_create(&a->key, give_magazine_back) == 0;
#endif
    ranges_init(&a->ranges);
    atomic_store(&a->limit, ARENA_CACHE_LIMIT);
    counter_set(&a->cap, ARENA_NO_CAP);
#if !SCOPES_CONCURRENT
    adopt_magazine_lock_held(a, &a->shared);
#endif
    return a;
}

static void forget_threads(arena *a)
{
#if SCOPES_CONCURRENT
    if (a->has_key)
        pthread_key_delete(a->key);
    a->has_key = 0;
#else
    (void)a;
#endif
}

void arena_abandon(arena *a)
{
    arena_trim(a);
    unmap_pending(a);
    forget_threads(a);
}

void arena_delete(arena *a)
{
    forget_threads(a);
    while (a->magazines != NULL)
        give_magazine_back(a->magazines);
    arena_trim(a);
    unmap_pending(a);
    free(a);
}

void arena_inherit(arena *a, arena *parents)
{
    counter_set(&a->cap, counter_get(&parents->cap));
    atomic_store(&a->limit, atomic_load(&parents->limit));
    forget_threads(parents);
    /* The GIL, or the lock of the process, was held at the fork: the cache is consistent. What other
     * threads have in their magazines nobody knows. */
    block *pending = NULL;
    ranges_evict(&parents->ranges, 0, &pending);
    ranges_take_back(&parents->ranges, ranges_unmap(pending));
}

#if SCOPES_DEBUG
static size_t check_slab(const slab *s)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < s->capacity; i++) {
        uint64_t bit = (uint64_t)1 << (i & 63);
        int is_free = (s->free_bits[i >> 6] & bit) != 0;
        SCOPES_ASSERT(s->slots[i].slab == s);
        SCOPES_ASSERT(!is_free || (s->slots[i].refs == 0 && !s->slots[i].retired));
        found += (uint32_t)is_free;
    }
    SCOPES_ASSERT(found == s->free && found > 0 && found < s->capacity);
    return found * s->slots[0].size;
}

void arena_check(arena *a)
{
    process_lock();
    size_t free_ranges = 0;
    for (block *b = a->ranges.by_age.oldest; b != NULL; b = b->newer) {
        SCOPES_ASSERT(b->refs == 0 && b->slab == NULL && !b->retired && b->dirty <= b->size);
        free_ranges += b->size;
    }
    SCOPES_ASSERT(free_ranges == a->ranges.free && free_ranges <= a->ranges.mapped);
    size_t free_slots = 0;
    for (unsigned kind = 0; kind < SLOT_CLASSES; kind++)
        for (const slab *s = a->slabs.partial[kind]; s != NULL; s = s->next)
            free_slots += check_slab(s);
    SCOPES_ASSERT(free_slots == a->slabs.free_bytes);
    size_t retired = 0, warm = 0, blocks = 0;
    for (block *b = a->retired.oldest; b != NULL; b = b->newer, blocks++) {
        SCOPES_ASSERT(b->retired && b->refs > 0 && b->exports == 0);
        retired += b->size;
        warm += b->cold ? 0 : b->size;
    }
    SCOPES_ASSERT(retired == a->retired_bytes && warm == a->retired_warm && blocks == a->retired_blocks);
    process_unlock();
}
#endif
