/* Scopes that the recording has not: of a thread, of a window of allocations, of an object. */
#include "replay_plan_parts.h"

#include <stdlib.h>

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
    uint32_t scope = taken + plan_own_base(self);
    plan_emit(self, thread, (replay_step){.code = REPLAY_OPEN, .object = NONE, .scope = scope}, NULL, &own->last);
    return scope;
}

/* Closes a scope of which nothing is left and to which nothing comes. */
static void close_own_if_done(replay_plan *self, uint32_t thread, uint32_t scope)
{
    own_scope *own = plan_own_at(self, scope);
    if (own->objects > 0 || !own->full)
        return;
    replay_step step = {.code = REPLAY_CLOSE, .object = NONE, .scope = scope};
    plan_emit(self, thread, step, NULL, &own->last);
    step.code = REPLAY_DROP_SCOPE;
    if (self->how.scoping == REPLAY_RECORDED)
        plan_emit(self, thread, step, NULL, &own->last);
    own->next_free = self->own_free;
    self->own_free = scope - plan_own_base(self);
}

uint32_t plan_own_for(replay_plan *self, uint32_t thread)
{
    thread_list *list = &self->threads[thread];
    bool by_thread = self->how.scoping == REPLAY_BY_THREAD, by_window = self->how.scoping == REPLAY_BY_WINDOW;
    if (!by_thread && !by_window) {
        uint32_t scope = open_own(self, thread);
        if (scope != NONE) {
            plan_own_at(self, scope)->objects = 1;
            plan_own_at(self, scope)->full = true;
        }
        return scope;
    }
    if (list->own != NONE && by_window && list->allocated == self->how.window) {
        plan_own_at(self, list->own)->full = true;
        close_own_if_done(self, thread, list->own);
        list->own = NONE;
    }
    if (list->own == NONE) {
        list->own = open_own(self, thread);
        list->allocated = 0;
    }
    if (list->own != NONE) {
        list->allocated++;
        plan_own_at(self, list->own)->objects++;
    }
    return list->own;
}

void plan_leave_own(replay_plan *self, uint32_t thread, uint32_t scope)
{
    plan_own_at(self, scope)->objects--;
    close_own_if_done(self, thread, scope);
}
