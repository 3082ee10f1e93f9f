/* Slots of each class: apart from each other, aligned, counted, and decommitted by whole idle pages. */
#include "slabs.h"

#include "bytes.h"
#include "expect.h"
#include "os_memory.h"

typedef struct {
    range_cache ranges;
    slab_pool slabs;
} world;

static void begin(world *w)
{
    *w = (world){0};
    ranges_init(&w->ranges);
}

static void end(world *w)
{
    block *victims = NULL;
    EXPECT(w->slabs.free_bytes == 0);
    ranges_evict(&w->ranges, 0, &victims);
    ranges_unmap(victims);
    EXPECT(w->ranges.mapped == 0);
}

static block *take(world *w, unsigned kind)
{
    block *slot = NULL;
    EXPECT(slabs_take(&w->slabs, &w->ranges, kind, &slot) == 0);
    return slot;
}

static void a_class_holds_its_bytes_at_its_alignment(void)
{
    for (size_t align = 1; align <= SLOT_ALIGN_MOST; align *= 2) {
        for (size_t nbytes = 1; nbytes <= SLOT_MOST; nbytes += nbytes < 300 ? 1 : 61) {
            unsigned kind = slabs_class(nbytes, align);
            EXPECT(kind < SLOT_CLASSES);
            size_t size = class_size(kind, SLOT_LEAST_LOG2);
            EXPECT(size >= nbytes && (size & (align - 1)) == 0);
        }
    }
    EXPECT(slabs_class(SLOT_MOST, 1) == SLOT_CLASSES - 1);
    EXPECT(slabs_class(SLOT_MOST + 1, 1) == SLOT_CLASSES);
    EXPECT(slabs_class(1, 2 * SLOT_ALIGN_MOST) == SLOT_CLASSES);
}

static void slots_of_each_class_lie_apart(void)
{
    static block *slots[3000];
    world w;
    begin(&w);
    for (unsigned kind = 0; kind < SLOT_CLASSES; kind++) {
        size_t size = class_size(kind, SLOT_LEAST_LOG2);
        size_t count = 2 * (SLAB_BYTES / size) + 1;
        for (size_t i = 0; i < count; i++) {
            slots[i] = take(&w, kind);
            EXPECT(slots[i]->size == size);
            memset(slots[i]->base, (int)(i % 251), size);
        }
        for (size_t i = 0; i < count; i++)
            EXPECT(all_are(slots[i]->base, size, (char)(i % 251)));
        for (size_t i = 0; i < count; i++)
            slabs_put(&w.slabs, &w.ranges, slots[i]);
        EXPECT(w.slabs.partial[kind] == NULL && w.slabs.free_bytes == 0);
    }
    end(&w);
}

static void a_slab_lives_until_its_last_slot_is_free(void)
{
    world w;
    begin(&w);
    block *one = take(&w, 4);
    block *other = take(&w, 4);
    EXPECT(w.ranges.free == 0 && w.ranges.mapped == SLAB_BYTES);
    EXPECT(slabs_put(&w.slabs, &w.ranges, one) == other->slab);
    EXPECT(take(&w, 4) == one);
    slabs_put(&w.slabs, &w.ranges, one);
    EXPECT(slabs_put(&w.slabs, &w.ranges, other) == NULL);
    EXPECT(w.ranges.free == SLAB_BYTES);
    end(&w);
}

static void new_slots_tell_how_much_of_them_is_dirty(void)
{
    world w;
    begin(&w);
    block *range = NULL;
    EXPECT(ranges_take(&w.ranges, SLAB_BYTES, 1, &range) == 0);
    memset(range->base, 7, 5000);
    range->dirty = 5000;
    ranges_put(&w.ranges, range);
    static block *slots[16];
    for (int i = 0; i < 16; i++) {
        slots[i] = take(&w, class_of(4096, SLOT_LEAST_LOG2));
        size_t dirty = slots[i]->dirty;
        EXPECT(all_are(slots[i]->base + dirty, slots[i]->size - dirty, 0));
    }
    EXPECT(slots[0]->dirty == 4096 && slots[1]->dirty == 904 && slots[2]->dirty == 0);
    for (int i = 0; i < 16; i++)
        slabs_put(&w.slabs, &w.ranges, slots[i]);
    end(&w);
}

/* Fills all slots of a slab, makes some idle, and expects the others to stay after a decommit. */
static void decommitting_leaves_the_others(unsigned kind, unsigned seed, int retire)
{
    static block *slots[1024];
    static int idle[1024];
    uint64_t state = 1000003u * (seed + 1) + kind;
    world w;
    begin(&w);
    size_t size = class_size(kind, SLOT_LEAST_LOG2);
    size_t count = SLAB_BYTES / size;
    for (size_t i = 0; i < count; i++) {
        slots[i] = take(&w, kind);
        memset(slots[i]->base, (int)(1 + i % 250), size);
        idle[i] = i > 0 && below(&state, seed + 2) != 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (idle[i] && retire)
            slots[i]->retired = 1;
        else if (idle[i])
            slabs_put(&w.slabs, &w.ranges, slots[i]);
    }
    for (size_t i = 0; retire && i < count; i++) {
        if (idle[i])
            slabs_decommit_retired(slots[i], w.ranges.page);
    }
    if (!retire)
        slabs_decommit_all(&w.slabs, w.ranges.page);
    EXPECT(w.slabs.warm_bytes == 0);
    for (size_t i = 0; i < count; i++) {
        char byte = (char)(1 + i % 250);
        EXPECT(idle[i] ? all_are_or_zero(slots[i]->base, size, byte) : all_are(slots[i]->base, size, byte));
    }
    for (size_t i = 0; i < count; i++) {
        if (idle[i] && retire)
            slots[i]->retired = 0;
        if (!idle[i] || retire)
            slabs_put(&w.slabs, &w.ranges, slots[i]);
    }
    end(&w);
}

static void a_page_of_idle_slots_is_dropped(void)
{
    world w;
    begin(&w);
    unsigned kind = class_of(1024, SLOT_LEAST_LOG2);
    block *slots[8];
    for (int i = 0; i < 8; i++) {
        slots[i] = take(&w, kind);
        memset(slots[i]->base, 9, 1024);
    }
    for (int i = 0; i < 4; i++)
        slots[i]->retired = 1;
    slabs_decommit_retired(slots[0], 4096);
    for (int i = 0; i < 8; i++)
        EXPECT(all_are(slots[i]->base, 1024, i < 4 ? 0 : 9));
    for (int i = 0; i < 8; i++) {
        slots[i]->retired = 0;
        slabs_put(&w.slabs, &w.ranges, slots[i]);
    }
    end(&w);
}

int main(void)
{
    a_class_holds_its_bytes_at_its_alignment();
    slots_of_each_class_lie_apart();
    a_slab_lives_until_its_last_slot_is_free();
    new_slots_tell_how_much_of_them_is_dirty();
    a_page_of_idle_slots_is_dropped();
    for (unsigned kind = 0; kind < SLOT_CLASSES; kind++) {
        for (unsigned seed = 0; seed < 4; seed++) {
            decommitting_leaves_the_others(kind, seed, 0);
            decommitting_leaves_the_others(kind, seed, 1);
        }
    }
    return 0;
}
