#include "slabs.h"

#include "os_memory.h"

#include <errno.h>
#include <stdlib.h>

static inline uint64_t bit_of(uint32_t index)
{
    return (uint64_t)1 << (index & 63);
}

static inline uint32_t slot_index(const block *slot)
{
    return (uint32_t)(slot - slot->slab->slots);
}

unsigned slabs_class(size_t nbytes, size_t align)
{
    if (nbytes > SLOT_MOST || align > SLOT_ALIGN_MOST)
        return SLOT_CLASSES;
    /* Slots lie at multiples of their size from the start of a page, so a size that is a multiple of
     * the alignment is aligned; each power of two is a class. */
    unsigned kind = class_of(nbytes > align ? nbytes : align, SLOT_LEAST_LOG2);
    while ((class_size(kind, SLOT_LEAST_LOG2) & (align - 1)) != 0)
        kind++; /* ends at SLOT_MOST, a multiple of each alignment */
    return kind;
}

static void push_partial(slab_pool *pool, slab *s)
{
    s->prev = NULL;
    s->next = pool->partial[s->kind];
    if (s->next != NULL)
        s->next->prev = s;
    pool->partial[s->kind] = s;
}

static void remove_partial(slab_pool *pool, slab *s)
{
    if (s->prev != NULL)
        s->prev->next = s->next;
    else
        pool->partial[s->kind] = s->next;
    if (s->next != NULL)
        s->next->prev = s->prev;
}

static int new_slab(slab_pool *pool, range_cache *ranges, unsigned kind)
{
    size_t size = class_size(kind, SLOT_LEAST_LOG2);
    uint32_t capacity = (uint32_t)(SLAB_BYTES / size);
    slab *s = calloc(1, sizeof(slab) + capacity * sizeof(block));
    if (s == NULL)
        return ENOMEM;
    int error = ranges_take(ranges, SLAB_BYTES, 1, &s->range);
    if (error != 0) {
        free(s);
        return error;
    }
    s->kind = (uint16_t)kind;
    s->capacity = s->free = capacity;
    for (uint32_t i = 0; i < capacity; i++) {
        block *slot = &s->slots[i];
        size_t offset = i * size;
        slot->base = s->range->base + offset;
        slot->size = size;
        slot->slab = s;
        slot->kind = (uint16_t)kind;
        slot->dirty = s->range->dirty <= offset ? 0 : s->range->dirty - offset;
        if (slot->dirty > size)
            slot->dirty = size;
        s->free_bits[i >> 6] |= bit_of(i);
    }
    pool->free_bytes += capacity * size;
    s->warm = s->range->dirty < capacity * size ? s->range->dirty : capacity * size;
    pool->warm_bytes += s->warm;
    push_partial(pool, s);
    return 0;
}

static void set_warm(slab_pool *pool, slab *s, size_t warm)
{
    pool->warm_bytes += warm - s->warm;
    s->warm = warm;
}

int slabs_take(slab_pool *pool, range_cache *ranges, unsigned kind, block **taken)
{
    if (pool->partial[kind] == NULL) {
        int error = new_slab(pool, ranges, kind);
        if (error != 0)
            return error;
    }
    slab *s = pool->partial[kind];
    uint32_t at = 0;
    while (s->free_bits[at] == 0)
        at++;
    uint32_t index = at * 64 + (uint32_t)__builtin_ctzll(s->free_bits[at]);
    s->free_bits[at] &= ~bit_of(index);
    if (--s->free == 0)
        remove_partial(pool, s);
    *taken = &s->slots[index];
    size_t size = s->slots[index].size;
    pool->free_bytes -= size;
    set_warm(pool, s, s->warm > size ? s->warm - size : 0);
    return 0;
}

slab *slabs_put(slab_pool *pool, range_cache *ranges, block *slot)
{
    slab *s = slot->slab;
    uint32_t index = slot_index(slot);
    SCOPES_ASSERT((s->free_bits[index >> 6] & bit_of(index)) == 0);
    s->free_bits[index >> 6] |= bit_of(index);
    pool->free_bytes += slot->size;
    if (s->free++ == 0)
        push_partial(pool, s);
    set_warm(pool, s, s->warm + slot->size);
    if (s->free < s->capacity)
        return s;
    set_warm(pool, s, 0);
    remove_partial(pool, s);
    pool->free_bytes -= s->capacity * slot->size;
    s->range->dirty = s->range->size; /* any slot may have been written to */
    ranges_put(ranges, s->range);
    free(s);
    return NULL;
}

/* True if nobody is owed the bytes of any slot that reaches into the given part of the slab. */
static int is_idle(const slab *s, size_t begin, size_t end)
{
    size_t size = s->slots[0].size;
    size_t last = (end - 1) / size;
    for (size_t i = begin / size; i <= last && i < s->capacity; i++) {
        if (!s->slots[i].retired && (s->free_bits[i >> 6] & bit_of((uint32_t)i)) == 0)
            return 0;
    }
    return 1;
}

/* Drops the idle pages of [begin, end), which begins at a page. */
static void decommit_idle(const slab *s, size_t begin, size_t end, size_t page)
{
    size_t run = begin; /* where the idle pages before the one that is looked at begin */
    for (size_t at = begin; at < end; at += page) {
        if (is_idle(s, at, at + page))
            continue;
        if (at > run)
            os_decommit(s->range->base + run, at - run);
        run = at + page;
    }
    if (run < end)
        os_decommit(s->range->base + run, end - run);
}

void slabs_decommit_retired(const block *slot, size_t page)
{
    size_t begin = (size_t)(slot->base - slot->slab->range->base);
    size_t end = (begin + slot->size + page - 1) & ~(page - 1);
    decommit_idle(slot->slab, begin & ~(page - 1), end, page);
}

void slabs_decommit_free(slab_pool *pool, slab *s, size_t page)
{
    decommit_idle(s, 0, SLAB_BYTES, page);
    set_warm(pool, s, 0);
}

void slabs_decommit_all(slab_pool *pool, size_t page)
{
    for (unsigned kind = 0; kind < SLOT_CLASSES; kind++)
        for (slab *s = pool->partial[kind]; s != NULL; s = s->next)
            slabs_decommit_free(pool, s, page);
}
