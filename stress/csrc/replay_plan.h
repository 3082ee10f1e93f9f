/* Turns the operations of a recording into steps, a list for each thread of the replay. Plain C, no
 * Python.h.
 *
 * This is done between two runs of the clock, a block of operations at a time, so that a step is all that
 * the replay has to look at: what it waits for, when, and which scope of the replay its memory is from, has
 * been found by then. docs/recording.md tells what operations mean, docs/replay.md what is made of them.
 *
 * A plan belongs to one thread at a time; while its steps are executed, nobody may be in it.
 *
 * native_build.py hands the declarations below to cffi: the lines without a # must stay plain C.
 */
#ifndef STRESS_REPLAY_PLAN_H
#define STRESS_REPLAY_PLAN_H

#include <stddef.h>
#include <stdint.h>

/* What a step does; `object` and `scope` are slots. */
enum replay_code {
    REPLAY_ALLOCATE = 1, /* size bytes, with a scoped plan in `scope` */
    REPLAY_REALLOCATE,   /* to size bytes, with a scoped plan into `scope` */
    REPLAY_FREE,         /* of a plan without scopes only */
    REPLAY_OPEN,         /* scope; its recorded kind */
    REPLAY_ADOPT,        /* size foreign bytes; of recorded scopes only, as the next two */
    REPLAY_EXPORT,
    REPLAY_UNEXPORT,
    REPLAY_CLOSE,        /* scope; its memory goes, or is left to what still refers to it */
    REPLAY_DROP,         /* object: the last reference to it */
    REPLAY_DROP_SCOPE,   /* scope: the same */
    REPLAY_WAIT,         /* until the thread `object` has executed `size` of its steps */
    REPLAY_THINK,        /* until `size` ns of the replay have passed */
};

typedef struct {
    uint64_t size;
    uint32_t object;
    uint32_t scope;
    uint8_t code;
    uint8_t align;    /* of allocate: a power of two; 0: any */
    uint8_t kind;     /* as recorded */
    uint8_t awaited;  /* 1: another thread waits until it has been executed */
    uint32_t operation; /* index in the block, of which it was made */
} replay_step;

/* Whose memory an object is. */
enum replay_scoping {
    REPLAY_FLAT,     /* nobody's: scopes are left out, and what lies in one is freed when that is closed, or
                      * before that with its last reference */
    REPLAY_RECORDED, /* that of the recorded scope */
    REPLAY_BY_THREAD, /* that of one scope a thread, closed after the last operation */
    REPLAY_BY_WINDOW, /* that of one scope for so many allocations of a thread one after the other, closed
                       * with the last of its objects */
    REPLAY_BY_OBJECT, /* that of a scope of its own */
};

typedef struct {
    uint32_t objects;  /* sizes of the recording's tables */
    uint32_t scopes;
    uint32_t threads;
    int timed;         /* operations have a time */
    int merged;        /* one list for all threads, in order */
    int think;         /* steps wait for their time */
    int scoping;       /* enum replay_scoping */
    uint32_t window;   /* allocations to a scope; REPLAY_BY_WINDOW */
} replay_how;

/* Why an operation can't be replayed; suites.replays.plan has the words. */
enum replay_fault {
    REPLAY_FINE,
    REPLAY_NO_MEMORY,
    REPLAY_UNKNOWN_OPERATION,
    REPLAY_OUT_OF_TABLE,     /* a slot or a thread */
    REPLAY_LIVE_OBJECT,      /* allocated in a slot that is taken */
    REPLAY_DEAD_OBJECT,      /* of an object that does not exist */
    REPLAY_LIVE_SCOPE,
    REPLAY_DEAD_SCOPE,
    REPLAY_CLOSED_SCOPE,
    REPLAY_TIME_BACKWARD,
};

/* What the operations since the last reset amount to. */
typedef struct {
    uint64_t operations;
    uint64_t live_objects;   /* as in info.json: up to the close of their scope */
    uint64_t live_bytes;
    uint64_t peak_bytes;
    uint64_t peak_at;        /* operations up to and with the first one after which that was live */
    uint64_t held_objects;   /* that the replay has at the end: without those that nothing refers to, in a */
    uint64_t held_bytes;     /* plan without scopes */
    uint64_t scopes;         /* size of a table of the replay's scopes, so far */
    uint64_t adopted;        /* bytes of the largest piece of foreign memory */
    uint64_t deferred;       /* scopes that were closed while something was exported */
} replay_totals;

typedef struct replay_plan replay_plan;

/* NULL: no memory. */
replay_plan *replay_plan_new(replay_how how);
void replay_plan_delete(replay_plan *self);

/* Back to the beginning of the recording. */
void replay_plan_reset(replay_plan *self);

/* Makes the steps of the next count operations, in place of those before; every operation before them has
 * been planned. Returns an enum replay_fault; the operation in question is the one after those in totals. */
int replay_plan_block(replay_plan *self, const void *operations, size_t count);

replay_totals replay_plan_totals(const replay_plan *self);

/* How many lists there are: the recording's threads, or one. Their steps, and how many; threads that have
 * nothing to do in the block have none. */
uint32_t replay_plan_threads(const replay_plan *self);
const replay_step *replay_plan_steps(const replay_plan *self, uint32_t thread, size_t *count);

#endif
