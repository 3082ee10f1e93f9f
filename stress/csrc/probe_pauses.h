/* The record of the collector's pauses: plain C, no Python.h, no memory taken while pauses are noted.
 *
 * States: between collections (in_pause false) and inside one (in_pause true).
 *   start: either state -> inside. A second start replaces the first: its stop was never announced.
 *   stop:  inside -> between; between -> between, nothing noted (the record was begun in a pause).
 * Count, total, longest and the histogram are of any number of pauses; the ring keeps the latest only.
 *
 * Times are nanoseconds of any one monotonic clock, handed in by the caller. Nothing here locks: the
 * caller lets one thread in at a time.
 */
#ifndef STRESS_PROBE_PAUSES_H
#define STRESS_PROBE_PAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t start_ns;
    int64_t stop_ns;
    int64_t generation; /* as the collector numbers them, the youngest is 0 */
} pause_record;

typedef struct {
    uint64_t count;    /* pauses that ended since the last reset */
    int64_t total_ns;  /* their lengths, summed */
    int64_t longest_ns;
    int64_t start_ns; /* of the pause that runs now, if in_pause */
    bool in_pause;
    uint32_t *counts;   /* pauses by the bucket of their nanoseconds (probe_hdr.h); the caller's */
    bool counted;       /* counts are not all 0 */
    size_t capacity;    /* records in the ring, at least 1 */
    pause_record *ring; /* owned by whoever called pauses_init; slot of pause i is i % capacity */
} pauses;

/* Takes a ring of `capacity` records and HDR_BUCKETS counts, all 0, that the caller will free. */
void pauses_init(pauses *self, pause_record *ring, size_t capacity, uint32_t *counts);

/* Forgets everything, the pause that runs now included. */
void pauses_reset(pauses *self);

void pauses_start(pauses *self, int64_t now_ns);
void pauses_stop(pauses *self, int64_t now_ns, int64_t generation);

/* Forgets the histogram alone. */
void pauses_forget_counts(pauses *self);

/* How many records the ring holds: the lesser of count and capacity. */
size_t pauses_kept(const pauses *self);

/* The record number `index` of the kept ones, the oldest is 0; index must be below pauses_kept(). */
pause_record pauses_at(const pauses *self, size_t index);

#endif
