/* The arithmetic of the byte budget: when it asks, how it grows and shrinks. */
#include "budget.h"

#include "expect.h"

#include <pthread.h>

#define BASE 1000

static void adds_and_asks_above_the_threshold(void)
{
    budget b = {0};
    budget_set(&b, BASE);
    EXPECT(!budget_is_over(&b, 5 * BASE)); /* nothing is there to be freed */
    budget_add(&b, BASE - 1);
    EXPECT(!budget_is_over(&b, 1));
    EXPECT(budget_is_over(&b, 2));
    budget_subtract(&b, BASE - 1);
    EXPECT(!budget_is_over(&b, 2));
}

static void never_asks_without_a_budget(void)
{
    budget b = {0};
    budget_set(&b, BUDGET_NONE);
    budget_add(&b, INT64_C(1) << 60);
    EXPECT(!budget_is_over(&b, INT64_C(1) << 48));
}

static void one_thread_asks_at_a_time(void)
{
    budget b = {0};
    budget_set(&b, BASE);
    EXPECT(budget_begin(&b));
    EXPECT(!budget_begin(&b));
    budget_end(&b, 0, 0, 0);
    EXPECT(budget_begin(&b));
}

static void an_eighth_is_enough(void)
{
    EXPECT(budget_is_enough(800, 700));
    EXPECT(!budget_is_enough(800, 701));
    EXPECT(budget_is_enough(0, 0));
}

static void asked_in_vain_it_doubles_over_what_survived(void)
{
    budget b = {0};
    budget_set(&b, BASE);
    int asked = 0;
    for (int64_t live = 0; live < 1000 * BASE; live += 100) {
        if (budget_is_over(&b, 100)) {
            asked++;
            EXPECT(budget_begin(&b));
            budget_end(&b, counter_get(&b.bytes), 100, 1);
            EXPECT(!budget_is_over(&b, 100));
        }
        budget_add(&b, 100);
    }
    EXPECT(asked == 10 && counter_get(&b.unproductive) == asked);
}

static void a_collector_that_did_not_run_changes_nothing(void)
{
    budget b = {0};
    budget_set(&b, BASE);
    budget_add(&b, BASE);
    EXPECT(budget_begin(&b));
    budget_end(&b, BASE, 10, 0);
    EXPECT(counter_get(&b.threshold) == BASE && counter_get(&b.unproductive) == 0);
}

static void productive_collections_keep_it(void)
{
    budget b = {0};
    budget_set(&b, BASE);
    budget_add(&b, BASE);
    EXPECT(budget_begin(&b));
    budget_subtract(&b, BASE / 2);
    budget_end(&b, BASE, 10, 1);
    EXPECT(counter_get(&b.threshold) == BASE && counter_get(&b.freed) == BASE / 2);
}

static void it_shrinks_as_bytes_come_and_go(void)
{
    budget b = {0};
    budget_set(&b, BASE);
    budget_add(&b, 64 * BASE);
    EXPECT(budget_begin(&b));
    budget_end(&b, 64 * BASE, 0, 1);
    EXPECT(counter_get(&b.threshold) == 128 * BASE);
    budget_subtract(&b, 64 * BASE);
    for (int i = 0; i < 300; i++) {
        budget_add(&b, BASE);
        budget_subtract(&b, BASE);
    }
    EXPECT(counter_get(&b.threshold) == 2 * BASE); /* twice what is there at a time */
}

static void sums_of_the_largest_sizes_do_not_overflow(void)
{
    budget b = {0};
    budget_set(&b, BASE);
    budget_add(&b, INT64_MAX / 2 + 10);
    EXPECT(budget_begin(&b));
    budget_end(&b, INT64_MAX / 2, INT64_C(1) << 48, 1);
    EXPECT(counter_get(&b.threshold) == BUDGET_NONE);
}

#if SCOPES_CONCURRENT
static void *come_and_go(void *shared)
{
    for (int i = 0; i < 20000; i++) {
        budget_add(shared, 10);
        if (budget_is_over(shared, 10) && budget_begin(shared))
            budget_end(shared, counter_get(&((budget *)shared)->bytes), 10, 1);
        budget_subtract(shared, 10);
    }
    return NULL;
}

static void threads_lose_no_bytes(void)
{
    budget b = {0};
    pthread_t threads[8];
    budget_set(&b, BASE);
    for (int i = 0; i < 8; i++)
        EXPECT(pthread_create(&threads[i], NULL, come_and_go, &b) == 0);
    for (int i = 0; i < 8; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    EXPECT(counter_get(&b.bytes) == 0 && counter_get(&b.asking) == 0);
}
#endif

int main(void)
{
    adds_and_asks_above_the_threshold();
    never_asks_without_a_budget();
    one_thread_asks_at_a_time();
    an_eighth_is_enough();
    asked_in_vain_it_doubles_over_what_survived();
    a_collector_that_did_not_run_changes_nothing();
    productive_collections_keep_it();
    it_shrinks_as_bytes_come_and_go();
    sums_of_the_largest_sizes_do_not_overflow();
#if SCOPES_CONCURRENT
    threads_lose_no_bytes();
#endif
    return 0;
}
