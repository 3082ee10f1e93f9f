/* The lists of steps of a plan, and what in one waits for another. */
#define _GNU_SOURCE
#include "replay_plan_parts.h"

#include <string.h>
#include <sys/mman.h>

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

void plan_emit(replay_plan *self, uint32_t thread, replay_step step, last_step *on, last_step *in)
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
