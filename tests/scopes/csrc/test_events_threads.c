/* Eight threads emit and end while recordings begin and end, and no record is lost, doubled or torn.
 *
 * Built with SCOPES_CONCURRENT=1, for TSan to look at. */
#include "events.h"
#include "thread_token.h"

#include "expect.h"

#include <string.h>

#define THREADS 8
#define EACH 5000
#define MOST (THREADS * EACH)

static events e;
static pthread_barrier_t barrier;
static event_record heard[MOST];
static size_t count;
static _Atomic int threads_seen;
static _Atomic int stop_emitting;

static int hear(void *context, const event_record *records, size_t n)
{
    (void)context;
    EXPECT(count + n <= MOST);
    memcpy(heard + count, records, n * sizeof(event_record));
    count += n;
    return 0;
}

static void hear_thread(void *context, uint64_t token)
{
    (void)context;
    EXPECT(token == thread_token());
    atomic_fetch_add(&threads_seen, 1);
}

static void start(int64_t most)
{
    count = 0;
    threads_seen = 0;
    EXPECT(events_start(&e, (events_how){.most = most, .listener = hear, .threads = hear_thread}) == 0);
}

/* The size of a record repeats its thread and how many the thread had made, for one that is torn to show. */
static uint64_t mark(uint64_t nth)
{
    return thread_token() << 32 | nth;
}

static void *emit_each(void *arg)
{
    pthread_barrier_wait(&barrier);
    for (uint64_t i = 0; i < EACH; i++)
        events_emit(&e, EVENT_EXPORT, &e, arg, mark(i));
    return NULL;
}

static void *emit_until_stopped(void *arg)
{
    pthread_barrier_wait(&barrier);
    for (uint64_t i = 0; !atomic_load(&stop_emitting); i++) {
        if (events_are_on(&e))
            events_emit(&e, EVENT_EXPORT, &e, arg, mark(i));
    }
    return NULL;
}

static void run(void *(*body)(void *), void (*meanwhile)(void))
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, body, NULL) == 0);
    pthread_barrier_wait(&barrier);
    if (meanwhile != NULL)
        meanwhile();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
}

/* Each sequence number below `most` once, and in each thread its own order. */
static void check(size_t most)
{
    static uint8_t seen[MOST];
    static uint64_t last[UINT16_MAX]; /* by token: the next of its sequences is larger */
    memset(seen, 0, sizeof(seen));
    memset(last, 0, sizeof(last));
    EXPECT(count == most);
    for (size_t i = 0; i < count; i++) {
        const event_record *r = &heard[i];
        EXPECT(r->sequence < most && !seen[r->sequence]);
        seen[r->sequence] = 1;
        EXPECT(r->thread == r->size >> 32 && r->operation == EVENT_EXPORT);
        EXPECT(last[r->thread] <= r->sequence);
        last[r->thread] = r->sequence + 1;
    }
}

static void test_threads_that_end_hand_over_what_they_have(void)
{
    start(INT64_MAX);
    run(emit_each, NULL);
    check(MOST); /* not stopped yet: the threads did it */
    EXPECT(threads_seen == THREADS);
    events_stop(&e);
    EXPECT(count == MOST);
}

static void test_the_bound_is_exact_for_all_threads_together(void)
{
    start(EACH);
    run(emit_each, NULL);
    events_stop(&e);
    check(EACH);
}

static void test_a_prefix_has_no_gap_before_the_last_buffer_that_was_full(void)
{
    static uint8_t seen[MOST];
    memset(seen, 0, sizeof(seen));
    start(INT64_MAX);
    run(emit_each, NULL);
    /* Whatever is handed over in one go leaves no earlier number behind in another buffer. */
    size_t gap = 0;
    for (size_t i = 0; i < count; i++) {
        seen[heard[i].sequence] = 1;
        while (gap < MOST && seen[gap])
            gap++;
        EXPECT(heard[i].sequence < gap + (THREADS + 1) * EVENT_BUFFER_RECORDS);
    }
    events_stop(&e);
}

static void start_and_stop(void)
{
    for (int i = 0; i < 10; i++) {
        start(MOST);
        for (int j = 0; j < 10; j++)
            sched_yield();
        events_stop(&e);
        size_t had = count;
        check(had);
        EXPECT(count == had);
    }
    atomic_store(&stop_emitting, 1);
}

static void test_recordings_begin_and_end_while_threads_emit(void)
{
    run(emit_until_stopped, start_and_stop);
}

int main(void)
{
    events_init(&e);
    test_threads_that_end_hand_over_what_they_have();
    test_the_bound_is_exact_for_all_threads_together();
    test_a_prefix_has_no_gap_before_the_last_buffer_that_was_full();
    test_recordings_begin_and_end_while_threads_emit();
    events_forget(&e);
    return 0;
}
