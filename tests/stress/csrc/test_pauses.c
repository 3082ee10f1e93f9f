/* The record of pauses, by a clock that says what the test wants. Exit status 0: all held. */
#include "probe_pauses.h"

#include "expect.h"
#include "probe_hdr.h"

enum { CAPACITY = 3 };

static pause_record ring[CAPACITY];
static uint32_t counts[HDR_BUCKETS];

static pauses fresh(void)
{
    pauses record;
    for (uint32_t i = 0; i < HDR_BUCKETS; i++) {
        counts[i] = 0;
    }
    pauses_init(&record, ring, CAPACITY, counts);
    return record;
}

static void a_fresh_record_is_empty(void)
{
    pauses record = fresh();
    EXPECT(record.count == 0 && record.total_ns == 0 && record.longest_ns == 0);
    EXPECT(pauses_kept(&record) == 0);
}

static void a_pause_is_counted_when_it_ends(void)
{
    pauses record = fresh();
    pauses_start(&record, 100);
    EXPECT(record.count == 0);
    pauses_stop(&record, 350, 2);
    EXPECT(record.count == 1 && record.total_ns == 250 && record.longest_ns == 250);
    pause_record kept = pauses_at(&record, 0);
    EXPECT(kept.start_ns == 100 && kept.stop_ns == 350 && kept.generation == 2);
}

static void a_stop_without_a_start_is_not_a_pause(void)
{
    pauses record = fresh();
    pauses_stop(&record, 350, 0);
    EXPECT(record.count == 0 && record.total_ns == 0);
    pauses_start(&record, 400);
    pauses_stop(&record, 500, 0);
    pauses_stop(&record, 900, 0);
    EXPECT(record.count == 1 && record.total_ns == 100);
}

static void a_pause_begun_before_a_reset_is_forgotten(void)
{
    pauses record = fresh();
    pauses_start(&record, 100);
    pauses_reset(&record);
    pauses_stop(&record, 350, 0);
    EXPECT(record.count == 0 && record.longest_ns == 0);
}

static void sums_and_maximum_outlive_the_ring(void)
{
    pauses record = fresh();
    int64_t now = 0, total = 0;
    for (int i = 1; i <= 1000; i++) {
        int64_t length = i == 7 ? 5000 : i;
        pauses_start(&record, now);
        pauses_stop(&record, now + length, i % 3);
        now += length + 10;
        total += length;
    }
    EXPECT(record.count == 1000 && record.total_ns == total && record.longest_ns == 5000);
    EXPECT(pauses_kept(&record) == CAPACITY);
}

static void the_ring_keeps_the_latest_oldest_first(void)
{
    pauses record = fresh();
    for (int i = 0; i < 8; i++) {
        pauses_start(&record, i * 10);
        pauses_stop(&record, i * 10 + 1, i);
        size_t kept = pauses_kept(&record);
        for (size_t j = 0; j < kept; j++) {
            EXPECT(pauses_at(&record, j).generation == i - (int64_t)(kept - 1 - j));
        }
    }
}

static uint64_t counted(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < HDR_BUCKETS; i++) {
        sum += counts[i];
    }
    return sum;
}

static void the_histogram_holds_more_pauses_than_the_ring(void)
{
    pauses record = fresh();
    for (int i = 0; i < 100; i++) {
        pauses_start(&record, i * 1000000);
        pauses_stop(&record, i * 1000000 + (i < 90 ? 700 : 500000), 0);
    }
    EXPECT(counted() == 100);
    EXPECT(counts[hdr_bucket(700)] == 90 && counts[hdr_bucket(500000)] == 10);
}

static void a_reset_and_a_reader_forget_the_histogram(void)
{
    pauses record = fresh();
    pauses_start(&record, 0);
    pauses_stop(&record, 900, 0);
    pauses_forget_counts(&record);
    EXPECT(counted() == 0 && record.count == 1);
    pauses_start(&record, 1000);
    pauses_stop(&record, 1900, 0);
    pauses_reset(&record);
    EXPECT(counted() == 0 && record.count == 0);
}

static void a_clock_that_steps_back_is_a_pause_of_nothing(void)
{
    pauses record = fresh();
    pauses_start(&record, 500);
    pauses_stop(&record, 400, 0);
    EXPECT(counts[0] == 1);
}

int main(void)
{
    a_fresh_record_is_empty();
    a_pause_is_counted_when_it_ends();
    a_stop_without_a_start_is_not_a_pause();
    a_pause_begun_before_a_reset_is_forgotten();
    sums_and_maximum_outlive_the_ring();
    the_ring_keeps_the_latest_oldest_first();
    the_histogram_holds_more_pauses_than_the_ring();
    a_reset_and_a_reader_forget_the_histogram();
    a_clock_that_steps_back_is_a_pause_of_nothing();
    return 0;
}
