/* Random programs, in six threads and in one, against all that allocates, with every byte checked: what is
 * live at the end is what a plain count says, and what can't be is told. */
#include "replay.h"

#include "expect.h"
#include "recorded.h"

#include <string.h>

#define THREADS 6
#define OBJECTS 200
#define SCOPES 12
#define LENGTH 6000
#define BLOCK 700

/* As docs/recording.md has it, with a time. */
typedef struct {
    uint64_t sequence;
    uint64_t time_ns;
    operation_tail tail;
} timed_operation;

static timed_operation program[LENGTH];
static uint64_t random_state = 88172645463325252u;

/* ---- a program that could be ------------------------------------------------------------------- */

enum { FREED, HEAP, IN_SCOPE, FOREIGN };

static struct {
    int state;
    uint64_t size;
    uint32_t scope;
    int exports;
} objects[OBJECTS];
static struct {
    int state; /* 0 none, 1 open, 2 closed */
    uint32_t objects;
} scopes[SCOPES];
static uint64_t live_objects, live_bytes;

static uint32_t random_below(size_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state % n);
}

static uint64_t random_size(void)
{
    static const uint64_t SIZES[] = {0, 1, 15, 16, 100, 1000, 5000, 20000, 70000};
    return SIZES[random_below(sizeof(SIZES) / sizeof(SIZES[0]))];
}

static int begin_object(operation_tail *tail)
{
    uint32_t object = tail->object;
    int in_scope = random_below(2) && scopes[tail->scope].state == 1;
    if (objects[object].state != FREED)
        return 0;
    tail->operation = in_scope && random_below(10) == 0 ? ADOPT : ALLOCATE;
    tail->size = random_size();
    tail->align = (uint8_t)(random_below(4) == 0 ? random_below(13) : 0);
    tail->kind = (uint8_t)(in_scope ? BY_SCOPE : random_below(6));
    objects[object].state = !in_scope ? HEAP : tail->operation == ADOPT ? FOREIGN : IN_SCOPE;
    objects[object].size = tail->size;
    objects[object].scope = tail->scope;
    objects[object].exports = 0;
    if (in_scope)
        scopes[tail->scope].objects++;
    else
        tail->scope = NONE;
    live_objects += tail->operation == ALLOCATE ? 1 : 0;
    live_bytes += tail->operation == ALLOCATE ? tail->size : 0;
    return 1;
}

static int use_object(operation_tail *tail)
{
    uint32_t object = tail->object;
    int in_heap = objects[object].state == HEAP;
    if (objects[object].state == FREED)
        return 0;
    tail->scope = in_heap ? NONE : objects[object].scope;
    tail->size = objects[object].size;
    if (in_heap && random_below(3) == 0) {
        tail->operation = REALLOCATE;
        tail->size = random_size();
        live_bytes += tail->size - objects[object].size;
        objects[object].size = tail->size;
        return 1;
    }
    if (!in_heap && random_below(3) == 0) {
        tail->operation = EXPORT;
        objects[object].exports++;
        return 1;
    }
    if (!in_heap && objects[object].exports > 0) {
        tail->operation = UNEXPORT;
        objects[object].exports--;
        return 1;
    }
    tail->operation = in_heap ? FREE : DROP;
    live_objects -= in_heap ? 1 : 0;
    live_bytes -= in_heap ? tail->size : 0;
    if (!in_heap)
        scopes[tail->scope].objects--;
    objects[object].state = FREED;
    return 1;
}

/* What is live in a scope, by the operations so far: also what was dropped. */
static void close_scope(uint32_t scope, size_t count)
{
    size_t first = count;
    while (first > 0 && !(program[first - 1].tail.operation == OPEN_SCOPE && program[first - 1].tail.scope == scope))
        first--;
    for (size_t i = first; i < count; i++) {
        const operation_tail *tail = &program[i].tail;
        if (tail->operation == ALLOCATE && tail->scope == scope) {
            live_objects--;
            live_bytes -= tail->size;
        }
    }
    scopes[scope].state = 2;
}

static int use_scope(operation_tail *tail, size_t count)
{
    uint32_t scope = tail->scope;
    tail->object = NONE;
    switch (scopes[scope].state) {
    case 0:
        tail->operation = OPEN_SCOPE;
        scopes[scope].state = 1;
        return 1;
    case 1:
        tail->operation = CLOSE;
        close_scope(scope, count);
        return 1;
    default:
        if (scopes[scope].objects > 0)
            return 0;
        tail->operation = DROP_SCOPE;
        scopes[scope].state = 0;
        return 1;
    }
}

static void make_program(void)
{
    size_t count = 0;
    while (count < LENGTH) {
        operation_tail tail = {
            .object = random_below(OBJECTS), .scope = random_below(SCOPES), .thread = random_below(THREADS)};
        size_t what = random_below(20);
        int made = what == 0 ? use_scope(&tail, count) : what < 12 ? begin_object(&tail) : use_object(&tail);
        if (made) {
            program[count] = (timed_operation){.sequence = count, .time_ns = 100 * count, .tail = tail};
            count++;
        }
    }
}

