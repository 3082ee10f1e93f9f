#include "probe_pauses.h"

#include "probe_hdr.h"

#include <assert.h>
#include <string.h>

void pauses_init(pauses *self, pause_record *ring, size_t capacity, uint32_t *counts)
{
    assert(ring != NULL && capacity > 0 && counts != NULL);
    self->counts = counts;
    self->counted = false;
    self->capacity = capacity;
    self->ring = ring;
    pauses_reset(self);
}

void pauses_reset(pauses *self)
{
    self->count = 0;
    self->total_ns = 0;
    self->longest_ns = 0;
    self->start_ns = 0;
    self->in_pause = false;
    pauses_forget_counts(self);
}

void pauses_forget_counts(pauses *self)
{
    if (self->counted) { /* else a window would begin with the clearing of what is clear */
        memset(self->counts, 0, HDR_BUCKETS * sizeof(self->counts[0]));
        self->counted = false;
    }
}

void pauses_start(pauses *self, int64_t now_ns)
{
    self->start_ns = now_ns;
    self->in_pause = true;
}

void pauses_stop(pauses *self, int64_t now_ns, int64_t generation)
{
    if (!self->in_pause) {
        return;
    }
    self->in_pause = false;

    int64_t length_ns = now_ns - self->start_ns;
    self->total_ns += length_ns;
    if (length_ns > self->longest_ns) {
        self->longest_ns = length_ns;
    }
    self->counts[hdr_bucket(length_ns > 0 ? (uint64_t)length_ns : 0)]++;
    self->counted = true;
    self->ring[self->count % self->capacity] = (pause_record){
        .start_ns = self->start_ns,
        .stop_ns = now_ns,
        .generation = generation,
    };
    self->count++;
}

size_t pauses_kept(const pauses *self)
{
    return self->count < self->capacity ? (size_t)self->count : self->capacity;
}

pause_record pauses_at(const pauses *self, size_t index)
{
    assert(index < pauses_kept(self));
    uint64_t oldest = self->count - pauses_kept(self);
    return self->ring[(oldest + index) % self->capacity];
}
