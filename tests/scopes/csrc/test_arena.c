/* Random programs of leases, drops, retirements, trims and limits, against a model of what each block is
 * owed: its bytes while it is leased or deferred, its bytes or zeros while it is retired. */
#include "arena.h"

#include "bytes.h"
#include "expect.h"

#include <limits.h>
#include <pthread.h>

enum life { NONE, LEASED, DEFERRED, RETIRED };

typedef struct {
    block *b;
    char byte;
    enum life life;
} holding;

#define HOLDINGS 200
static holding held[HOLDINGS];

static const size_t SIZES[] = {1,     2,     63,    64,    65,     80,     81,      1000,  1024,   4095,   4096,
                               4097,  5120,  5121,  16383, 16384,  16385,  20480,   20481, 65535,  65536,  65537,
                               98304, 98305, 262144, 262145, 1048575, 1048576, 1048577};
#define SIZE_COUNT (sizeof(SIZES) / sizeof(SIZES[0]))

static void check_holding(const holding *h)
{
    if (h->life == RETIRED)
        EXPECT(all_are_or_zero(h->b->base, h->b->size, h->byte));
    else if (h->life != NONE)
        EXPECT(all_are(h->b->base, h->b->size, h->byte));
}

static void lease(arena *a, holding *h, size_t nbytes, size_t align, char byte)
{
    EXPECT(arena_lease(a, nbytes, align, &h->b) == 0);
    EXPECT(h->b->size >= nbytes && ((uintptr_t)h->b->base & (align - 1)) == 0);
    EXPECT(counter_get(&h->b->refs) == 1 && counter_get(&h->b->exports) == 0);
    EXPECT(h->b->dirty <= h->b->size);
    EXPECT(all_are(h->b->base + h->b->dirty, h->b->size - h->b->dirty, 0));
    memset(h->b->base, byte, h->b->size);
    h->b->dirty = h->b->size;
    h->byte = byte;
    h->life = LEASED;
}

/* The scope of a leased block closes: alone, covered by a segment, or with an export. */
static void close_scope(arena *a, holding *h, size_t how)
{
    if (how > 0)
        counter_add(&h->b->refs, 1);
    h->life = how == 0 ? NONE : how == 1 ? RETIRED : DEFERRED;
    if (how == 1)
        arena_retire(a, h->b);
    if (how == 2) {
        counter_add(&h->b->exports, 1);
        arena_defer(a, (int64_t)h->b->size);
    }
    arena_drop(a, h->b);
}

static void end_export(arena *a, holding *h)
{
    counter_add(&h->b->exports, -1);
    arena_defer(a, -(int64_t)h->b->size);
    arena_retire(a, h->b);
    h->life = RETIRED;
}

static void unmap_pending(arena *a)
{
    size_t total = 0;
    block *pending = arena_pending(a, &total);
    EXPECT((pending == NULL) == (total == 0));
    arena_unmap(pending);
    EXPECT(!arena_has_pending(a));
}

static void check_figures(arena *a)
{
    arena_figures figures;
    size_t used = 0, retired = 0, blocks = 0;
    int64_t deferred = 0;
    for (int i = 0; i < HOLDINGS; i++) {
        if (held[i].life == NONE)
            continue;
        used += held[i].b->size;
        retired += held[i].life == RETIRED ? held[i].b->size : 0;
        blocks += held[i].life == RETIRED;
        deferred += held[i].life == DEFERRED ? (int64_t)held[i].b->size : 0;
    }
    arena_read(a, &figures);
    EXPECT(figures.retired == retired && figures.retired_blocks == blocks);
    EXPECT(figures.deferred == deferred);
    EXPECT(figures.mapped >= used + figures.cached);
#if SCOPES_DEBUG
    arena_check(a);
#endif
}

static void step(arena *a, uint64_t *state)
{
    size_t number = below(state, HOLDINGS);
    holding *h = &held[number];
    check_holding(h);
    if (h->life == NONE)
        lease(a, h, SIZES[below(state, below(state, 4) == 0 ? SIZE_COUNT : SIZE_COUNT - 8)],
              (size_t)1 << below(state, below(state, 16) == 0 ? 22 : 7), (char)(1 + number));
    else if (h->life == LEASED)
        close_scope(a, h, below(state, 3));
    else if (h->life == DEFERRED)
        end_export(a, h);
    else {
        arena_drop(a, h->b);
        h->life = NONE;
    }
    if (below(state, 100) == 0)
        arena_trim(a);
    if (below(state, 100) == 0)
        arena_set_cache_limit(a, below(state, 3) * below(state, (size_t)4 << 20));
    if (below(state, 8) == 0)
        unmap_pending(a);
}

static void drop_all(arena *a)
{
    for (int i = 0; i < HOLDINGS; i++) {
        check_holding(&held[i]);
        if (held[i].life == DEFERRED)
            end_export(a, &held[i]);
        if (held[i].life != NONE)
            arena_drop(a, held[i].b);
        held[i].life = NONE;
    }
}