/* ---- replays ------------------------------------------------------------------------------------- */

static replay_how how_to(int merged, int scoping)
{
    return (replay_how){.objects = OBJECTS,
                        .scopes = SCOPES,
                        .threads = THREADS,
                        .timed = 1,
                        .merged = merged,
                        .scoping = scoping,
                        .window = 16};
}

static void run_all(replay *r, replay_plan *plan)
{
    uint64_t ns = 0;
    replay_plan_reset(plan);
    for (size_t at = 0; at < LENGTH; at += BLOCK) {
        size_t count = LENGTH - at < BLOCK ? LENGTH - at : BLOCK;
        EXPECT(replay_plan_block(plan, &program[at], count) == REPLAY_FINE);
        EXPECT(replay_run(r, plan, &ns) == 0);
    }
    EXPECT(ns > 0);
}

static void check(int target, int scoping, int merged, int checked, int touch, int sampled)
{
    replay_plan *plan = replay_plan_new(how_to(merged, scoping));
    replay_options options = {.target = target,
                              .heap = replay_libc(),
                              .touch = touch,
                              .checked = checked,
                              .sampled = sampled,
                              .objects = OBJECTS,
                              .threads = replay_plan_threads(plan)};
    EXPECT(options.threads == (merged ? 1 : THREADS));
    replay *r = replay_new(options);
    EXPECT(r != NULL);
    for (int pass = 0; pass < 2; pass++) {
        run_all(r, plan);
        replay_totals totals = replay_plan_totals(plan);
        replay_holdings found = replay_holds(r);
        EXPECT(totals.operations == LENGTH);
        EXPECT(totals.live_objects == live_objects && totals.live_bytes == live_bytes);
        EXPECT(found.differing == 0);
        if (scoping == REPLAY_RECORDED) {
            EXPECT(totals.held_bytes == live_bytes);
            EXPECT(found.scope_objects == live_objects && found.scope_bytes == live_bytes);
        }
        else
            EXPECT(found.objects == totals.held_objects && found.bytes == totals.held_bytes);
        replay_release(r);
        found = replay_holds(r);
        EXPECT(found.objects == 0 && found.scopes == 0 && found.scope_bytes == 0);
    }
    if (sampled) {
        static uint64_t counts[1 << 16];
        uint64_t timed = 0;
        EXPECT(replay_buckets() <= sizeof(counts) / sizeof(counts[0]));
        replay_take_samples(r, counts);
        for (uint32_t i = 0; i < replay_buckets(); i++)
            timed += counts[i];
        EXPECT(timed > 0);
    }
    replay_delete(r);
    replay_plan_delete(plan);
}

static void check_all(void)
{
    for (int merged = 0; merged < 2; merged++) {
        check(REPLAY_NULL, REPLAY_FLAT, merged, 0, 0, 0);
        check(REPLAY_MMAP, REPLAY_FLAT, merged, 1, 0, 0);
        for (int scoping = REPLAY_RECORDED; scoping <= REPLAY_BY_OBJECT; scoping++)
            check(REPLAY_ARENA, scoping, merged, 1, 0, 0);
        for (int touch = REPLAY_TOUCH_NONE; touch <= REPLAY_TOUCH_ALL; touch++)
            check(REPLAY_HEAP, REPLAY_FLAT, merged, 0, touch, touch == REPLAY_TOUCH_ALL);
        check(REPLAY_HEAP, REPLAY_FLAT, merged, 1, 0, 0);
    }
}

/* ---- what can't be -------------------------------------------------------------------------------- */

static int fault_of(timed_operation first, timed_operation second)
{
    timed_operation both[] = {first, second};
    replay_plan *plan = replay_plan_new(how_to(0, REPLAY_FLAT));
    int fault = replay_plan_block(plan, both, 2);
    EXPECT(replay_plan_totals(plan).operations == (fault == REPLAY_FINE ? 2 : 1));
    replay_plan_delete(plan);
    return fault;
}

static timed_operation on_object(uint8_t operation, uint32_t object, uint32_t scope)
{
    return (timed_operation){.tail = {.operation = operation, .object = object, .scope = scope, .size = 8}};
}

