/* Slabs: 64 KiB ranges cut into slots of one size class, their headers kept apart from the memory.
 *
 * A scope with one small segment leases a slot that fits it; one with more leases whole 64 KiB ranges.
 * Plain data without a lock: the arena calls everything here with its own lock held. */
#ifndef SCOPES_SLABS_H
#define SCOPES_SLABS_H

#include "block.h"
#include "ranges.h"

#define SLAB_BYTES ((size_t)64 * 1024)
/* Slots of 64 bytes to 16 KiB: larger ones would waste more than a quarter of a slab. */
#define SLOT_LEAST_LOG2 6
#define SLOT_MOST_LOG2 14
#define SLOT_CLASSES ((SLOT_MOST_LOG2 - SLOT_LEAST_LOG2) * 4 + 1)
#define SLOT_MOST ((size_t)1 << SLOT_MOST_LOG2)
/* A slab starts at a page, whose least size this is. */
#define SLOT_ALIGN_MOST ((size_t)4096)
#define SLAB_WORDS (SLAB_BYTES >> SLOT_LEAST_LOG2 >> 6)

struct slab {
    block *range;              /* the memory */
    slab *next;                /* in the list of slabs with free slots, while it has any */
    slab *prev;
    uint32_t capacity;         /* slots */
    uint32_t free;             /* slots that are free */
    size_t warm;               /* bytes in free slots that may have pages */
    uint16_t kind;             /* slot class */
    uint64_t free_bits[SLAB_WORDS]; /* 1: the slot is free */
    block slots[];             /* capacity of them */
};

typedef struct {
    slab *partial[SLOT_CLASSES]; /* slabs with a free slot and a used one */
    size_t free_bytes;           /* in the free slots of all slabs */
    size_t warm_bytes;           /* of them, those that may have pages */
} slab_pool;

/* The smallest slot class that holds nbytes at a multiple of align; SLOT_CLASSES if none does. */
unsigned slabs_class(size_t nbytes, size_t align);

/* A free slot of that class, from a new slab if need be. Returns 0 or the errno of the failure. */
int slabs_take(slab_pool *pool, range_cache *ranges, unsigned kind, block **taken);

/* Frees a slot and returns its slab, or NULL if that has no used slot left: then its range went back to
 * the cache. */
slab *slabs_put(slab_pool *pool, range_cache *ranges, block *slot);

/* Drop pages that hold nothing but free and retired slots: under a retired slot, under the free slots of
 * a slab, and of all slabs. */
void slabs_decommit_retired(const block *slot, size_t page);
void slabs_decommit_free(slab_pool *pool, slab *s, size_t page);
void slabs_decommit_all(slab_pool *pool, size_t page);

#endif
