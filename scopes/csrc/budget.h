/* The byte budget: when memory that nobody closes is worth a collection. Plain arithmetic, no Python.
 *
 * CPython's collector counts objects; a few hundred dead cycles that pin gigabytes are not worth a
 * collection to it. So the bytes are counted here, of implicit scopes and of foreign memory that was
 * accounted, and above a threshold the next such allocation asks the collector. Confined and shared
 * scopes never count, and neither does resident memory.
 *
 * Counters are atomic; the rest is touched by the one thread that asks (budget_begin). */
#ifndef SCOPES_BUDGET_H
#define SCOPES_BUDGET_H

#include "atomics.h"

#define BUDGET_BYTES ((int64_t)64 * 1024 * 1024)
#define BUDGET_NONE INT64_MAX
#define BUDGET_GENERATIONS 3

typedef struct {
    counter bytes;     /* unreleased */
    counter threshold; /* of bytes; base or, while more than that survives collections, above it */
    counter base;      /* as set; BUDGET_NONE never asks */
    counter turnover;  /* bytes allocated since the threshold was last looked at */
    counter asking;    /* 1 while a thread has the collector run */
    counter forced[BUDGET_GENERATIONS]; /* collections asked for */
    counter unproductive; /* times that asking freed too little */
    counter freed;     /* bytes freed while asking */
} budget;

void budget_set(budget *b, int64_t base);

/* Counts bytes that were handed out, or came back. */
void budget_add(budget *b, int64_t nbytes);
void budget_subtract(budget *b, int64_t nbytes);

/* True if nbytes more pass the threshold, and there is something that a collection could free. */
static inline int budget_is_over(budget *b, int64_t nbytes)
{
    int64_t bytes = counter_get(&b->bytes);
    return bytes > counter_get(&b->threshold) - nbytes && bytes > 0;
}

/* True for the one thread that may ask now. */
int budget_begin(budget *b);

/* True if so much was freed that older generations need not be asked. */
int budget_is_enough(int64_t before, int64_t now);

/* Ends what budget_begin began; ran is false where the collector did not run at all. */
void budget_end(budget *b, int64_t before, int64_t nbytes, int ran);

#endif
