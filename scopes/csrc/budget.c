#include "budget.h"

/* A collection that frees less than an eighth of what is unreleased is not worth its time. */
#define ENOUGH_PARTS 8
/* What survived may double before the collector is asked in vain again: over a live set that only grows,
 * collections are then as many as its doublings. */
#define GROWTH 2

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t doubled(int64_t bytes)
{
    return bytes > BUDGET_NONE / GROWTH ? BUDGET_NONE : bytes * GROWTH;
}

void budget_set(budget *b, int64_t base)
{
    counter_set(&b->base, base);
    counter_set(&b->threshold, base);
    counter_set(&b->turnover, 0);
}

/* A threshold that grew shrinks by half each time that as many bytes came and went without reaching it,
 * but not below what doubling of what is there would set. */
static void shrink(budget *b, int64_t bytes)
{
    int64_t threshold = counter_get(&b->threshold);
    int64_t least = most(counter_get(&b->base), doubled(bytes));
    counter_set(&b->turnover, 0);
    if (threshold > least)
        counter_set(&b->threshold, most(least, threshold / GROWTH));
}

void budget_add(budget *b, int64_t nbytes)
{
    int64_t bytes = counter_add(&b->bytes, nbytes);
    if (counter_add(&b->turnover, nbytes) > counter_get(&b->threshold))
        shrink(b, bytes);
}

void budget_subtract(budget *b, int64_t nbytes)
{
    counter_add(&b->bytes, -nbytes);
}

int budget_begin(budget *b)
{
    return counter_add_within(&b->asking, 1, 1) == 0;
}

int budget_is_enough(int64_t before, int64_t now)
{
    return before - now >= before / ENOUGH_PARTS;
}

void budget_end(budget *b, int64_t before, int64_t nbytes, int ran)
{
    int64_t now = counter_get(&b->bytes);
    if (ran) {
        if (now < before)
            counter_add(&b->freed, before - now);
        counter_set(&b->turnover, 0);
        if (!budget_is_enough(before, now)) {
            counter_add(&b->unproductive, 1);
            counter_set(&b->threshold, most(counter_get(&b->base), doubled(now + nbytes)));
        }
    }
    counter_set(&b->asking, 0);
}
