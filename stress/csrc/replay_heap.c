/* Replay against functions such as malloc, and against nothing. */
#define _GNU_SOURCE
#include "recorded.h"
#include "replay_loop.h"

#include <errno.h>
#include <stdlib.h>

/* Alignments up to 16 bytes are what malloc gives. */
enum { USUAL_ALIGN = 4 };

/* Memory of scopes is zeroed. */
static inline bool is_zeroed(const replay_step *step)
{
    return step->kind == BY_CALLOC || step->kind == BY_SCOPE;
}

REPLAY_INLINE int heap_allocate(replay *self, const replay_step *step, replay_object *object)
{
    const replay_heap *heap = &self->options.heap;
    char *address;
    if (step->align > USUAL_ALIGN && heap->allocate_aligned != NULL)
        address = heap->allocate_aligned((size_t)1 << step->align, step->size);
    else if (is_zeroed(step))
        address = heap->allocate_zeroed(1, step->size);
    else
        address = heap->allocate(step->size);
    if (__builtin_expect(address == NULL, 0))
        return ENOMEM;
    object->address = address;
    object->size = step->size;
    return 0;
}

REPLAY_INLINE int heap_reallocate(replay *self, const replay_step *step, replay_object *object)
{
    /* The object lives on, and realloc(address, 0) may free: allocators of Python have none of that. */
    size_t size = step->size > 0 ? step->size : 1;
    char *address = self->options.heap.reallocate(object->address, size);
    if (__builtin_expect(address == NULL, 0))
        return ENOMEM;
    object->address = address;
    object->size = step->size;
    return 0;
}

REPLAY_INLINE void heap_release(replay *self, const replay_step *step, replay_object *object)
{
    (void)step;
    self->options.heap.release(object->address);
}

static const replay_actions HEAP = {.allocate = heap_allocate,
                                    .reallocate = heap_reallocate,
                                    .release = heap_release,
                                    .open = replay_opens_nothing,
                                    .close = replay_closes_nothing};

REPLAY_DEFINE_LOOP(replay_heap, &HEAP)

void replay_heap_release(replay *self)
{
    for (uint32_t i = 0; i < self->options.objects; i++) {
        if (self->objects[i].address != NULL)
            self->options.heap.release(self->objects[i].address);
    }
}

static void *allocate_aligned(size_t align, size_t size)
{
    void *address;
    return posix_memalign(&address, align, size) == 0 ? address : NULL;
}

replay_heap replay_libc(void)
{
    return (replay_heap){malloc, calloc, allocate_aligned, realloc, free};
}

/* ---- nothing ------------------------------------------------------------------------------------- */

/* The same calls, of functions that do nothing: a call is a part of what drives an allocator. */
static char nothing[1];

static __attribute__((noinline)) void *nothing_allocate(size_t size)
{
    __asm__ volatile("" ::"r"(size));
    return nothing;
}

static __attribute__((noinline)) void *nothing_allocate_many(size_t count, size_t size)
{
    __asm__ volatile("" ::"r"(count), "r"(size));
    return nothing;
}

static __attribute__((noinline)) void *nothing_reallocate(void *address, size_t size)
{
    __asm__ volatile("" ::"r"(address), "r"(size));
    return nothing;
}

static __attribute__((noinline)) void nothing_release(void *address)
{
    __asm__ volatile("" ::"r"(address));
}

replay_heap replay_nothing(void)
{
    return (replay_heap){nothing_allocate, nothing_allocate_many, nothing_allocate_many, nothing_reallocate,
                         nothing_release};
}
