/* The replay: executes the steps of a plan against something that allocates, with a thread for each list of
 * them. Plain C, no Python.h.
 *
 * The clock runs from the moment the first thread starts with its steps to the moment the last one is done
 * with them. Nothing is allocated meanwhile but by the steps themselves.
 *
 * function                                      may be called
 *   replay_run, replay_release, replay_delete   by one thread at a time
 *   all others                                  while nothing runs
 *
 * native_build.py hands the declarations below to cffi: the lines without a # must stay plain C.
 */
#ifndef STRESS_REPLAY_H
#define STRESS_REPLAY_H

#include "replay_plan.h"

typedef struct replay replay;

/* What allocates. */
enum replay_target {
    REPLAY_NULL,  /* nothing does: what is left is the replay itself */
    REPLAY_HEAP,  /* functions such as malloc */
    REPLAY_MMAP,  /* the kernel, a map an object */
    REPLAY_ARENA, /* the arena of the scopes */
};

/* Functions with the meaning of malloc, calloc, aligned_alloc, realloc, free. Without the third, NULL,
 * alignments are left to the first two. */
typedef struct {
    void *(*allocate)(size_t size);
    void *(*allocate_zeroed)(size_t count, size_t size);
    void *(*allocate_aligned)(size_t align, size_t size);
    void *(*reallocate)(void *address, size_t size);
    void (*release)(void *address);
} replay_heap;

/* Bytes that are written after each allocation, and in what a reallocation adds. */
enum replay_touch { REPLAY_TOUCH_NONE, REPLAY_TOUCH_FIRST /* one a page */, REPLAY_TOUCH_ALL };

typedef struct {
    int target;
    replay_heap heap;   /* of REPLAY_HEAP */
    int touch;
    int checked;        /* every byte is written, and read before it goes */
    int sampled;        /* every step that is an operation is timed */
    int by_tsc;         /* by the processor's counter and not the kernel's clock */
    uint32_t objects;   /* size of the table */
    uint32_t threads;   /* lists of a plan */
} replay_options;

/* Why a step failed. */
typedef struct {
    int error;          /* errno, or 0 */
    replay_step step;
} replay_failure;

/* What the replay has now. Memory in scopes is counted up to their close. */
typedef struct {
    uint64_t objects;
    uint64_t bytes;
    uint64_t differing; /* bytes that were not what had been written, since the last release; checked */
    uint64_t scopes;    /* that are open */
    uint64_t scope_objects; /* in them; with those that nothing refers to any more */
    uint64_t scope_bytes;
} replay_holdings;

/* The C library's, or what is preloaded in its place. */
replay_heap replay_libc(void);

/* With its threads, which sleep. NULL with errno set where one can't be made. */
replay *replay_new(replay_options options);
void replay_delete(replay *self);

/* The system's idents of the threads, as many as the options say; of one thread only there are none, since
 * it is the calling one. */
void replay_idents(const replay *self, uint64_t *idents);

/* Executes the steps of the plan's block and adds their time to *ns. Returns 0 or an errno; replay_failed
 * tells more then, and all that can be done is to release and to delete. */
int replay_run(replay *self, const replay_plan *plan, uint64_t *ns);
replay_failure replay_failed(const replay *self);

/* Gives back what is left, for the next run to begin with the recording. */
void replay_release(replay *self);

replay_holdings replay_holds(const replay *self);

/* How many steps took so long, HDR_BUCKETS buckets of ticks of all threads; and starts anew. */
uint32_t replay_buckets(void);
double replay_bucket_ticks(uint32_t bucket);
void replay_take_samples(replay *self, uint64_t *counts);

#endif
