#include "ranges.h"

#include "os_memory.h"

#include <errno.h>
#include <stdlib.h>

/* Free ranges of a bin that are looked at for one that is aligned well enough. */
#define ALIGNED_SEARCH 8

void ranges_init(range_cache *ranges)
{
    *ranges = (range_cache){.page = os_page_size()};
}

static int is_aligned(const block *range, size_t align)
{
    return ((uintptr_t)range->base & (align - 1)) == 0;
}

static void bin_remove(range_cache *ranges, block *range)
{
    if (range->prev != NULL)
        range->prev->next = range->next;
    else
        ranges->bins[range->kind] = range->next;
    if (range->next != NULL)
        range->next->prev = range->prev;
    range->next = range->prev = NULL;
    queue_remove(&ranges->by_age, range);
    ranges->free -= range->size;
}

static block *take_free(range_cache *ranges, unsigned kind, size_t align)
{
    block *range = ranges->bins[kind];
    for (int i = 0; range != NULL && i < ALIGNED_SEARCH; i++, range = range->next) {
        if (is_aligned(range, align)) {
            bin_remove(ranges, range);
            return range;
        }
    }
    return NULL;
}

int ranges_take(range_cache *ranges, size_t nbytes, size_t align, block **taken)
{
    if (nbytes > RANGE_MOST)
        return ENOMEM;
    unsigned kind = class_of(nbytes, RANGE_LEAST_LOG2);
    *taken = take_free(ranges, kind, align);
    if (*taken != NULL)
        return 0;
    block *range = calloc(1, sizeof(block));
    if (range == NULL)
        return ENOMEM;
    size_t mask = ranges->page - 1;
    void *base = NULL;
    range->size = (class_size(kind, RANGE_LEAST_LOG2) + mask) & ~mask;
    range->kind = (uint16_t)kind;
    int error = os_map(range->size, align, &base);
    if (error != 0) {
        free(range);
        return error;
    }
    range->base = base;
    ranges->mapped += range->size;
    *taken = range;
    return 0;
}

void ranges_put(range_cache *ranges, block *range)
{
    range->prev = NULL;
    range->next = ranges->bins[range->kind];
    if (range->next != NULL)
        range->next->prev = range;
    ranges->bins[range->kind] = range;
    queue_push(&ranges->by_age, range);
    ranges->free += range->size;
}

void ranges_evict(range_cache *ranges, size_t keep, block **victims)
{
    while (ranges->free > keep) {
        block *range = ranges->by_age.oldest;
        bin_remove(ranges, range);
        ranges->mapped -= range->size;
        range->next = *victims;
        *victims = range;
    }
}

size_t ranges_total(const block *victims)
{
    size_t total = 0;
    for (; victims != NULL; victims = victims->next)
        total += victims->size;
    return total;
}

block *ranges_unmap(block *victims)
{
    block *refused = NULL;
    while (victims != NULL) {
        block *range = victims;
        victims = range->next;
        if (os_unmap(range->base, range->size) == 0) {
            free(range);
            continue;
        }
        os_decommit(range->base, range->size);
        range->next = refused;
        refused = range;
    }
    return refused;
}

void ranges_take_back(range_cache *ranges, block *refused)
{
    while (refused != NULL) {
        block *range = refused;
        refused = range->next;
        ranges->mapped += range->size;
        ranges_put(ranges, range);
    }
}
