#define _GNU_SOURCE
#include "replay.h"

#include "probe_hdr.h"
#include "replay_pattern.h"
#include "replay_worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STACK_SIZE = 256 * 1024 }; /* bytes; an allocator may want some of it */

static replay_loop *loop_of(const replay_options *options)
{
    switch (options->target) {
    case REPLAY_MMAP:
        return replay_mmap_loop(options);
    case REPLAY_ARENA:
        return replay_arena_loop(options);
    default:
        return replay_heap_loop(options);
    }
}

/* ---- one thread's part ---------------------------------------------------------------------------- */

/* The first thread that fails tells why, and wakes up those that would wait for it for ever. */
static void fail(replay *self, int error, const replay_step *step)
{
    if (atomic_exchange(&self->failing, true))
        return;
    self->failure = (replay_failure){.error = error, .step = *step};
    atomic_store(&self->failed, true);
    for (uint32_t i = 0; i < self->options.threads; i++) {
        pthread_mutex_lock(&self->workers[i].lock);
        pthread_cond_broadcast(&self->workers[i].progress);
        pthread_mutex_unlock(&self->workers[i].lock);
    }
}

static void execute(replay_worker *worker)
{
    replay *self = worker->owner;
    size_t count;
    const replay_step *steps = replay_plan_steps(self->plan, worker->index, &count);
    int error = 0;
    worker->started_ns = replay_clock_ns();
    if (self->options.threads == 1)
        self->run_ns = worker->started_ns;
    size_t executed = loop_of(&self->options)(worker, steps, count, &error);
    worker->ended_ns = replay_clock_ns();
    if (error != 0)
        fail(self, error, &steps[executed]);
}

static void *worker_main(void *argument)
{
    replay_worker *worker = argument;
    replay *self = worker->owner;

    pthread_mutex_lock(&self->lock);
    for (;;) {
        while (worker->turn == self->turn && !self->stopping)
            pthread_cond_wait(&self->begin, &self->lock);
        if (self->stopping)
            break;
        worker->turn = self->turn;
        pthread_mutex_unlock(&self->lock);
        execute(worker);
        pthread_mutex_lock(&self->lock);
        self->running--;
        if (self->running == 0)
            pthread_cond_signal(&self->end);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* ---- a block --------------------------------------------------------------------------------------- */

static void run_threads(replay *self)
{
    pthread_mutex_lock(&self->lock);
    self->run_ns = replay_clock_ns();
    self->running = self->options.threads;
    self->turn++;
    pthread_cond_broadcast(&self->begin);
    while (self->running > 0)
        pthread_cond_wait(&self->end, &self->lock);
    pthread_mutex_unlock(&self->lock);
}

/* From the first start to the last end of a thread that had something to do. */
static uint64_t duration_ns(const replay *self)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t i = 0; i < self->options.threads; i++) {
        const replay_worker *worker = &self->workers[i];
        size_t count;
        replay_plan_steps(self->plan, i, &count);
        if (count == 0)
            continue;
        if (worker->started_ns < first)
            first = worker->started_ns;
        if (worker->ended_ns > last)
            last = worker->ended_ns;
    }
    return last > first ? last - first : 0;
}

int replay_run(replay *self, const replay_plan *plan, uint64_t *ns)
{
    self->plan = plan;
    if (self->arena != NULL) {
        int error = replay_arena_reserve(self->arena, (size_t)replay_plan_totals(plan).scopes);
        if (error != 0)
            return error;
    }
    for (uint32_t i = 0; i < self->options.threads; i++)
        atomic_store(&self->workers[i].done, 0);
    if (self->options.threads == 1)
        execute(&self->workers[0]);
    else
        run_threads(self);
    if (atomic_load(&self->failed))
        return self->failure.error;
    uint64_t duration = duration_ns(self);
    self->elapsed_ns += duration;
    *ns += duration;
    return 0;
}

replay_failure replay_failed(const replay *self)
{
    return self->failure;
}

void replay_release(replay *self)
{
    if (self->options.target == REPLAY_HEAP)
        replay_heap_release(self);
    else if (self->options.target == REPLAY_MMAP)
        replay_mmap_release(self);
    else if (self->options.target == REPLAY_ARENA)
        replay_arena_release(self);
    memset(self->objects, 0, self->options.objects * sizeof(replay_object));
    for (uint32_t i = 0; i < self->options.threads; i++)
        self->workers[i].differing = 0;
    self->elapsed_ns = 0;
}

/* ---- figures --------------------------------------------------------------------------------------- */

