/* Random events, at few addresses and at many: operations name slots that are there, and live bytes add up. */
#include "recorded.h"
#include "resolver.h"

#include "expect.h"

#include <string.h>

#define BLOCK 500
#define BLOCKS 200
#define SLOTS 4096

/* As docs/recording.md has it, with a time. */
typedef struct {
    uint64_t sequence;
    uint64_t time_ns;
    operation_tail of;
} operation;

static uint64_t state = 88172645463325252u;
static uint8_t objects[SLOTS], scopes[SLOTS]; /* 1: taken */
static uint64_t size_of[SLOTS];
static uint64_t sequence, live_bytes;

static uint64_t below(uint64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % n;
}

static void check_taken(uint8_t *table, uint32_t slot, int begins, int ends)
{
    EXPECT(slot < SLOTS);
    EXPECT(table[slot] == !begins);
    table[slot] = (uint8_t)!ends;
}

static void check(const operation *found)
{
    const operation_tail *o = &found->of;
    int is_object = o->object != NONE;
    EXPECT(found->sequence == sequence++);
    EXPECT(o->operation >= ALLOCATE && o->operation <= DROP_SCOPE && o->reserved == 0);
    if (is_object)
        check_taken(objects, o->object, o->operation == ALLOCATE || o->operation == ADOPT,
                    o->operation == FREE || o->operation == DROP);
    if (o->operation == OPEN_SCOPE || o->operation == DROP_SCOPE)
        check_taken(scopes, o->scope, o->operation == OPEN_SCOPE, o->operation == DROP_SCOPE);
    if (o->operation == REALLOCATE)
        live_bytes -= size_of[o->object];
    if (o->operation == ALLOCATE || o->operation == REALLOCATE) {
        live_bytes += o->size;
        size_of[o->object] = o->size;
    }
    if (o->operation == FREE || o->operation == CLOSE)
        live_bytes -= o->size;
}

static void fill(recorded_event *events, uint64_t addresses, int with_scopes)
{
    for (int i = 0; i < BLOCK; i++) {
        events[i] = (recorded_event){
            .size = below(1000),
            .object = below(addresses),
            .thread = (uint32_t)below(3),
            .operation = (uint8_t)(with_scopes ? below(14) : 1 + below(3)),
        };
        int has_other = with_scopes || events[i].operation == REALLOCATE;
        events[i].other = has_other ? below(addresses) : 0;
    }
}

static void run(uint64_t addresses, int with_scopes)
{
    static recorded_event events[BLOCK];
    static operation operations[3 * BLOCK];
    resolver *r = resolver_new(1);
    memset(objects, 0, sizeof(objects));
    memset(scopes, 0, sizeof(scopes));
    sequence = live_bytes = 0;
    EXPECT(r != NULL);
    for (int i = 0; i < BLOCKS; i++) {
        fill(events, addresses, with_scopes);
        int64_t n = resolver_run(r, events, BLOCK, UINT64_MAX, operations);
        EXPECT(n >= 0 && n <= 3 * BLOCK);
        for (int64_t j = 0; j < n; j++)
            check(&operations[j]);
        resolver_figures figures = resolver_read(r);
        EXPECT(figures.live_bytes == live_bytes && figures.peak_bytes >= live_bytes);
        EXPECT(figures.objects <= SLOTS && figures.threads <= 3);
    }
    uint32_t threads[3];
    resolver_threads(r, threads);
    EXPECT(threads[0] < 3 && threads[0] != threads[1] && threads[1] != threads[2]);
    resolver_delete(r);
}

int main(void)
{
    run(5, 0);
    run(2000, 0);
    run(5, 1);
    run(2000, 1);
    return 0;
}
