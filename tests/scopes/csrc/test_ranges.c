/* Size classes, and the cache of free ranges against what it should hold. */
#include "ranges.h"

#include "bytes.h"
#include "expect.h"
#include "os_memory.h"

#include <errno.h>

static void check_class(size_t nbytes, unsigned least_log2)
{
    unsigned kind = class_of(nbytes, least_log2);
    size_t size = class_size(kind, least_log2);
    EXPECT(size >= nbytes);
    EXPECT(kind == 0 || class_size(kind - 1, least_log2) < nbytes);
    EXPECT(kind == 0 || 4 * size <= 5 * nbytes + 4);
}

static void classes_are_the_smallest_that_hold_and_waste_a_quarter_at_most(void)
{
    for (unsigned least = 6; least <= 14; least += 8) {
        for (size_t nbytes = 1; nbytes < 70000; nbytes++)
            check_class(nbytes, least);
        for (unsigned log2 = 16; log2 < 48; log2++) {
            for (size_t quarter = 4; quarter < 8; quarter++) {
                size_t at = ((size_t)1 << (log2 - 2)) * quarter;
                check_class(at - 1, least);
                check_class(at, least);
                check_class(at + 1, least);
            }
        }
    }
    EXPECT(class_of(RANGE_MOST, RANGE_LEAST_LOG2) == RANGE_CLASSES - 1);
}

static void delete_all(range_cache *ranges)
{
    block *victims = NULL;
    ranges_evict(ranges, 0, &victims);
    ranges_unmap(victims);
    EXPECT(ranges->free == 0 && ranges->by_age.oldest == NULL && ranges->by_age.newest == NULL);
}

static void the_range_used_last_is_taken_first(void)
{
    range_cache ranges;
    block *first, *second, *found;
    ranges_init(&ranges);
    EXPECT(ranges_take(&ranges, 100000, 1, &first) == 0);
    EXPECT(ranges_take(&ranges, 100000, 1, &second) == 0);
    EXPECT(ranges.mapped == first->size + second->size && ranges.free == 0);
    ranges_put(&ranges, first);
    ranges_put(&ranges, second);
    EXPECT(ranges.free == ranges.mapped);
    EXPECT(ranges_take(&ranges, 99999, 1, &found) == 0 && found == second);
    ranges_put(&ranges, found);
    delete_all(&ranges);
    EXPECT(ranges.mapped == 0);
}

static void the_oldest_is_evicted_first_and_no_more_than_needed(void)
{
    range_cache ranges;
    block *all[8];
    block *victims = NULL;
    ranges_init(&ranges);
    for (int i = 0; i < 8; i++)
        EXPECT(ranges_take(&ranges, (size_t)20000 << (i & 1), 1, &all[i]) == 0);
    for (int i = 0; i < 8; i++)
        ranges_put(&ranges, all[i]);
    size_t keep = ranges.free - all[0]->size - all[1]->size - all[2]->size;
    ranges_evict(&ranges, keep, &victims);
    EXPECT(ranges.free == keep && ranges.mapped == keep);
    EXPECT(ranges.by_age.oldest == all[3]);
    EXPECT(ranges_total(victims) == all[0]->size + all[1]->size + all[2]->size);
    ranges_unmap(victims);
    delete_all(&ranges);
}

static void free_ranges_are_taken_only_where_they_are_aligned(void)
{
    range_cache ranges;
    ranges_init(&ranges);
    for (size_t align = 1; align <= (size_t)2 * 1024 * 1024; align *= 2) {
        block *taken[20];
        for (int i = 0; i < 20; i++) {
            EXPECT(ranges_take(&ranges, 30000, align, &taken[i]) == 0);
            EXPECT(((uintptr_t)taken[i]->base & (align - 1)) == 0);
            memset(taken[i]->base, i, taken[i]->size);
        }
        for (int i = 0; i < 20; i++) {
            EXPECT(all_are(taken[i]->base, taken[i]->size, (char)i));
            ranges_put(&ranges, taken[i]);
        }
    }
    delete_all(&ranges);
}

static void more_than_a_process_can_have_is_no_memory(void)
{
    range_cache ranges;
    block *taken = NULL;
    ranges_init(&ranges);
    EXPECT(ranges_take(&ranges, RANGE_MOST + 1, 1, &taken) == ENOMEM);
    EXPECT(ranges_take(&ranges, SIZE_MAX, 1, &taken) == ENOMEM);
    EXPECT(ranges_take(&ranges, RANGE_MOST, 1, &taken) == ENOMEM);
    EXPECT(ranges.mapped == 0);
}

static void a_random_program_keeps_the_books(void)
{
    range_cache ranges;
    block *held[64] = {NULL};
    size_t used = 0;
    uint64_t state = 88172645463325252u;
    ranges_init(&ranges);
    for (int step = 0; step < 20000; step++) {
        size_t at = below(&state, 64);
        if (held[at] == NULL) {
            size_t nbytes = 1 + below(&state, (size_t)1 << (10 + below(&state, 9)));
            EXPECT(ranges_take(&ranges, nbytes, (size_t)1 << below(&state, 17), &held[at]) == 0);
            EXPECT(held[at]->size >= nbytes);
            held[at]->base[0] = held[at]->base[held[at]->size - 1] = (char)at;
            used += held[at]->size;
        }
        else {
            EXPECT(held[at]->base[0] == (char)at && held[at]->base[held[at]->size - 1] == (char)at);
            used -= held[at]->size;
            ranges_put(&ranges, held[at]);
            held[at] = NULL;
        }
        if (below(&state, 50) == 0) {
            block *victims = NULL;
            size_t keep = below(&state, 1 << 20);
            ranges_evict(&ranges, keep, &victims);
            EXPECT(ranges.free <= keep);
            ranges_unmap(victims);
        }
        EXPECT(ranges.mapped == used + ranges.free);
    }
    for (int i = 0; i < 64; i++) {
        if (held[i] != NULL)
            ranges_put(&ranges, held[i]);
    }
    delete_all(&ranges);
    EXPECT(ranges.mapped == 0);
}

int main(void)
{
    classes_are_the_smallest_that_hold_and_waste_a_quarter_at_most();
    the_range_used_last_is_taken_first();
    the_oldest_is_evicted_first_and_no_more_than_needed();
    free_ranges_are_taken_only_where_they_are_aligned();
    more_than_a_process_can_have_is_no_memory();
    a_random_program_keeps_the_books();
    return 0;
}
