#define _GNU_SOURCE
#include "replay_plan.h"

#include "replay_plan_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* With more threads a table of what each has waited for would be larger than what it saves. */
#define MOST_WATCHED_THREADS 1024

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
    plan_emit(self, thread, step, &o->last, NULL);
    count_held(self, -1, -(int64_t)o->size);
    if (o->place != NONE)
        plan_leave_own(self, thread, o->place);
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
        step.scope = o->place = plan_own_for(self, thread);
        if (o->place == NONE)
            return REPLAY_NO_MEMORY;
        in = &plan_own_at(self, o->place)->last;
    }
    plan_emit(self, thread, step, &o->last, in);
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
        step.scope = o->place = plan_own_for(self, thread);
        if (o->place == NONE)
            return REPLAY_NO_MEMORY;
        in = &plan_own_at(self, o->place)->last;
    }
    plan_emit(self, thread, step, &o->last, in);
    if (before != NONE)
        plan_leave_own(self, thread, before);
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
    if (tail->size > self->totals.adopted)
        self->totals.adopted = tail->size;
    o->scope = tail->scope;
    o->size = tail->size;
    replay_step step = {
        .code = REPLAY_ADOPT, .size = tail->size, .object = tail->object, .scope = tail->scope};
    if (self->how.scoping == REPLAY_RECORDED)
        plan_emit(self, thread, step, &o->last, &s->last);
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
        plan_emit(self, thread, step, &o->last, &self->scopes[o->scope].last);
    if (code != REPLAY_DROP) {
        self->scopes[o->scope].exports += code == REPLAY_EXPORT ? 1 : -1;
        return REPLAY_FINE;
    }
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
    s->exports = 0;
    replay_step step = {.code = REPLAY_OPEN, .object = NONE, .scope = tail->scope, .kind = tail->kind};
    if (self->how.scoping == REPLAY_RECORDED)
        plan_emit(self, thread, step, NULL, &s->last);
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
        plan_emit(self, thread, step, NULL, &s->last);
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
    self->totals.deferred += s->exports > 0;
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
        plan_emit(self, thread, step, NULL, &s->last);
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
    totals.scopes = plan_own_base(self) + self->own_used;
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
