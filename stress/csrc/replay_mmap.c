/* Replay against the kernel: a private anonymous map for each object. */
#define _GNU_SOURCE
#include "replay_loop.h"

#include <errno.h>
#include <sys/mman.h>

/* A map has a page at least. */
REPLAY_INLINE size_t mapped_size(size_t size)
{
    return size > 0 ? size : 1;
}

REPLAY_INLINE int mmap_allocate(replay *self, const replay_step *step, replay_object *object)
{
    (void)self;
    void *address = mmap(NULL, mapped_size(step->size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0);
    if (address == MAP_FAILED)
        return errno;
    object->address = address;
    object->size = step->size;
    return 0;
}

REPLAY_INLINE int mmap_reallocate(replay *self, const replay_step *step, replay_object *object)
{
    (void)self;
    void *address = mremap(object->address, mapped_size(object->size), mapped_size(step->size), MREMAP_MAYMOVE);
    if (address == MAP_FAILED)
        return errno;
    object->address = address;
    object->size = step->size;
    return 0;
}

REPLAY_INLINE void mmap_release(replay *self, const replay_step *step, replay_object *object)
{
    (void)self, (void)step;
    munmap(object->address, mapped_size(object->size));
}

static const replay_actions MMAP = {.allocate = mmap_allocate,
                                    .reallocate = mmap_reallocate,
                                    .release = mmap_release,
                                    .open = replay_opens_nothing,
                                    .close = replay_closes_nothing};

REPLAY_DEFINE_LOOP(replay_mmap, &MMAP)

void replay_mmap_release(replay *self)
{
    for (uint32_t i = 0; i < self->options.objects; i++) {
        if (self->objects[i].address != NULL)
            munmap(self->objects[i].address, mapped_size(self->objects[i].size));
    }
}
