#include "resolver.h"

#include "address_map.h"
#include "recorded.h"

#include <stdlib.h>
#include <string.h>

/* Why an event is left out, as an index of figures.invalid; format.py has the words. */
enum invalid {
    UNKNOWN_OPERATION,
    WITHOUT_ADDRESS,
    OF_DEAD_OBJECT,
    AT_LIVE_ADDRESS,
    OF_CLOSED_SCOPE,
    OF_DEAD_SCOPE,
    REALLOCATION_IN_SCOPE,
};

/* In place of a slot: of something that is older than the recording, or that has ended. */
#define FOREIGN (UINT32_MAX - 1)
#define DEAD (UINT32_MAX - 2)

/* ---- slots --------------------------------------------------------------------------------------- */

/* One object, or one scope. */
typedef struct {
    uint64_t size;      /* bytes; of a scope: those of its live objects */
    uint32_t scope;     /* NONE for none */
    uint32_t count;     /* segments of the object; live objects of the scope */
    uint32_t objects;   /* of the scope, whose slot is not used again before they have ended */
    uint32_t unexports; /* to be left out, since their exports were */
    uint32_t next_free;
    uint8_t closed;     /* of the scope */
    uint8_t dropped;
} slot;

typedef struct {
    slot *slots;
    size_t used;
    size_t size;
    uint32_t free; /* the last one that became free, or NONE */
} table;

static int table_init(table *t)
{
    t->size = 1024;
    t->used = 0;
    t->free = NONE;
    t->slots = malloc(t->size * sizeof(slot));
    return t->slots != NULL ? 0 : -1;
}

/* NONE: no memory. */
static uint32_t table_take(table *t)
{
    if (t->free != NONE) {
        uint32_t taken = t->free;
        t->free = t->slots[taken].next_free;
        return taken;
    }
    if (t->used == t->size) {
        slot *larger = realloc(t->slots, 2 * t->size * sizeof(slot));
        if (larger == NULL)
            return NONE;
        t->slots = larger;
        t->size *= 2;
    }
    return (uint32_t)t->used++;
}

static void table_put(table *t, uint32_t taken)
{
    t->slots[taken].next_free = t->free;
    t->free = taken;
}

/* ---- the resolver -------------------------------------------------------------------------------- */

struct resolver {
    int timed;
    int failed; /* 1: no memory */
    uint32_t nowhere; /* what is found then */
    map objects;
    map scopes;
    map threads;
    table object_table;
    table scope_table;
    uint64_t sequence; /* of the next operation */
    char *out;
    resolver_figures figures;
};

resolver *resolver_new(int timed)
{
    resolver *self = calloc(1, sizeof(resolver));
    if (self == NULL)
        return NULL;
    self->timed = timed;
    if (map_init(&self->objects, 1 << 12) < 0 || map_init(&self->scopes, 1 << 8) < 0 ||
        map_init(&self->threads, 1 << 6) < 0 || table_init(&self->object_table) < 0 ||
        table_init(&self->scope_table) < 0) {
        resolver_delete(self);
        return NULL;
    }
    return self;
}

void resolver_delete(resolver *self)
{
    map_free(&self->objects);
    map_free(&self->scopes);
    map_free(&self->threads);
    free(self->object_table.slots);
    free(self->scope_table.slots);
    free(self);
}

static void emit(resolver *self, const recorded_event *e, uint8_t operation, uint32_t object,
                 uint32_t scope, uint64_t size)
{
    /* 0 is a number like any other here, and a free place in the map. */
    uint32_t *thread = map_at(&self->threads, (uint64_t)e->thread + 1, (uint32_t)self->threads.used);
    if (thread == NULL) {
        self->failed = 1;
        return;
    }
    int itself = e->operation == operation; /* and not something that has to precede it */
    uint64_t head[2] = {self->sequence++, e->time_ns};
    operation_tail tail = {
        .size = size,
        .object = object,
        .scope = scope,
        .thread = *thread,
        .operation = operation,
        .kind = itself ? e->kind : 0,
        .align = itself ? e->align : 0,
    };
    size_t bytes = sizeof(uint64_t) * (self->timed ? 2 : 1);
    memcpy(self->out, head, bytes);
    memcpy(self->out + bytes, &tail, sizeof(tail));
    self->out += bytes + sizeof(tail);
}

