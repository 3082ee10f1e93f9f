/* Eight threads lease, hand on, retire, drop, charge and end, while one of them trims and sets limits.
 *
 * Built with SCOPES_CONCURRENT=1, for TSan to look at; what was leased, charged and mapped is 0 at the end. */
#include "arena.h"

#include "bytes.h"
#include "expect.h"

#include <pthread.h>

#define THREADS 8
#define STEPS 1000
#define BOXES 64

static arena *shared;
static pthread_barrier_t start;
static pthread_mutex_t box_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    block *b;
    char byte;
} boxes[BOXES];

static const size_t SIZES[] = {1, 64, 100, 1000, 4096, 16384, 20000, 65536, 200000};

/* Puts a block into a box and takes out what was in there, which another thread may have put in. */
static block *swap(size_t at, block *b, char *byte)
{
    pthread_mutex_lock(&box_lock);
    block *old = boxes[at].b;
    char old_byte = boxes[at].byte;
    boxes[at].b = b;
    boxes[at].byte = *byte;
    pthread_mutex_unlock(&box_lock);
    *byte = old_byte;
    return old;
}

static void end(block *b, char byte, size_t how)
{
    size_t n = b->size < 256 ? b->size : 256;
    EXPECT(all_are(b->base, n, byte) && b->base[b->size - 1] == byte);
    arena_credit(shared, b->size);
    if (how == 0) { /* a segment covers it longer than the scope is open */
        counter_add(&b->refs, 1);
        arena_retire(shared, b);
        arena_drop(shared, b);
        EXPECT(all_are_or_zero(b->base, n, byte));
    }
    arena_drop(shared, b);
}

static void manage(uint64_t *state)
{
    arena_figures figures;
    size_t total;
    switch (below(state, 5)) {
    case 0:
        arena_trim(shared);
        break;
    case 1:
        arena_set_cache_limit(shared, below(state, (size_t)8 << 20));
        break;
    case 2:
        arena_read(shared, &figures);
        EXPECT(figures.peak >= figures.live);
        break;
    case 3:
        EXPECT(arena_window_peak(shared, 1) >= 0);
        break;
    default:
        if (arena_has_pending(shared))
            arena_unmap(arena_pending(shared, &total));
    }
}

static void *run(void *number)
{
    uint64_t state = 88172645463325252u ^ (uint64_t)(uintptr_t)number * 2654435761u;
    pthread_barrier_wait(&start);
    for (int i = 0; i < STEPS; i++) {
        block *b = NULL;
        char byte = (char)(1 + below(&state, 100));
        EXPECT(arena_lease(shared, SIZES[below(&state, 9)], (size_t)1 << below(&state, 8), &b) == 0);
        EXPECT(all_are(b->base + b->dirty, b->size - b->dirty, 0));
        EXPECT(arena_charge(shared, b->size) < 0);
        arena_confirm(shared);
        memset(b->base, byte, b->size);
        b->dirty = b->size;
        b = swap(below(&state, BOXES), b, &byte);
        if (b != NULL)
            end(b, byte, below(&state, 4));
        if (below(&state, 16) == 0)
            manage(&state);
    }
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, run, (void *)(i + 1)) == 0);
    for (size_t i = 0; i < THREADS; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
}

static void *charge_within_cap(void *unused)
{
    pthread_barrier_wait(&start);
    for (int i = 0; i < STEPS; i++) {
        if (arena_charge(shared, 100) < 0) {
            arena_figures figures;
            arena_confirm(shared);
            if (i % 64 == 0) {
                arena_read(shared, &figures);
                EXPECT(figures.live >= 100);
            }
            arena_credit(shared, 100);
        }
    }
    return unused;
}

static void a_cap_holds_for_all_threads(void)
{
    pthread_t threads[THREADS];
    arena_figures figures;
    arena_set_cap(shared, 300);
    for (size_t i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, charge_within_cap, NULL) == 0);
    for (size_t i = 0; i < THREADS; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    arena_read(shared, &figures);
    EXPECT(figures.live == 0);
    EXPECT(arena_window_peak(shared, 1) <= 300);
}

int main(void)
{
    arena_figures figures;
    size_t total;
    EXPECT(pthread_barrier_init(&start, NULL, THREADS) == 0);
    shared = arena_new();
    run_threads();
    run_threads(); /* the magazines of the first ones were given back */
    for (size_t i = 0; i < BOXES; i++) {
        if (boxes[i].b != NULL)
            end(boxes[i].b, boxes[i].byte, 1);
    }
#if SCOPES_DEBUG
    arena_check(shared);
#endif
    arena_trim(shared);
    arena_unmap(arena_pending(shared, &total));
    arena_read(shared, &figures);
    EXPECT(figures.live == 0 && figures.retired == 0 && figures.deferred == 0);
    EXPECT(figures.mapped == 0 && figures.cached == 0);
    arena_window_peak(shared, 1);
    a_cap_holds_for_all_threads();
    arena_delete(shared);
    return 0;
}