static void a_random_program_owes_nobody_a_byte(uint64_t seed, int steps)
{
    arena *a = arena_new();
    uint64_t state = seed;
    EXPECT(a != NULL);
    for (int i = 0; i < steps; i++) {
        step(a, &state);
        if (i % 16 == 0)
            check_figures(a);
    }
    drop_all(a);
    check_figures(a);
    arena_trim(a);
    unmap_pending(a);
    arena_figures figures;
    arena_read(a, &figures);
    EXPECT(figures.mapped == 0 && figures.cached == 0 && figures.retired == 0);
    arena_delete(a);
}

static void a_retired_block_is_leased_to_nobody(void)
{
    arena *a = arena_new();
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        holding old, fresh[20];
        lease(a, &old, SIZES[i], 1, 77);
        char *base = old.b->base;
        close_scope(a, &old, 1);
        for (int j = 0; j < 20; j++) {
            lease(a, &fresh[j], SIZES[i], 1, 88);
            EXPECT(fresh[j].b->base != base);
        }
        check_holding(&old);
        arena_trim(a);
        check_holding(&old);
        arena_drop(a, old.b);
        for (int j = 0; j < 20; j++)
            close_scope(a, &fresh[j], 0);
    }
    arena_delete(a);
}

static void the_warm_block_comes_back(void)
{
    arena *a = arena_new();
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        holding one, other;
        lease(a, &one, SIZES[i], 1, 1);
        char *base = one.b->base;
        close_scope(a, &one, 0);
        lease(a, &other, SIZES[i], 1, 2);
        EXPECT(other.b->base == base);
        close_scope(a, &other, 0);
    }
    arena_delete(a);
}

static void no_cache_means_nothing_is_kept(void)
{
    arena *a = arena_new();
    arena_figures figures;
    arena_set_cache_limit(a, 0);
    for (size_t i = 0; i < SIZE_COUNT; i++) {
        holding h;
        lease(a, &h, SIZES[i], 1, 1);
        close_scope(a, &h, 0);
        unmap_pending(a);
        arena_read(a, &figures);
        EXPECT(figures.mapped == 0 && figures.cached == 0);
        lease(a, &h, SIZES[i], 1, 1);
        close_scope(a, &h, 1);
        EXPECT(SIZES[i] < 4096 || all_are(h.b->base, h.b->size & ~(size_t)4095, 0));
        arena_drop(a, h.b);
    }
    arena_delete(a);
}

static void a_cap_is_exact(void)
{
    arena *a = arena_new();
    EXPECT(arena_cap(a) == ARENA_NO_CAP);
    arena_set_cap(a, 1000);
    EXPECT(arena_charge(a, 400) < 0 && arena_charge(a, 600) < 0 && arena_charge(a, 0) < 0);
    EXPECT(arena_charge(a, 1) == 1000);
    EXPECT(arena_charge(a, 1000) == 1000);
    arena_credit(a, 1);
    EXPECT(arena_charge(a, 2) == 999);
    EXPECT(arena_charge(a, 1) < 0);
    arena_credit(a, 1000);
    arena_figures figures;
    arena_read(a, &figures);
    EXPECT(figures.live == 0);
    arena_delete(a);
}

static void the_largest_size_passes_no_cap(void)
{
    arena *a = arena_new();
    arena_set_cap(a, 1000);
    EXPECT(arena_charge(a, 10) < 0);
    EXPECT(arena_charge(a, (size_t)1 << 48) == 10);
    arena_credit(a, 10);
    arena_delete(a);
}

static void what_was_charged_before_a_cap_counts_under_it(void)
{
    arena *a = arena_new();
    EXPECT(arena_charge(a, 400) < 0);
    arena_set_cap(a, 1000);
    EXPECT(arena_charge(a, 601) == 400);
    EXPECT(arena_charge(a, 600) < 0);
    arena_credit(a, 1000);
    arena_delete(a);
}

static void an_arena_works_where_the_process_has_no_thread_key_left(void)
{
    pthread_key_t keys[PTHREAD_KEYS_MAX];
    int count = 0;
    while (count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[count], NULL) == 0)
        count++;
    arena *a = arena_new();
    arena_figures figures;
    block *b = NULL;
    EXPECT(arena_charge(a, 100) < 0 && arena_lease(a, 100, 16, &b) == 0);
    arena_count_scope(a, 1);
    arena_read(a, &figures);
    EXPECT(figures.live == 100 && figures.scopes == 1);
    arena_drop(a, b);
    arena_credit(a, 100);
    arena_set_cache_limit(a, 0);
    arena_trim(a);
    arena_read(a, &figures);
    EXPECT(figures.live == 0 && figures.cached == 0);
    arena_delete(a);
    while (count > 0)
        pthread_key_delete(keys[--count]);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        a_random_program_owes_nobody_a_byte(seed * 2654435761u, 3000);
    a_retired_block_is_leased_to_nobody();
    the_warm_block_comes_back();
    no_cache_means_nothing_is_kept();
    a_cap_is_exact();
    the_largest_size_passes_no_cap();
    what_was_charged_before_a_cap_counts_under_it();
    an_arena_works_where_the_process_has_no_thread_key_left();
    return 0;
}