static void leave_out(resolver *self, enum invalid reason)
{
    self->figures.invalid[reason]++;
}

static void leave_out_older(resolver *self, const recorded_event *e)
{
    self->figures.preexisting[e->operation]++;
}

/* Where the address is looked up; to the caller DEAD means invalid, FOREIGN older than the recording. */
static uint32_t *find(resolver *self, map *m, uint64_t address, uint32_t missing)
{
    uint32_t *found = map_at(m, address, missing);
    if (found != NULL)
        return found;
    self->failed = 1;
    self->nowhere = FOREIGN;
    return &self->nowhere;
}

static int is_slot(uint32_t value)
{
    return value < DEAD;
}

/* ---- objects ------------------------------------------------------------------------------------- */

static void count_live(resolver *self, int64_t objects, int64_t bytes)
{
    self->figures.live_objects += (uint64_t)objects;
    self->figures.live_bytes += (uint64_t)bytes;
    if (self->figures.live_bytes > self->figures.peak_bytes)
        self->figures.peak_bytes = self->figures.live_bytes;
}

/* A slot of a scope is used again once it was dropped, which its objects should not survive. */
static void reuse_scope(resolver *self, uint32_t scope)
{
    const slot *s = &self->scope_table.slots[scope];
    if (s->dropped && s->objects == 0)
        table_put(&self->scope_table, scope);
}

/* The end of an object whose last segment is gone, or that was freed. */
static void end_object(resolver *self, const recorded_event *e, uint32_t object)
{
    slot *s = &self->object_table.slots[object];
    if (s->scope == NONE) {
        count_live(self, -1, -(int64_t)s->size);
        emit(self, e, FREE, object, NONE, s->size);
    }
    else
        emit(self, e, DROP, object, s->scope, s->size); /* its bytes are live until the scope closes */
    if (s->scope != NONE) {
        self->scope_table.slots[s->scope].objects--;
        reuse_scope(self, s->scope);
    }
    table_put(&self->object_table, object);
}

/* Makes room at an address where something is live: its end was not seen, or not yet. */
static void end_what_is_there(resolver *self, const recorded_event *e, uint32_t *found)
{
    if (!is_slot(*found))
        return;
    leave_out(self, AT_LIVE_ADDRESS);
    uint32_t object = *found;
    *found = DEAD;
    if (--self->object_table.slots[object].count == 0)
        end_object(self, e, object);
}

static void begin_object(resolver *self, const recorded_event *e, uint32_t scope)
{
    uint32_t *found = find(self, &self->objects, e->object, DEAD);
    end_what_is_there(self, e, found);
    uint32_t object = table_take(&self->object_table);
    if (object == NONE) {
        self->failed = 1;
        return;
    }
    *found = object;
    self->object_table.slots[object] = (slot){.size = e->size, .scope = scope, .count = 1};
    emit(self, e, e->operation, object, scope, e->size);
    if (scope != NONE)
        self->scope_table.slots[scope].objects++;
    if (e->operation == ADOPT)
        return; /* foreign memory is nobody's allocation */
    count_live(self, 1, (int64_t)e->size);
    if (scope != NONE) {
        self->scope_table.slots[scope].size += e->size;
        self->scope_table.slots[scope].count++;
    }
}

static void reallocate_event(resolver *self, const recorded_event *e)
{
    uint32_t *found = find(self, &self->objects, e->object, FOREIGN);
    if (!is_slot(*found)) {
        if (*found == DEAD)
            leave_out(self, OF_DEAD_OBJECT);
        else
            leave_out_older(self, e);
        *found = DEAD;
        recorded_event anew = *e;
        anew.operation = ALLOCATE;
        anew.object = e->other;
        begin_object(self, &anew, NONE);
        return;
    }
    uint32_t object = *found;
    if (self->object_table.slots[object].scope != NONE) {
        leave_out(self, REALLOCATION_IN_SCOPE);
        return;
    }
    if (e->other != e->object) {
        *found = DEAD;
        found = find(self, &self->objects, e->other, DEAD);
        end_what_is_there(self, e, found);
        *found = object;
    }
    slot *s = &self->object_table.slots[object];
    count_live(self, 0, (int64_t)(e->size - s->size));
    s->size = e->size;
    emit(self, e, REALLOCATE, object, NONE, e->size);
}

