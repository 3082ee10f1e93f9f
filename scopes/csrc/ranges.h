/* Ranges: page-aligned blocks with a mapping of their own, and the cache of the free ones.
 *
 * Plain data without a lock: the arena calls everything here with its own lock held. */
#ifndef SCOPES_RANGES_H
#define SCOPES_RANGES_H

#include "block.h"

/* The smallest range is above the largest slot, in classes counted from 16 KiB. */
#define RANGE_LEAST_LOG2 14
/* Classes up to the addresses a process can have. */
#define RANGE_MOST_LOG2 48
#define RANGE_MOST ((size_t)1 << RANGE_MOST_LOG2)
#define RANGE_CLASSES ((RANGE_MOST_LOG2 - RANGE_LEAST_LOG2) * 4 + 1)

typedef struct {
    size_t page;               /* bytes in a page */
    size_t mapped;             /* bytes mapped, leased and free */
    size_t free;               /* bytes in free ranges */
    block *bins[RANGE_CLASSES]; /* free ranges by class, the last one freed first */
    block_queue by_age;        /* the same, the one freed first is the oldest */
} range_cache;

void ranges_init(range_cache *ranges);

/* A range of at least nbytes at a multiple of align: the free one that was used last, or a new map.
 * Returns 0, or the errno of the failure. */
int ranges_take(range_cache *ranges, size_t nbytes, size_t align, block **taken);

/* Puts a range with no users left into the cache. */
void ranges_put(range_cache *ranges, block *range);

/* Takes the oldest free ranges out of the cache until at most keep bytes are free and pushes them on
 * the list *victims (linked by next). They no longer count as mapped; ranges_unmap ends them. */
void ranges_evict(range_cache *ranges, size_t keep, block **victims);

/* Bytes in a list of victims. */
size_t ranges_total(const block *victims);

/* Unmaps a list of victims and returns, as a list, those that the system refuses to unmap; their pages are
 * dropped. Needs no lock: nobody else knows them. */
block *ranges_unmap(block *victims);

/* Puts what ranges_unmap returned back into the cache. */
void ranges_take_back(range_cache *ranges, block *refused);

#endif
