/* What the loop over steps knows: the thread that runs it, the tables that all threads share, and what a
 * target does. */
#ifndef STRESS_REPLAY_WORKER_H
#define STRESS_REPLAY_WORKER_H

#include "replay.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { REPLAY_CACHE_LINE = 64 }; /* bytes; what two threads write must not share one */

/* One slot of the table. Written by the thread whose turn it is by the plan. */
typedef struct {
    char *address; /* NULL: nothing is there */
    size_t size;
} replay_object;

typedef struct {
    /* Read by threads that wait for this one. */
    alignas(REPLAY_CACHE_LINE) _Atomic uint32_t done; /* steps, as far as somebody waits for them */
    _Atomic uint32_t sleepers;                         /* threads that wait on `progress` */
    pthread_mutex_t lock;                              /* of `progress` */
    pthread_cond_t progress;

    /* Its own. */
    alignas(REPLAY_CACHE_LINE) replay *owner;
    uint64_t *samples;   /* HDR_BUCKETS, or NULL */
    uint64_t differing;
    uint64_t started_ns;
    uint64_t ended_ns;
    uint32_t index;
    uint32_t turn;       /* the last one that it has taken */
    pthread_t thread;
} replay_worker;

typedef struct replay_arena replay_arena;

struct replay {
    replay_options options;
    replay_object *objects;
    size_t page;
    replay_arena *arena;     /* of REPLAY_ARENA */
    const replay_plan *plan; /* that is executed */
    uint64_t elapsed_ns;     /* of the runs before this one, since the last release */
    uint64_t run_ns;         /* when this one began */
    atomic_bool failed;
    replay_failure failure;  /* of the first thread that failed; written before `failed` */
    atomic_bool failing;     /* somebody writes it */

    /* Turns: guarded by lock. */
    pthread_mutex_t lock;
    pthread_cond_t begin;
    pthread_cond_t end;
    uint32_t turn;
    uint32_t running;
    bool stopping;
    uint32_t made;           /* threads that exist */
    replay_worker workers[];
};

/* What a target does in a step. A function that can fail returns an errno; where it does, the object is as
 * it was. */
typedef struct {
    int (*allocate)(replay *self, const replay_step *step, replay_object *object);
    int (*reallocate)(replay *self, const replay_step *step, replay_object *object);
    void (*release)(replay *self, const replay_step *step, replay_object *object);
    int (*open)(replay *self, uint32_t scope);
    void (*close)(replay *self, uint32_t scope);
} replay_actions;

/* The loops: one for each target, so that a step calls it directly. Returns the number of the step that
 * failed with *error set, or count. */
typedef size_t replay_loop(replay_worker *worker, const replay_step *steps, size_t count, int *error);
replay_loop *replay_heap_loop(const replay_options *options);
replay_loop *replay_mmap_loop(const replay_options *options);
replay_loop *replay_arena_loop(const replay_options *options);

/* Functions that do nothing, for REPLAY_NULL. */
replay_heap replay_nothing(void);

/* The end of what is left in the table. */
void replay_heap_release(replay *self);
void replay_mmap_release(replay *self);
void replay_arena_release(replay *self);

/* NULL: no memory. */
replay_arena *replay_arena_new(uint32_t objects);
void replay_arena_delete(replay_arena *self);
/* A table of at least so many scopes. Returns 0 or an errno. */
int replay_arena_reserve(replay_arena *self, size_t scopes);
void replay_arena_holds(replay_arena *self, replay_holdings *holdings);

/* What takes long enough to be a call. */
bool replay_wait_for(replay_worker *worker, const replay_step *step); /* false: another thread has failed */
void replay_publish(replay_worker *worker, uint32_t done);
void replay_think(replay_worker *worker, uint64_t until_ns);

uint64_t replay_clock_ns(void);

#endif
