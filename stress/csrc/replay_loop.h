/* The loop over the steps of a thread, as a function to be inlined into one for each target: `actions` and
 * the flags are constants there, so that what is not asked for is not in the loop, and a step costs a jump
 * and what its target does. */
#ifndef STRESS_REPLAY_LOOP_H
#define STRESS_REPLAY_LOOP_H

#include "probe_hdr.h"
#include "probe_ticks.h"
#include "replay_pattern.h"
#include "replay_worker.h"

#include <string.h>

#define REPLAY_INLINE static inline __attribute__((always_inline))

REPLAY_INLINE void replay_touch_new(replay *self, const replay_object *object, size_t from)
{
    if (self->options.touch == REPLAY_TOUCH_NONE || object->size <= from)
        return;
    if (self->options.touch == REPLAY_TOUCH_ALL)
        memset(object->address + from, 1, object->size - from);
    else
        replay_touch_pages(object->address, from, object->size, self->page);
}

REPLAY_INLINE int replay_reallocate(replay_worker *worker, const replay_step *step, replay_object *object,
                                    const replay_actions *actions, bool touches, bool checked)
{
    replay *self = worker->owner;
    size_t before = object->size;
    if (checked)
        worker->differing += replay_count_differing(step->object, object->address, before);
    int error = actions->reallocate(self, step, object);
    if (error != 0)
        return error;
    if (checked) {
        size_t kept = before < object->size ? before : object->size;
        worker->differing += replay_count_differing(step->object, object->address, kept);
        replay_write_pattern(step->object, object->address, object->size);
    }
    if (touches)
        replay_touch_new(self, object, before);
    return 0;
}

/* What one step does, but for waiting. Returns 0 or an errno. */
REPLAY_INLINE int replay_act(replay_worker *worker, const replay_step *step, const replay_actions *actions,
                             bool touches, bool checked)
{
    replay *self = worker->owner;
    replay_object *object;
    int error;
    switch (step->code) {
    case REPLAY_ALLOCATE:
        object = &self->objects[step->object];
        error = actions->allocate(self, step, object);
        if (error != 0)
            return error;
        if (checked)
            replay_write_pattern(step->object, object->address, object->size);
        if (touches)
            replay_touch_new(self, object, 0);
        return 0;
    case REPLAY_FREE:
    case REPLAY_DROP:
        object = &self->objects[step->object];
        if (object->address == NULL)
            return 0; /* foreign memory */
        if (checked)
            worker->differing += replay_count_differing(step->object, object->address, object->size);
        actions->release(self, step, object);
        object->address = NULL;
        return 0;
    case REPLAY_REALLOCATE:
        return replay_reallocate(worker, step, &self->objects[step->object], actions, touches, checked);
    case REPLAY_OPEN:
        return actions->open(self, step->scope);
    case REPLAY_CLOSE:
        actions->close(self, step->scope);
        return 0;
    default: /* without a meaning for memory alone */
        return 0;
    }
}

REPLAY_INLINE void replay_note(replay_worker *worker, uint64_t ticks)
{
    worker->samples[hdr_bucket(ticks)]++;
}

REPLAY_INLINE size_t replay_steps(replay_worker *worker, const replay_step *steps, size_t count, int *error,
                                  const replay_actions *actions, bool touches, bool sampled, bool checked)
{
    bool by_tsc = worker->owner->options.by_tsc;
    for (size_t i = 0; i < count; i++) {
        const replay_step *step = &steps[i];
        if (__builtin_expect(step->code >= REPLAY_WAIT, 0)) {
            if (step->code == REPLAY_THINK)
                replay_think(worker, step->size);
            else if (!replay_wait_for(worker, step))
                return i;
            continue;
        }
        uint64_t before = sampled ? ticks_now(by_tsc) : 0;
        *error = replay_act(worker, step, actions, touches, checked);
        if (sampled) {
            uint64_t after = ticks_now(by_tsc);
            replay_note(worker, after > before ? after - before : 0);
        }
        if (__builtin_expect(*error != 0, 0))
            return i;
        if (__builtin_expect(step->awaited, 0))
            replay_publish(worker, (uint32_t)i + 1);
    }
    return count;
}

/* Defines `static replay_loop *name(options)`, which chooses between the loops for some actions. */
#define REPLAY_DEFINE_LOOP(target, actions)                                                            \
    static size_t target##_plain(replay_worker *w, const replay_step *s, size_t n, int *e)             \
    {                                                                                                  \
        return replay_steps(w, s, n, e, actions, false, false, false);                                 \
    }                                                                                                  \
    static size_t target##_touching(replay_worker *w, const replay_step *s, size_t n, int *e)          \
    {                                                                                                  \
        return replay_steps(w, s, n, e, actions, true, false, false);                                  \
    }                                                                                                  \
    static size_t target##_sampled(replay_worker *w, const replay_step *s, size_t n, int *e)           \
    {                                                                                                  \
        return replay_steps(w, s, n, e, actions, true, true, false);                                   \
    }                                                                                                  \
    static size_t target##_checked(replay_worker *w, const replay_step *s, size_t n, int *e)           \
    {                                                                                                  \
        return replay_steps(w, s, n, e, actions, false, false, true);                                  \
    }                                                                                                  \
    replay_loop *target##_loop(const replay_options *options)                                          \
    {                                                                                                  \
        if (options->checked)                                                                          \
            return target##_checked;                                                                   \
        if (options->sampled)                                                                          \
            return target##_sampled;                                                                   \
        return options->touch == REPLAY_TOUCH_NONE ? target##_plain : target##_touching;               \
    }

/* Of targets that know no scopes. */
REPLAY_INLINE int replay_opens_nothing(replay *self, uint32_t scope)
{
    (void)self, (void)scope;
    return 0;
}

REPLAY_INLINE void replay_closes_nothing(replay *self, uint32_t scope)
{
    (void)self, (void)scope;
}

#endif
