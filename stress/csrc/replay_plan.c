#define _GNU_SOURCE
#include "replay_plan.h"

#include "recorded.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* With more threads a table of what each has waited for would be larger than what it saves. */
#define MOST_WATCHED_THREADS 1024

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

/* ---- lists of steps ------------------------------------------------------------------------------ */

/* Mapped, so that the heap that is measured does not hold them. */
static bool grow(thread_list *list)
{
    size_t room = list->room > 0 ? 2 * list->room : 4096;
    void *larger = mmap(NULL, room * sizeof(replay_step), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (larger == MAP_FAILED)
        return false;
    if (list->room > 0) {
        memcpy(larger, list->steps, list->count * sizeof(replay_step));
        munmap(list->steps, list->room * sizeof(replay_step));
    }
    list->steps = larger;
    list->room = room;
    return true;
}

static void push(replay_plan *self, uint32_t thread, replay_step step)
{
    thread_list *list = &self->threads[thread];
    if (list->count == list->room && !grow(list)) {
        self->fault = REPLAY_NO_MEMORY;
        return;
    }
    step.operation = self->operation;
    list->steps[list->count++] = step;
}

/* The thread waits for what another one did last, unless it has before. */
static void wait_for(replay_plan *self, uint32_t thread, const last_step *last)
{
    if (last->block != self->block || last->thread == thread)
        return;
    if (self->waited != NULL) {
        uint32_t *waited = &self->waited[(size_t)thread * self->lists + last->thread];
        if (*waited >= last->position)
            return;
        *waited = last->position;
    }
    self->threads[last->thread].steps[last->position - 1].awaited = 1;
    push(self, thread, (replay_step){.code = REPLAY_WAIT, .object = last->thread, .size = last->position});
}

/* Adds a step after all that it has to wait for: `on` and `in` are what was done last to its object and to
 * its scope, or NULL. */
static void emit(replay_plan *self, uint32_t thread, replay_step step, last_step *on, last_step *in)
{
    if (on != NULL)
        wait_for(self, thread, on);
    if (in != NULL)
        wait_for(self, thread, in);
    if (self->is_due) {
        push(self, thread, (replay_step){.code = REPLAY_THINK, .size = self->due_ns});
        self->is_due = false;
    }
    push(self, thread, step);
    last_step now = {self->block, thread, (uint32_t)self->threads[thread].count};
    if (on != NULL)
        *on = now;
    if (in != NULL)
        *in = now;
}

/* ---- scopes of the replay alone ------------------------------------------------------------------- */

static uint32_t own_base(const replay_plan *self)
{
    return self->how.scoping == REPLAY_RECORDED ? self->how.scopes : 0;
}

static own_scope *own_at(const replay_plan *self, uint32_t scope)
{
    return &self->own[scope - own_base(self)];
}

/* NONE: no memory. */
static uint32_t take_own(replay_plan *self)
{
    if (self->own_free != NONE) {
        uint32_t taken = self->own_free;
        self->own_free = self->own[taken].next_free;
        return taken;
    }
    if (self->own_used == self->own_room) {
        size_t room = self->own_room > 0 ? 2 * self->own_room : 64;
        own_scope *larger = realloc(self->own, room * sizeof(own_scope));
        if (larger == NULL) {
            self->fault = REPLAY_NO_MEMORY;
            return NONE;
        }
        self->own = larger;
        self->own_room = room;
    }
    self->own[self->own_used] = (own_scope){.objects = 0};
    return (uint32_t)self->own_used++;
}

static uint32_t open_own(replay_plan *self, uint32_t thread)
{
    uint32_t taken = take_own(self);
    if (taken == NONE)
        return NONE;
    own_scope *own = &self->own[taken];
    own->objects = 0;
    own->full = false;
    uint32_t scope = taken + own_base(self);
    emit(self, thread, (replay_step){.code = REPLAY_OPEN, .object = NONE, .scope = scope}, NULL, &own->last);
    return scope;
}

/* Closes a scope of which nothing is left and to which nothing comes. */
static void close_own_if_done(replay_plan *self, uint32_t thread, uint32_t scope)
{
    own_scope *own = own_at(self, scope);
    if (own->objects > 0 || !own->full)
        return;
    replay_step step = {.code = REPLAY_CLOSE, .object = NONE, .scope = scope};
    emit(self, thread, step, NULL, &own->last);
    step.code = REPLAY_DROP_SCOPE;
    if (self->how.scoping == REPLAY_RECORDED)
        emit(self, thread, step, NULL, &own->last);
    own->next_free = self->own_free;
    self->own_free = scope - own_base(self);
}

/* The scope for the next allocation of a thread, with that counted; NONE: no memory. */
static uint32_t own_for(replay_plan *self, uint32_t thread)
{
    thread_list *list = &self->threads[thread];
    bool by_thread = self->how.scoping == REPLAY_BY_THREAD, by_window = self->how.scoping == REPLAY_BY_WINDOW;
    if (!by_thread && !by_window) {
        uint32_t scope = open_own(self, thread);
        if (scope != NONE) {
            own_at(self, scope)->objects = 1;
            own_at(self, scope)->full = true;
        }
        return scope;
    }
    if (list->own != NONE && by_window && list->allocated == self->how.window) {
        own_at(self, list->own)->full = true;
        close_own_if_done(self, thread, list->own);
        list->own = NONE;
    }
    if (list->own == NONE) {
        list->own = open_own(self, thread);
        list->allocated = 0;
    }
    if (list->own != NONE) {
        list->allocated++;
        own_at(self, list->own)->objects++;
    }
    return list->own;
}

static void leave_own(replay_plan *self, uint32_t thread, uint32_t scope)
{
    own_at(self, scope)->objects--;
    close_own_if_done(self, thread, scope);
}

/* ---- objects -------------------------------------------------------------------------------------- */

/* Whether the object is in its recorded scope when it is replayed. */
static bool in_recorded_scope(const replay_plan *self, uint32_t scope)
{
    return scope != NONE && self->how.scoping == REPLAY_RECORDED;
}

static void link_object(replay_plan *self, uint32_t object, uint32_t scope)
{
    object_slot *o = &self->objects[object];
    uint32_t first = self->scopes[scope].first;
    o->previous = NONE;
    o->next = first;
    if (first != NONE)
        self->objects[first].previous = object;
    self->scopes[scope].first = object;
}

static void unlink_object(replay_plan *self, uint32_t object, uint32_t scope)
{
    object_slot *o = &self->objects[object];
    if (o->previous != NONE)
        self->objects[o->previous].next = o->next;
    else
        self->scopes[scope].first = o->next;
    if (o->next != NONE)
        self->objects[o->next].previous = o->previous;
}

static void count_live(replay_plan *self, int64_t objects, int64_t bytes)
{
    replay_totals *totals = &self->totals;
    totals->live_objects += (uint64_t)objects;
    totals->live_bytes += (uint64_t)bytes;
    if (totals->live_bytes > totals->peak_bytes) {
        totals->peak_bytes = totals->live_bytes;
        totals->peak_at = totals->operations + 1;
    }
}

static void count_held(replay_plan *self, int64_t objects, int64_t bytes)
{
    self->totals.held_objects += (uint64_t)objects;
    self->totals.held_bytes += (uint64_t)bytes;
}

/* Ends an object that the replay does not keep in its recorded scope. */
static void end_object(replay_plan *self, uint32_t thread, uint32_t object)
{
    object_slot *o = &self->objects[object];
    bool flat = self->how.scoping == REPLAY_FLAT;
    replay_step step = {.code = flat ? REPLAY_FREE : REPLAY_DROP,
                        .object = object,
                        .scope = o->place,
                        .size = o->size};
    emit(self, thread, step, &o->last, NULL);
    count_held(self, -1, -(int64_t)o->size);
    if (o->place != NONE)
        leave_own(self, thread, o->place);
    o->place = NONE;
    o->state = ENDED;
}

static int allocate(replay_plan *self, uint32_t thread, const operation_tail *tail)
{
    object_slot *o = &self->objects[tail->object];
    if (o->state != NOTHING)
        return REPLAY_LIVE_OBJECT;
    scope_slot *s = tail->scope != NONE ? &self->scopes[tail->scope] : NULL;
    if (s != NULL && s->state != OPENED)
        return s->state == CLOSED ? REPLAY_CLOSED_SCOPE : REPLAY_DEAD_SCOPE;
    o->size = tail->size;
    o->scope = tail->scope;
    o->place = NONE;
    o->state = LIVE;
    if (s != NULL) {
        link_object(self, tail->object, tail->scope);
        s->bytes += tail->size;
        s->objects++;
    }
    replay_step step = {.code = REPLAY_ALLOCATE,
                        .size = tail->size,
                        .object = tail->object,
                        .scope = tail->scope,
                        .align = tail->align,
                        .kind = tail->kind};
    last_step *in = NULL;
    if (in_recorded_scope(self, tail->scope))
        in = &s->last;
    else if (self->how.scoping != REPLAY_FLAT) {
        step.scope = o->place = own_for(self, thread);
        if (o->place == NONE)
            return REPLAY_NO_MEMORY;
        in = &own_at(self, o->place)->last;
    }
    emit(self, thread, step, &o->last, in);
    count_held(self, 1, (int64_t)tail->size);
    count_live(self, 1, (int64_t)tail->size);
    return REPLAY_FINE;
}

static int reallocate(replay_plan *self, uint32_t thread, const operation_tail *tail)
{
    object_slot *o = &self->objects[tail->object];
    if (o->state != LIVE || o->scope != NONE)
        return REPLAY_DEAD_OBJECT;
    int64_t more = (int64_t)(tail->size - o->size);
    uint32_t before = o->place;
    replay_step step = {
        .code = REPLAY_REALLOCATE, .size = tail->size, .object = tail->object, .scope = NONE, .kind = tail->kind};
    last_step *in = NULL;
    if (before != NONE) {
        step.scope = o->place = own_for(self, thread);
        if (o->place == NONE)
            return REPLAY_NO_MEMORY;
        in = &own_at(self, o->place)->last;
    }
    emit(self, thread, step, &o->last, in);
    if (before != NONE)
        leave_own(self, thread, before);
    o->size = tail->size;
    count_held(self, 0, more);
    count_live(self, 0, more);
    return REPLAY_FINE;
}

static int free_object(replay_plan *self, uint32_t thread, const operation_tail *tail)
{
    object_slot *o = &self->objects[tail->object];
    if (o->state != LIVE || o->scope != NONE)
        return REPLAY_DEAD_OBJECT;
    count_live(self, -1, -(int64_t)o->size);
    end_object(self, thread, tail->object);
    o->state = NOTHING;
    return REPLAY_FINE;
}

static int adopt(replay_plan *self, uint32_t thread, const operation_tail *tail)
{
    object_slot *o = &self->objects[tail->object];
    scope_slot *s = &self->scopes[tail->scope];
    if (o->state != NOTHING)
        return REPLAY_LIVE_OBJECT;
    if (s->state != OPENED)
        return s->state == CLOSED ? REPLAY_CLOSED_SCOPE : REPLAY_DEAD_SCOPE;
    o->state = ADOPTED;
    o->scope = tail->scope;
    o->size = tail->size;
    replay_step step = {
        .code = REPLAY_ADOPT, .size = tail->size, .object = tail->object, .scope = tail->scope};
    if (self->how.scoping == REPLAY_RECORDED)
        emit(self, thread, step, &o->last, &s->last);
    return REPLAY_FINE;
}

/* Export, unexport, drop: of what is in a recorded scope. */
static int use_object(replay_plan *self, uint32_t thread, const operation_tail *tail, uint8_t code)
{
    object_slot *o = &self->objects[tail->object];
    if (o->state == NOTHING || o->scope == NONE)
        return REPLAY_DEAD_OBJECT;
    replay_step step = {.code = code, .size = tail->size, .object = tail->object, .scope = o->scope};
    if (self->how.scoping == REPLAY_RECORDED)
        emit(self, thread, step, &o->last, &self->scopes[o->scope].last);
    if (code != REPLAY_DROP)
        return REPLAY_FINE;
    if (o->state == LIVE) {
        unlink_object(self, tail->object, o->scope);
        if (self->how.scoping != REPLAY_RECORDED)
            end_object(self, thread, tail->object);
    }
    o->state = NOTHING;
    return REPLAY_FINE;
}

/* ---- scopes of the recording ---------------------------------------------------------------------- */

static int open_scope(replay_plan *self, uint32_t thread, const operation_tail *tail)
{
    scope_slot *s = &self->scopes[tail->scope];
    if (s->state != UNOPENED)
        return REPLAY_LIVE_SCOPE;
    s->state = OPENED;
    s->first = NONE;
    s->bytes = s->objects = 0;
    replay_step step = {.code = REPLAY_OPEN, .object = NONE, .scope = tail->scope, .kind = tail->kind};
    if (self->how.scoping == REPLAY_RECORDED)
        emit(self, thread, step, NULL, &s->last);
    return REPLAY_FINE;
}

static int close_scope(replay_plan *self, uint32_t thread, const operation_tail *tail)
{
    scope_slot *s = &self->scopes[tail->scope];
    if (s->state != OPENED)
        return s->state == CLOSED ? REPLAY_CLOSED_SCOPE : REPLAY_DEAD_SCOPE;
    bool recorded = self->how.scoping == REPLAY_RECORDED;
    replay_step step = {.code = REPLAY_CLOSE, .object = NONE, .scope = tail->scope, .kind = tail->kind};
    if (recorded) {
        emit(self, thread, step, NULL, &s->last);
        count_held(self, -(int64_t)s->objects, -(int64_t)s->bytes);
    }
    while (s->first != NONE) {
        uint32_t object = s->first;
        unlink_object(self, object, tail->scope);
        if (!recorded)
            end_object(self, thread, object);
        self->objects[object].state = ENDED;
    }
    count_live(self, -(int64_t)s->objects, -(int64_t)s->bytes);
    s->state = CLOSED;
    return REPLAY_FINE;
}

static int drop_scope(replay_plan *self, uint32_t thread, const operation_tail *tail)
{
    scope_slot *s = &self->scopes[tail->scope];
    if (s->state == UNOPENED)
        return REPLAY_DEAD_SCOPE;
    if (s->state == OPENED)
        close_scope(self, thread, tail);
    replay_step step = {.code = REPLAY_DROP_SCOPE, .object = NONE, .scope = tail->scope};
    if (self->how.scoping == REPLAY_RECORDED)
        emit(self, thread, step, NULL, &s->last);
    s->state = UNOPENED;
    return REPLAY_FINE;
}

/* ---- entry points --------------------------------------------------------------------------------- */

static bool is_of_object(uint8_t operation)
{
    return operation <= FREE || operation == ADOPT || operation == EXPORT || operation == UNEXPORT ||
           operation == DROP;
}

static bool is_in_tables(const replay_plan *self, const operation_tail *tail)
{
    bool needs_scope = !is_of_object(tail->operation) || tail->operation == ADOPT;
    return tail->thread < self->how.threads &&
           (tail->object < self->how.objects || !is_of_object(tail->operation)) &&
           (tail->scope < self->how.scopes || (tail->scope == NONE && !needs_scope));
}

static int plan_operation(replay_plan *self, const operation_tail *tail)
{
    if (tail->operation < ALLOCATE || tail->operation > DROP_SCOPE)
        return REPLAY_UNKNOWN_OPERATION;
    if (!is_in_tables(self, tail))
        return REPLAY_OUT_OF_TABLE;
    uint32_t thread = self->how.merged ? 0 : tail->thread;
    switch (tail->operation) {
    case ALLOCATE:
        return allocate(self, thread, tail);
    case REALLOCATE:
        return reallocate(self, thread, tail);
    case FREE:
        return free_object(self, thread, tail);
    case ADOPT:
        return adopt(self, thread, tail);
    case EXPORT:
        return use_object(self, thread, tail, REPLAY_EXPORT);
    case UNEXPORT:
        return use_object(self, thread, tail, REPLAY_UNEXPORT);
    case DROP:
        return use_object(self, thread, tail, REPLAY_DROP);
    case OPEN_SCOPE:
        return open_scope(self, thread, tail);
    case CLOSE:
        return close_scope(self, thread, tail);
    case DROP_SCOPE:
        return drop_scope(self, thread, tail);
    default: /* closing: what callbacks do is recorded by itself */
        return REPLAY_FINE;
    }
}

static int take_time(replay_plan *self, uint64_t time_ns)
{
    if (self->totals.operations == 0)
        self->first_ns = self->last_ns = time_ns;
    if (time_ns < self->last_ns)
        return REPLAY_TIME_BACKWARD;
    self->last_ns = time_ns;
    self->due_ns = time_ns - self->first_ns;
    self->is_due = self->how.think;
    return REPLAY_FINE;
}

int replay_plan_block(replay_plan *self, const void *operations, size_t count)
{
    size_t head = sizeof(uint64_t) * (self->how.timed ? 2 : 1);
    const char *at = operations;
    self->block++;
    for (uint32_t i = 0; i < self->lists; i++)
        self->threads[i].count = 0;
    if (self->waited != NULL)
        memset(self->waited, 0, sizeof(uint32_t) * self->lists * self->lists);
    for (size_t i = 0; i < count; i++, at += head + sizeof(operation_tail)) {
        operation_tail tail;
        uint64_t time_ns = 0;
        memcpy(&tail, at + head, sizeof(tail));
        if (self->how.timed)
            memcpy(&time_ns, at + sizeof(uint64_t), sizeof(time_ns));
        self->operation = (uint32_t)i;
        int fault = take_time(self, time_ns);
        if (fault == REPLAY_FINE)
            fault = plan_operation(self, &tail);
        if (fault != REPLAY_FINE || self->fault != REPLAY_FINE)
            return fault != REPLAY_FINE ? fault : self->fault;
        self->totals.operations++;
    }
    return REPLAY_FINE;
}

void replay_plan_reset(replay_plan *self)
{
    /* A state of zeros is a slot that is free; steps of other blocks are never waited for. */
    memset(self->objects, 0, self->how.objects * sizeof(object_slot));
    memset(self->scopes, 0, self->how.scopes * sizeof(scope_slot));
    for (uint32_t i = 0; i < self->lists; i++) {
        self->threads[i].count = 0;
        self->threads[i].own = NONE;
    }
    self->own_used = 0;
    self->own_free = NONE;
    self->is_due = false;
    self->fault = REPLAY_FINE;
    self->totals = (replay_totals){.operations = 0};
}

replay_plan *replay_plan_new(replay_how how)
{
    replay_plan *self = calloc(1, sizeof(replay_plan));
    if (self == NULL)
        return NULL;
    self->how = how;
    self->lists = how.merged ? 1 : how.threads;
    self->threads = calloc((size_t)self->lists + 1, sizeof(thread_list));
    self->objects = calloc((size_t)how.objects + 1, sizeof(object_slot));
    self->scopes = calloc((size_t)how.scopes + 1, sizeof(scope_slot));
    bool watched = self->lists > 1 && self->lists <= MOST_WATCHED_THREADS;
    if (watched)
        self->waited = calloc((size_t)self->lists * self->lists, sizeof(uint32_t));
    if (self->threads == NULL || self->objects == NULL || self->scopes == NULL ||
        (watched && self->waited == NULL)) {
        replay_plan_delete(self);
        return NULL;
    }
    replay_plan_reset(self);
    return self;
}

void replay_plan_delete(replay_plan *self)
{
    for (uint32_t i = 0; self->threads != NULL && i < self->lists; i++) {
        if (self->threads[i].room > 0)
            munmap(self->threads[i].steps, self->threads[i].room * sizeof(replay_step));
    }
    free(self->threads);
    free(self->objects);
    free(self->scopes);
    free(self->own);
    free(self->waited);
    free(self);
}

replay_totals replay_plan_totals(const replay_plan *self)
{
    replay_totals totals = self->totals;
    totals.scopes = own_base(self) + self->own_used;
    return totals;
}

uint32_t replay_plan_threads(const replay_plan *self)
{
    return self->lists;
}

const replay_step *replay_plan_steps(const replay_plan *self, uint32_t thread, size_t *count)
{
    *count = self->threads[thread].count;
    return self->threads[thread].steps;
}
