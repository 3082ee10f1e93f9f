/* A thread that notes the resident memory of its process at an interval. Plain C, no Python.h.
 *
 * The thread sleeps (costs nothing) or records. It takes Python's lock at no time, so it sees what
 * happens while others hold it, a collection above all. Memory for its points is taken, and touched,
 * before it starts: its own growth is in no point. When they are full, the lowest and the highest of
 * every four stay, so that a recording of any length fits and no peak is lost.
 *
 * function                                           may be called
 *   timeline_start                                   by anybody
 *   timeline_record, timeline_pause, timeline_stop   by one thread at a time
 *   timeline_taken, timeline_thread_id               by any thread between start and stop
 *   all else                                         by one thread, while it does not record
 *
 * native_build.py hands the declarations below to cffi: the lines without a # must stay plain C.
 */
#ifndef STRESS_TIMELINE_H
#define STRESS_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

typedef struct timeline timeline;

typedef struct {
    uint64_t time_ns; /* since the recording began */
    uint64_t bytes;   /* resident, as /proc/self/statm has it */
} timeline_point;

/* A thread for points every `interval_ns` (1 or more), asleep; room for `capacity` of them (4 or
   more). NULL with errno set when it can't be made or the kernel tells no memory. */
timeline *timeline_start(uint64_t interval_ns, size_t capacity);

/* Forgets what was recorded and begins; the first point is noted before it returns. */
void timeline_record(timeline *self);

/* Notes a last point and sleeps; returns when it does. */
void timeline_pause(timeline *self);

/* Points noted since timeline_record, those that were thinned out since included. */
uint64_t timeline_taken(timeline *self);

/* CPU time of the thread since timeline_record. */
uint64_t timeline_cpu_ns(const timeline *self);

/* The points that are kept, in rising time. */
size_t timeline_count(const timeline *self);
const timeline_point *timeline_points(const timeline *self);

/* The kernel's id of the thread. */
int timeline_thread_id(const timeline *self);

/* Ends and joins the thread, asleep or not, and frees everything. */
void timeline_stop(timeline *self);

/* Keeps the lowest and the highest of every four points, in their order; how many are left. */
size_t timeline_thin(timeline_point *points, size_t count);

#endif
