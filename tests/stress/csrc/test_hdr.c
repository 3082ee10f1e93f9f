/* The buckets: every value in one, in order, and near its middle. Exit status 0: all held. */
#include "probe_hdr.h"

#include "expect.h"

static void small_values_have_buckets_of_their_own(void)
{
    for (uint64_t value = 0; value < 2048; value++) {
        EXPECT(hdr_bucket(value) == value);
        EXPECT(hdr_middle((uint32_t)value) == (double)value);
    }
}

static void buckets_follow_one_another_without_a_gap(void)
{
    uint32_t last = 0;
    for (int shift = 1; shift <= HDR_VALUE_BITS - 11; shift++) {
        for (uint64_t step = 1024; step < 2048; step++) {
            uint64_t lowest = step << shift, highest = ((step + 1) << shift) - 1;
            uint32_t bucket = hdr_bucket(lowest);
            EXPECT(bucket == hdr_bucket(highest));
            EXPECT(bucket == hdr_bucket(lowest - 1) + 1);
            EXPECT(hdr_middle(bucket) == ((double)lowest + (double)highest) / 2);
            last = bucket;
        }
    }
    EXPECT(last == HDR_BUCKETS - 1);
}

static void larger_values_are_in_the_last_bucket(void)
{
    EXPECT(hdr_bucket(UINT64_C(1) << HDR_VALUE_BITS) == HDR_BUCKETS - 1);
    EXPECT(hdr_bucket(UINT64_MAX) == HDR_BUCKETS - 1);
}

int main(void)
{
    small_values_have_buckets_of_their_own();
    buckets_follow_one_another_without_a_gap();
    larger_values_are_in_the_last_bucket();
    return 0;
}
