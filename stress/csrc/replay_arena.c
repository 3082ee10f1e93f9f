/* Replay against the arena of the scopes, without the Python types: what a scope costs that was written in
 * C. The arena's sources are compiled in here once more, for threads that run at the same time. */
#define _GNU_SOURCE
#define SCOPES_CONCURRENT 1
#include "../../scopes/csrc/arena.c"
#include "../../scopes/csrc/carver.h"
#include "../../scopes/csrc/os_memory.c"
#include "../../scopes/csrc/process.c"
#include "../../scopes/csrc/ranges.c"
#include "../../scopes/csrc/slabs.c"

#include "replay_loop.h"

/* One scope of the replay, in one thread at a time by the plan. */
typedef struct {
    carver carver;
    uint64_t objects; /* allocated since it was opened */
    size_t bytes;
    bool is_open;
} arena_scope;

struct replay_arena {
    arena *arena;
    block **blocks; /* of the objects, by slot */
    arena_scope *scopes;
    size_t room;
};

REPLAY_INLINE int arena_allocate(replay *self, const replay_step *step, replay_object *object)
{
    replay_arena *on = self->arena;
    arena_scope *scope = &on->scopes[step->scope];
    size_t align = step->align > 4 ? (size_t)1 << step->align : 16;
    size_t taken = step->size > 0 ? step->size : 1, offset;
    block *b;
    if (step->size > ARENA_MOST || align > ARENA_ALIGN_MOST)
        return ENOMEM;
    arena_charge(on->arena, step->size);
    int error = carver_find(&scope->carver, on->arena, taken, align, &b, &offset);
    if (error != 0) {
        arena_credit(on->arena, step->size);
        return error;
    }
    arena_confirm(on->arena);
    object->address = carver_take(&scope->carver, b, offset, taken, 1);
    object->size = step->size;
    on->blocks[step->object] = b;
    scope->objects++;
    scope->bytes += step->size;
    return 0;
}

REPLAY_INLINE int arena_reallocate(replay *self, const replay_step *step, replay_object *object)
{
    block *before = self->arena->blocks[step->object];
    replay_object moved;
    int error = arena_allocate(self, step, &moved);
    if (error != 0)
        return error;
    memcpy(moved.address, object->address, object->size < moved.size ? object->size : moved.size);
    arena_drop(self->arena->arena, before);
    *object = moved;
    return 0;
}

REPLAY_INLINE void arena_release(replay *self, const replay_step *step, replay_object *object)
{
    (void)object;
    arena_drop(self->arena->arena, self->arena->blocks[step->object]);
}

REPLAY_INLINE int arena_open(replay *self, uint32_t scope)
{
    self->arena->scopes[scope] = (arena_scope){.is_open = true};
    arena_count_scope(self->arena->arena, 1);
    return 0;
}

REPLAY_INLINE void arena_close(replay *self, uint32_t scope)
{
    arena *a = self->arena->arena;
    arena_scope *closed = &self->arena->scopes[scope];
    arena_credit(a, closed->bytes);
    arena_count_scope(a, -1);
    carver_give_back(&closed->carver, a);
    closed->is_open = false;
    if (arena_has_pending(a))
        unmap_pending(a);
}

static const replay_actions ARENA = {.allocate = arena_allocate,
                                     .reallocate = arena_reallocate,
                                     .release = arena_release,
                                     .open = arena_open,
                                     .close = arena_close};

REPLAY_DEFINE_LOOP(replay_arena, &ARENA)

void replay_arena_release(replay *self)
{
    for (uint32_t i = 0; i < self->options.objects; i++) {
        if (self->objects[i].address != NULL)
            arena_drop(self->arena->arena, self->arena->blocks[i]);
    }
    for (size_t i = 0; i < self->arena->room; i++) {
        if (self->arena->scopes[i].is_open)
            arena_close(self, (uint32_t)i);
    }
}

replay_arena *replay_arena_new(uint32_t objects)
{
    replay_arena *self = calloc(1, sizeof(replay_arena));
    if (self == NULL)
        return NULL;
    self->arena = arena_new();
    size_t size = (objects / REPLAY_CACHE_LINE + 1) * REPLAY_CACHE_LINE * sizeof(block *);
    self->blocks = aligned_alloc(REPLAY_CACHE_LINE, size);
    if (self->arena == NULL || self->blocks == NULL) {
        replay_arena_delete(self);
        return NULL;
    }
    memset(self->blocks, 0, size);
    return self;
}

void replay_arena_delete(replay_arena *self)
{
    if (self->arena != NULL)
        arena_delete(self->arena);
    free(self->blocks);
    free(self->scopes);
    free(self);
}

int replay_arena_reserve(replay_arena *self, size_t scopes)
{
    if (scopes <= self->room)
        return 0;
    size_t room = scopes > 2 * self->room ? scopes : 2 * self->room;
    arena_scope *larger = realloc(self->scopes, room * sizeof(arena_scope));
    if (larger == NULL)
        return ENOMEM;
    memset(larger + self->room, 0, (room - self->room) * sizeof(arena_scope));
    self->scopes = larger;
    self->room = room;
    return 0;
}

void replay_arena_holds(replay_arena *self, replay_holdings *holdings)
{
    arena_figures figures;
    arena_read(self->arena, &figures);
    holdings->scopes = (uint64_t)figures.scopes;
    holdings->scope_bytes = (uint64_t)figures.live;
    for (size_t i = 0; i < self->room; i++) {
        if (self->scopes[i].is_open)
            holdings->scope_objects += self->scopes[i].objects;
    }
}
