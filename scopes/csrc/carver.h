/* A carver takes segments out of the blocks that it leases from the arena. No Python in here.
 *
 * In one thread at a time: the lock of the scope that it belongs to. */
#ifndef SCOPES_CARVER_H
#define SCOPES_CARVER_H

#include "arena.h"

#include <string.h>

typedef struct {
    block *blocks;  /* leased, the last one first; one reference each */
    block *current; /* of them, where small segments are carved */
    size_t used;    /* bytes of current that are taken */
} carver;

static inline size_t carver_align_up(const block *b, size_t offset, size_t align)
{
    uintptr_t address = (uintptr_t)b->base + offset;
    return offset + (size_t)(-address & (align - 1));
}

/* Where nbytes fit into the current block; SIZE_MAX if nowhere. */
static inline size_t carver_place_in_current(const carver *c, size_t nbytes, size_t align)
{
    const block *b = c->current;
    if (b == NULL || nbytes > ARENA_SMALL_MOST)
        return SIZE_MAX;
    size_t offset = carver_align_up(b, c->used, align);
    return offset <= b->size && nbytes <= b->size - offset ? offset : SIZE_MAX;
}

/* Leases a block for nbytes. The first small segment gets one that just fits, so that scopes with a
 * single segment cost no more than it; the next one shows that there will be many. */
static inline int carver_lease(carver *c, arena *a, size_t nbytes, size_t align, block **leased)
{
    block *b = NULL;
    int small = nbytes <= ARENA_SMALL_MOST && align <= ARENA_SMALL_ALIGN_MOST;
    int many = small && c->current != NULL;
    int error = arena_lease(a, many ? ARENA_RUN_BYTES : nbytes, align, &b);
    if (error != 0)
        return error;
    b->next = c->blocks;
    c->blocks = b;
    if (small)
        c->current = b;
    *leased = b;
    return 0;
}

/* Finds room for nbytes (> 0), in a new block if need be: it is there for carver_take, and nobody's until
 * then. Returns 0 or the errno of the failure. */
static inline int carver_find(carver *c, arena *a, size_t nbytes, size_t align, block **in, size_t *offset)
{
    *in = c->current;
    *offset = carver_place_in_current(c, nbytes, align);
    if (*offset != SIZE_MAX)
        return 0;
    *offset = 0;
    return carver_lease(c, a, nbytes, align, in);
}

/* Takes the room that was found, with a reference to its block; zeroed or as it is. */
static inline char *carver_take(carver *c, block *b, size_t offset, size_t nbytes, int zeroed)
{
    size_t end = offset + nbytes;
    if (zeroed && offset < b->dirty)
        memset(b->base + offset, 0, (end < b->dirty ? end : b->dirty) - offset);
    if (end > b->dirty)
        b->dirty = end;
    if (b == c->current)
        c->used = end;
    counter_add(&b->refs, 1);
    return b->base + offset;
}

/* Gives all blocks back. Those that segments still cover are not used again before these are gone. */
static inline void carver_give_back(carver *c, arena *a)
{
    block *b = c->blocks;
    *c = (carver){.blocks = NULL};
    while (b != NULL) {
        block *next = b->next;
        if (SCOPES_UNLIKELY(counter_get(&b->refs) > 1)) {
            if (counter_get(&b->exports) > 0)
                arena_defer(a, (int64_t)b->size);
            else
                arena_retire(a, b);
        }
        arena_drop(a, b);
        b = next;
    }
}

#endif