replay_holdings replay_holds(const replay *self)
{
    replay_holdings found = {.objects = 0};
    for (uint32_t i = 0; i < self->options.objects; i++) {
        const replay_object *object = &self->objects[i];
        if (object->address == NULL)
            continue;
        found.objects++;
        found.bytes += object->size;
        if (self->options.checked)
            found.differing += replay_count_differing(i, object->address, object->size);
    }
    for (uint32_t i = 0; i < self->options.threads; i++)
        found.differing += self->workers[i].differing;
    if (self->arena != NULL)
        replay_arena_holds(self->arena, &found);
    return found;
}

void replay_idents(const replay *self, uint64_t *idents)
{
    for (uint32_t i = 0; i < self->made; i++)
        idents[i] = (uint64_t)self->workers[i].thread;
}

uint32_t replay_buckets(void)
{
    return HDR_BUCKETS;
}

double replay_bucket_ticks(uint32_t bucket)
{
    return hdr_middle(bucket);
}

void replay_take_samples(replay *self, uint64_t *counts)
{
    memset(counts, 0, HDR_BUCKETS * sizeof(uint64_t));
    for (uint32_t i = 0; i < self->options.threads; i++) {
        uint64_t *samples = self->workers[i].samples;
        for (uint32_t bucket = 0; bucket < HDR_BUCKETS; bucket++)
            counts[bucket] += samples[bucket];
        memset(samples, 0, HDR_BUCKETS * sizeof(uint64_t));
    }
}

/* ---- life ------------------------------------------------------------------------------------------ */

/* Makes the threads; 0 or the error of the first that could not be made. */
static int make_threads(replay *self)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    error = pthread_attr_setstacksize(&attributes, STACK_SIZE);

    /* A signal for the process must reach a thread that handles it: Ctrl-C is Python's. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (uint32_t i = 0; i < self->options.threads && error == 0; i++) {
        error = pthread_create(&self->workers[i].thread, &attributes, worker_main, &self->workers[i]);
        self->made += error == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static int make_parts(replay *self)
{
    /* Written to here, and not by the first step that needs a page of it. */
    size_t size = (self->options.objects / REPLAY_CACHE_LINE + 1) * REPLAY_CACHE_LINE * sizeof(replay_object);
    self->objects = aligned_alloc(REPLAY_CACHE_LINE, size);
    if (self->objects == NULL)
        return ENOMEM;
    memset(self->objects, 0, size);
    for (uint32_t i = 0; self->options.sampled && i < self->options.threads; i++) {
        self->workers[i].samples = calloc(HDR_BUCKETS, sizeof(uint64_t));
        if (self->workers[i].samples == NULL)
            return ENOMEM;
    }
    if (self->options.target == REPLAY_ARENA) {
        self->arena = replay_arena_new(self->options.objects);
        if (self->arena == NULL)
            return ENOMEM;
    }
    return self->options.threads > 1 ? make_threads(self) : 0;
}

replay *replay_new(replay_options options)
{
    if (options.threads < 1) {
        errno = EINVAL;
        return NULL;
    }
    size_t size = sizeof(replay) + options.threads * sizeof(replay_worker);
    replay *self = aligned_alloc(REPLAY_CACHE_LINE, size); /* both terms are multiples of the line */
    if (self == NULL)
        return NULL;
    memset(self, 0, size);
    self->options = options;
    if (options.target == REPLAY_NULL) {
        self->options.heap = replay_nothing();
        self->options.touch = REPLAY_TOUCH_NONE;
        self->options.checked = 0;
    }
    self->page = (size_t)sysconf(_SC_PAGESIZE);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->begin, NULL);
    pthread_cond_init(&self->end, NULL);
    for (uint32_t i = 0; i < options.threads; i++) {
        self->workers[i].owner = self;
        self->workers[i].index = i;
        pthread_mutex_init(&self->workers[i].lock, NULL);
        pthread_cond_init(&self->workers[i].progress, NULL);
    }
    int error = make_parts(self);
    if (error != 0) {
        replay_delete(self);
        errno = error;
        return NULL;
    }
    return self;
}

static void end_threads(replay *self)
{
    pthread_mutex_lock(&self->lock);
    self->stopping = true;
    pthread_cond_broadcast(&self->begin);
    pthread_mutex_unlock(&self->lock);
    for (uint32_t i = 0; i < self->made; i++)
        pthread_join(self->workers[i].thread, NULL);
}

void replay_delete(replay *self)
{
    end_threads(self);
    if (self->objects != NULL && (self->arena != NULL || self->options.target != REPLAY_ARENA))
        replay_release(self);
    if (self->arena != NULL)
        replay_arena_delete(self->arena);
    for (uint32_t i = 0; i < self->options.threads; i++) {
        free(self->workers[i].samples);
        pthread_cond_destroy(&self->workers[i].progress);
        pthread_mutex_destroy(&self->workers[i].lock);
    }
    pthread_cond_destroy(&self->end);
    pthread_cond_destroy(&self->begin);
    pthread_mutex_destroy(&self->lock);
    free(self->objects);
    free(self);
}
