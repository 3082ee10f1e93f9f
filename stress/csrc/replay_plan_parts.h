/* What the parts of a plan share. */
#ifndef STRESS_REPLAY_PLAN_PARTS_H
#define STRESS_REPLAY_PLAN_PARTS_H

#include "recorded.h"
#include "replay_plan.h"

#include <stdbool.h>

/* The last step in a block that has to do with something: `position` in the list of its thread, from 1. */
typedef struct {
    uint64_t block;
    uint32_t thread;
    uint32_t position;
} last_step;

enum object_state {
    NOTHING,
    LIVE,
    ADOPTED,
    ENDED, /* its memory is gone, and it is referred to; or what the recording tells of it makes no step */
};

/* An object of the recording. */
typedef struct {
    uint64_t size;
    last_step last;
    uint32_t scope;    /* of the recording, or NONE */
    uint32_t place;    /* scope of the replay that it is in, or NONE */
    uint32_t next;     /* in the same scope of the recording: a ring without a head, or NONE */
    uint32_t previous;
    uint8_t state;     /* enum object_state */
} object_slot;

enum scope_state { UNOPENED, OPENED, CLOSED };

/* A scope of the recording. */
typedef struct {
    uint64_t bytes;   /* allocated in it, up to its close */
    uint64_t objects;
    last_step last;
    int64_t exports;  /* not given back */
    uint32_t first;   /* of its objects that are referred to, or NONE */
    uint8_t state;    /* enum scope_state */
} scope_slot;

/* A scope of the replay alone. */
typedef struct {
    last_step last;
    uint32_t objects;
    uint32_t next_free;
    bool full; /* nothing will be allocated in it any more */
} own_scope;

typedef struct {
    replay_step *steps;
    size_t count;
    size_t room;
    uint32_t own;       /* its scope, or NONE */
    uint32_t allocated; /* in that, ever */
} thread_list;

struct replay_plan {
    replay_how how;
    uint32_t lists;      /* how many */
    thread_list *threads;
    object_slot *objects;
    scope_slot *scopes;
    own_scope *own;
    size_t own_used;
    size_t own_room;
    uint32_t own_free;   /* the last one that was closed, or NONE */
    uint32_t *waited;    /* [waiting x lists + for]: steps that have been waited for in this block, or NULL */
    uint64_t block;      /* number of this one, from 1 */
    uint64_t first_ns;   /* time of the first operation */
    uint64_t last_ns;
    uint64_t due_ns;     /* of the operation, where it is to be waited for */
    uint32_t operation;  /* index in the block */
    bool is_due;
    int fault;
    replay_totals totals;
};

/* ---- lists of steps: replay_plan_lists.c ---------------------------------------------------------- */

/* Adds a step after all that it has to wait for: `on` and `in` are what was done last to its object and to
 * its scope, or NULL. */
void plan_emit(replay_plan *self, uint32_t thread, replay_step step, last_step *on, last_step *in);

/* ---- scopes of the replay alone: replay_plan_own.c ------------------------------------------------- */

static inline uint32_t plan_own_base(const replay_plan *self)
{
    return self->how.scoping == REPLAY_RECORDED ? self->how.scopes : 0;
}

static inline own_scope *plan_own_at(const replay_plan *self, uint32_t scope)
{
    return &self->own[scope - plan_own_base(self)];
}

/* The scope for the next allocation of a thread, with that counted; NONE: no memory. */
uint32_t plan_own_for(replay_plan *self, uint32_t thread);

/* One object less is in the scope, which is closed where it was the last that will be. */
void plan_leave_own(replay_plan *self, uint32_t thread, uint32_t scope);

#endif
