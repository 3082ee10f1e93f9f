/* A block: a run of bytes that the arena leases to one scope, which carves segments out of it.
 *
 * It is a slot of a slab (small) or a range with a mapping of its own (large, and the 64 KiB runs that
 * scopes with many small segments take). Its life:
 *
 *   free      in a magazine, a slab's free bits, or a bin of ranges; refs 0
 *   leased    held by an open scope: refs = 1 + segments that cover it
 *   deferred  the scope is closed, exports > 0: the bytes stay as they are until the last export goes
 *   retired   the scope is closed, exports = 0, but a segment is alive: something that is not counted
 *             (np.ndarray(buffer=segment)) may still read it. Not reused; its pages may be dropped.
 *   -> free again with the last segment. */
#ifndef SCOPES_BLOCK_H
#define SCOPES_BLOCK_H

#include "atomics.h"

typedef struct block block;
typedef struct slab slab;

struct block {
    char *base;      /* first byte */
    size_t size;     /* bytes; a size class */
    size_t dirty;    /* bytes from base on that may be other than zero */
    counter refs;    /* who may still reach the bytes, see above */
    counter exports; /* buffers and pins taken of it and not given back */
    block *next;     /* in the list of whoever holds it: scope, magazine or bin */
    block *prev;     /* in a bin of ranges */
    block *older;    /* in the arena's queue of free ranges, or of retired blocks */
    block *newer;
    slab *slab;      /* NULL: a range, which has a mapping of its own */
    uint16_t kind;   /* index of its size class */
    uint8_t retired; /* 1 while retired */
    uint8_t cold;    /* 1 while retired with its pages dropped */
};

/* Size classes: four to a doubling, so that a block is at most 1.25 times what it is for. */
#define CLASS_STEPS_LOG2 2

/* The smallest class, counted from 2**least_log2 bytes, that holds nbytes (> 0). */
static inline unsigned class_of(size_t nbytes, unsigned least_log2)
{
    if (nbytes <= (size_t)1 << least_log2)
        return 0;
    size_t last = nbytes - 1;
    unsigned log2 = 63u - (unsigned)__builtin_clzll((unsigned long long)last);
    size_t step = (last - ((size_t)1 << log2)) >> (log2 - CLASS_STEPS_LOG2);
    return ((log2 - least_log2) << CLASS_STEPS_LOG2) + (unsigned)step + 1;
}

/* Bytes in a block of that class. */
static inline size_t class_size(unsigned index, unsigned least_log2)
{
    unsigned log2 = least_log2 + (index >> CLASS_STEPS_LOG2);
    size_t step = index & ((1u << CLASS_STEPS_LOG2) - 1);
    return ((size_t)1 << log2) + (step << (log2 - CLASS_STEPS_LOG2));
}

/* A queue through older and newer: the free ranges by age, and the retired blocks. */
typedef struct {
    block *oldest;
    block *newest;
} block_queue;

static inline void queue_push(block_queue *queue, block *b)
{
    b->older = queue->newest;
    b->newer = NULL;
    if (queue->newest != NULL)
        queue->newest->newer = b;
    else
        queue->oldest = b;
    queue->newest = b;
}

static inline void queue_remove(block_queue *queue, block *b)
{
    if (b->older != NULL)
        b->older->newer = b->newer;
    else
        queue->oldest = b->newer;
    if (b->newer != NULL)
        b->newer->older = b->older;
    else
        queue->newest = b->older;
    b->older = b->newer = NULL;
}

#endif