/* Free, or drop of a segment. */
static void end_event(resolver *self, const recorded_event *e)
{
    uint32_t *found = find(self, &self->objects, e->object, FOREIGN);
    uint32_t object = *found;
    *found = DEAD;
    if (object == DEAD)
        leave_out(self, OF_DEAD_OBJECT);
    else if (object == FOREIGN)
        leave_out_older(self, e);
    else if (--self->object_table.slots[object].count == 0)
        end_object(self, e, object);
}

static void part_event(resolver *self, const recorded_event *e)
{
    uint32_t whole = *find(self, &self->objects, e->other, FOREIGN);
    uint32_t *found = find(self, &self->objects, e->object, DEAD);
    end_what_is_there(self, e, found);
    if (is_slot(whole)) {
        *found = whole;
        self->object_table.slots[whole].count++;
        return;
    }
    *found = FOREIGN;
    if (whole == DEAD)
        leave_out(self, OF_DEAD_OBJECT);
    else
        leave_out_older(self, e);
}

static void export_event(resolver *self, const recorded_event *e)
{
    uint32_t object = *find(self, &self->objects, e->object, FOREIGN);
    if (object == DEAD)
        leave_out(self, OF_DEAD_OBJECT);
    else if (object == FOREIGN)
        leave_out_older(self, e);
    if (!is_slot(object))
        return;
    slot *s = &self->object_table.slots[object];
    if (e->operation == UNEXPORT && s->unexports > 0)
        s->unexports--;
    else if (e->operation == EXPORT && s->scope != NONE && self->scope_table.slots[s->scope].closed) {
        s->unexports++;
        leave_out(self, OF_CLOSED_SCOPE);
    }
    else
        emit(self, e, e->operation, object, s->scope, e->size);
}

/* ---- scopes -------------------------------------------------------------------------------------- */

static uint32_t open_scope(resolver *self, const recorded_event *e, uint32_t *found)
{
    uint32_t scope = table_take(&self->scope_table);
    if (scope == NONE) {
        self->failed = 1;
        return NONE;
    }
    *found = scope;
    self->scope_table.slots[scope] = (slot){.size = 0};
    emit(self, e, OPEN_SCOPE, NONE, scope, 0);
    return scope;
}

static void close_scope(resolver *self, const recorded_event *e, uint32_t scope)
{
    slot *s = &self->scope_table.slots[scope];
    emit(self, e, CLOSE, NONE, scope, s->size);
    count_live(self, -(int64_t)s->count, -(int64_t)s->size);
    s->size = s->count = 0;
    s->closed = 1;
}

static void drop_scope(resolver *self, const recorded_event *e, uint32_t *found)
{
    uint32_t scope = *found;
    *found = DEAD;
    if (!self->scope_table.slots[scope].closed)
        close_scope(self, e, scope); /* its close was not seen */
    emit(self, e, DROP_SCOPE, NONE, scope, 0);
    self->scope_table.slots[scope].dropped = 1;
    reuse_scope(self, scope);
}

static void open_event(resolver *self, const recorded_event *e)
{
    uint32_t *found = find(self, &self->scopes, e->other, DEAD);
    if (is_slot(*found)) {
        leave_out(self, AT_LIVE_ADDRESS);
        drop_scope(self, e, found);
    }
    open_scope(self, e, found);
}