static void check_faults(void)
{
    timed_operation made = on_object(ALLOCATE, 1, NONE), opened = on_object(OPEN_SCOPE, NONE, 1);
    timed_operation late = made, elsewhere = on_object(FREE, 1, NONE);
    late.time_ns = 5;
    elsewhere.tail.thread = THREADS;
    EXPECT(fault_of(made, on_object(FREE, 1, NONE)) == REPLAY_FINE);
    EXPECT(fault_of(made, made) == REPLAY_LIVE_OBJECT);
    EXPECT(fault_of(made, on_object(FREE, 2, NONE)) == REPLAY_DEAD_OBJECT);
    EXPECT(fault_of(made, on_object(REALLOCATE, 2, NONE)) == REPLAY_DEAD_OBJECT);
    EXPECT(fault_of(made, on_object(DROP, 1, NONE)) == REPLAY_DEAD_OBJECT);
    EXPECT(fault_of(made, on_object(FREE, OBJECTS, NONE)) == REPLAY_OUT_OF_TABLE);
    EXPECT(fault_of(made, on_object(OPEN_SCOPE, NONE, SCOPES)) == REPLAY_OUT_OF_TABLE);
    EXPECT(fault_of(made, on_object(OPEN_SCOPE, NONE, NONE)) == REPLAY_OUT_OF_TABLE);
    EXPECT(fault_of(made, elsewhere) == REPLAY_OUT_OF_TABLE);
    EXPECT(fault_of(made, on_object(PART, 1, NONE)) == REPLAY_UNKNOWN_OPERATION);
    EXPECT(fault_of(late, on_object(FREE, 1, NONE)) == REPLAY_TIME_BACKWARD);
    EXPECT(fault_of(opened, opened) == REPLAY_LIVE_SCOPE);
    EXPECT(fault_of(opened, on_object(ALLOCATE, 1, 2)) == REPLAY_DEAD_SCOPE);
    EXPECT(fault_of(opened, on_object(ADOPT, 1, 2)) == REPLAY_DEAD_SCOPE);
    EXPECT(fault_of(opened, on_object(CLOSE, NONE, 2)) == REPLAY_DEAD_SCOPE);
    EXPECT(fault_of(opened, on_object(DROP_SCOPE, NONE, 2)) == REPLAY_DEAD_SCOPE);
}

/* A replay whose memory ends tells which step it was, and no thread waits for ever for the one that failed. */
static void check_failure(void)
{
    timed_operation operations[] = {on_object(ALLOCATE, 1, NONE), on_object(FREE, 1, NONE)};
    operations[0].tail.size = (uint64_t)1 << 62;
    operations[1].tail.thread = 1;
    replay_plan *plan = replay_plan_new(how_to(0, REPLAY_FLAT));
    replay *r = replay_new((replay_options){.target = REPLAY_MMAP, .objects = OBJECTS, .threads = THREADS});
    uint64_t ns = 0;
    EXPECT(replay_plan_block(plan, operations, 2) == REPLAY_FINE);
    EXPECT(replay_run(r, plan, &ns) != 0);
    EXPECT(replay_failed(r).error != 0 && replay_failed(r).step.size == (uint64_t)1 << 62);
    replay_delete(r);
    replay_plan_delete(plan);
}

/* Operations that wait for their time take as long as the recording did. */
static void check_think(void)
{
    timed_operation operations[] = {on_object(ALLOCATE, 1, NONE), on_object(FREE, 1, NONE)};
    uint64_t pause_ns = 3000000, ns = 0;
    operations[0].time_ns = 1000;
    operations[1].time_ns = 1000 + pause_ns;
    operations[1].tail.thread = 1;
    replay_how how = how_to(0, REPLAY_FLAT);
    how.think = 1;
    replay_plan *plan = replay_plan_new(how);
    replay *r = replay_new(
        (replay_options){.target = REPLAY_HEAP, .heap = replay_libc(), .objects = OBJECTS, .threads = THREADS});
    EXPECT(replay_plan_block(plan, operations, 2) == REPLAY_FINE);
    EXPECT(replay_run(r, plan, &ns) == 0);
    EXPECT(ns + 1000000 >= pause_ns); /* its clock begins with the first thread, which may be late */
    replay_delete(r);
    replay_plan_delete(plan);
}

/* A recording that somebody changed is refused, or replayed as what it says; nothing else happens. */
static void check_changed(void)
{
    enum { ROUNDS = 300, LONG = 400 };
    static timed_operation changed[LONG];
    int refused = 0;
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(changed, program, sizeof(changed));
        for (int i = 0; i < 3; i++) {
            operation_tail *tail = &changed[random_below(LONG)].tail;
            switch (random_below(5)) {
            case 0:
                tail->operation = (uint8_t)random_below(14);
                break;
            case 1:
                tail->object = random_below(8) ? random_below(OBJECTS + 2) : NONE;
                break;
            case 2:
                tail->scope = random_below(8) ? random_below(SCOPES + 2) : NONE;
                break;
            case 3:
                tail->thread = random_below(THREADS + 2);
                break;
            default:
                tail->size = random_size();
                break;
            }
        }
        int scoping = (int)random_below(REPLAY_BY_OBJECT + 1);
        replay_plan *plan = replay_plan_new(how_to((int)random_below(2), scoping));
        replay *r = replay_new((replay_options){.target = scoping == REPLAY_FLAT ? REPLAY_HEAP : REPLAY_ARENA,
                                                .heap = replay_libc(),
                                                .objects = OBJECTS,
                                                .threads = replay_plan_threads(plan)});
        uint64_t ns = 0;
        if (replay_plan_block(plan, changed, LONG) == REPLAY_FINE)
            EXPECT(replay_run(r, plan, &ns) == 0);
        else
            refused++;
        replay_delete(r);
        replay_plan_delete(plan);
    }
    EXPECT(refused > 0 && refused < ROUNDS);
}

int main(void)
{
    make_program();
    EXPECT(live_objects > 0);
    check_changed();
    check_all();
    check_faults();
    check_failure();
    check_think();
    return 0;
}
