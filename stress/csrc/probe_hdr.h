/* The buckets of an HDR histogram (https://hdrhistogram.org): plain C, no Python.h.
 *
 * Values up to 2,047 have a bucket each; above, every doubling is cut into 1,024 buckets of equal
 * width, so that any value is known to one part in 1,024 by its bucket.
 */
#ifndef STRESS_PROBE_HDR_H
#define STRESS_PROBE_HDR_H

#include <stdint.h>

enum {
    HDR_HALF_BITS = 10, /* 1,024 buckets a doubling */
    HDR_VALUE_BITS = 46, /* of the largest value: in ticks of 5 GHz, 3.9 hours */
    HDR_BUCKETS = (HDR_VALUE_BITS - HDR_HALF_BITS + 1) << HDR_HALF_BITS,
};

/* The number of a value's bucket, below HDR_BUCKETS; values of more bits are in the last one. */
static inline uint32_t hdr_bucket(uint64_t value)
{
    const uint64_t largest = (UINT64_C(1) << HDR_VALUE_BITS) - 1;
    const uint64_t singles = (UINT64_C(2) << HDR_HALF_BITS) - 1;
    value = value < largest ? value : largest;
    uint32_t shift = (uint32_t)(63 - __builtin_clzll(value | singles)) - HDR_HALF_BITS;
    return (shift << HDR_HALF_BITS) + (uint32_t)(value >> shift);
}

/* The middle of a bucket, half a width from any value in it. */
static inline double hdr_middle(uint32_t bucket)
{
    uint32_t doubling = bucket >> HDR_HALF_BITS;
    uint32_t shift = doubling > 0 ? doubling - 1 : 0;
    uint64_t lowest = (uint64_t)(bucket - (shift << HDR_HALF_BITS)) << shift;
    return (double)lowest + (double)((UINT64_C(1) << shift) - 1) / 2;
}

#endif