static void allocate_event(resolver *self, const recorded_event *e)
{
    if (e->other == 0) {
        begin_object(self, e, NONE);
        return;
    }
    uint32_t *found = find(self, &self->scopes, e->other, FOREIGN);
    uint32_t scope = *found;
    if (scope == FOREIGN)
        scope = open_scope(self, e, found); /* it was opened before the recording began */
    if (is_slot(scope) && !self->scope_table.slots[scope].closed) {
        begin_object(self, e, scope);
        return;
    }
    leave_out(self, scope == DEAD ? OF_DEAD_SCOPE : OF_CLOSED_SCOPE);
    found = find(self, &self->objects, e->object, DEAD);
    end_what_is_there(self, e, found);
    *found = FOREIGN;
}

/* Closing, close and the drop of a scope. */
static void end_scope_event(resolver *self, const recorded_event *e)
{
    uint32_t *found = find(self, &self->scopes, e->other, FOREIGN);
    uint32_t scope = *found;
    if (scope == FOREIGN) {
        leave_out_older(self, e);
        if (e->operation == DROP_SCOPE)
            *found = DEAD;
    }
    else if (scope == DEAD)
        leave_out(self, OF_DEAD_SCOPE);
    else if (e->operation == DROP_SCOPE)
        drop_scope(self, e, found);
    else if (self->scope_table.slots[scope].closed)
        leave_out(self, OF_CLOSED_SCOPE);
    else if (e->operation == CLOSE)
        close_scope(self, e, scope);
    else
        emit(self, e, e->operation, NONE, scope, 0);
}

/* ---- entry points -------------------------------------------------------------------------------- */

/* realloc() in its two special forms, as what it is. */
static recorded_event plain(const recorded_event *e)
{
    recorded_event made = *e;
    if (e->operation == REALLOCATE && e->object == 0) {
        made.operation = ALLOCATE;
        made.object = e->other;
        made.other = 0;
    }
    else if (e->operation == REALLOCATE && e->other == 0)
        made.operation = FREE;
    return made;
}

static int is_of_scope(uint8_t operation)
{
    return operation == OPEN_SCOPE || operation == CLOSING || operation == CLOSE || operation == DROP_SCOPE;
}

static int has_addresses(const recorded_event *e)
{
    if (e->operation == PART && e->object == e->other)
        return 0;
    int needs_other = is_of_scope(e->operation) || e->operation == ADOPT || e->operation == PART;
    return (e->object != 0 || is_of_scope(e->operation)) && (e->other != 0 || !needs_other);
}

static void resolve(resolver *self, const recorded_event *e)
{
    if (e->operation < ALLOCATE || e->operation > PART)
        leave_out(self, UNKNOWN_OPERATION);
    else if (!has_addresses(e))
        leave_out(self, WITHOUT_ADDRESS);
    else if (e->operation == ALLOCATE || e->operation == ADOPT)
        allocate_event(self, e);
    else if (e->operation == REALLOCATE)
        reallocate_event(self, e);
    else if (e->operation == FREE || e->operation == DROP)
        end_event(self, e);
    else if (e->operation == EXPORT || e->operation == UNEXPORT)
        export_event(self, e);
    else if (e->operation == PART)
        part_event(self, e);
    else if (e->operation == OPEN_SCOPE)
        open_event(self, e);
    else
        end_scope_event(self, e);
}

int64_t resolver_run(resolver *self, const recorded_event *events, size_t count, uint64_t most,
                     void *operations)
{
    uint64_t before = self->sequence;
    self->out = operations;
    for (size_t i = 0; i < count && self->sequence - before < most; i++) {
        recorded_event e = plain(&events[i]);
        resolve(self, &e);
    }
    return self->failed ? -1 : (int64_t)(self->sequence - before);
}

void resolver_threads(const resolver *self, uint32_t *threads)
{
    for (size_t i = 0; i < self->threads.size; i++) {
        if (self->threads.keys[i] != 0)
            threads[self->threads.values[i]] = (uint32_t)(self->threads.keys[i] - 1);
    }
}

resolver_figures resolver_read(const resolver *self)
{
    resolver_figures found = self->figures;
    found.objects = self->object_table.used;
    found.scopes = self->scope_table.used;
    found.threads = self->threads.used;
    return found;
}
