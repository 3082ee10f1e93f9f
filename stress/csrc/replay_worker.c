/* What a thread of the replay does between and beside its steps: waiting for others and for its time,
 * writing to memory and reading it again. */
#define _GNU_SOURCE
#include "replay_worker.h"

#include "probe_ticks.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

enum {
    SPINS = 200,          /* looks at another thread before sleeping: about a microsecond */
    SPIN_NS = 50 * 1000,  /* of a wait for a time: what waking up may take */
};

uint64_t replay_clock_ns(void)
{
    return ticks_of_kernel();
}

/* ---- waiting ------------------------------------------------------------------------------------- */

void replay_publish(replay_worker *worker, uint32_t done)
{
    /* Both sides write, then read what the other one wrote: one of them sees it. */
    atomic_store(&worker->done, done);
    if (atomic_load(&worker->sleepers) > 0) {
        pthread_mutex_lock(&worker->lock);
        pthread_cond_broadcast(&worker->progress);
        pthread_mutex_unlock(&worker->lock);
    }
}

bool replay_wait_for(replay_worker *worker, const replay_step *step)
{
    replay *self = worker->owner;
    replay_worker *other = &self->workers[step->object];
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&other->done, memory_order_acquire) >= step->size)
            return true;
    }
    pthread_mutex_lock(&other->lock);
    atomic_fetch_add(&other->sleepers, 1);
    while (atomic_load(&other->done) < step->size && !atomic_load(&self->failed))
        pthread_cond_wait(&other->progress, &other->lock);
    atomic_fetch_sub(&other->sleepers, 1);
    pthread_mutex_unlock(&other->lock);
    return atomic_load(&other->done) >= step->size;
}

void replay_think(replay_worker *worker, uint64_t until_ns)
{
    const replay *self = worker->owner;
    uint64_t until = self->run_ns - self->elapsed_ns + until_ns; /* may wrap around and back */
    int64_t left = (int64_t)(until - replay_clock_ns());
    if (left > SPIN_NS) {
        uint64_t wake = until - SPIN_NS;
        struct timespec at = {.tv_sec = (time_t)(wake / 1000000000u), .tv_nsec = (long)(wake % 1000000000u)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
        }
    }
    while ((int64_t)(until - replay_clock_ns()) > 0) {
    }
}

/* ---- memory -------------------------------------------------------------------------------------- */

void replay_touch_pages(char *address, size_t from, size_t to, size_t page)
{
    /* A page that an earlier part lies in was touched with that. */
    size_t at = from == 0 ? 0 : from + (size_t)(-((uintptr_t)address + from) & (page - 1));
    while (at < to) {
        *(volatile char *)(address + at) = 1;
        at += page - (size_t)(((uintptr_t)address + at) & (page - 1));
    }
}

/* Eight bytes of the pattern, which no two slots have in common at a place of any two objects. */
static uint64_t pattern_at(const replay_step *step, size_t word)
{
    return ((uint64_t)step->object + 1) * UINT64_C(0x9E3779B97F4A7C15) + word;
}

void replay_write_pattern(const replay_step *step, char *address, size_t size)
{
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t word = pattern_at(step, at / sizeof(uint64_t));
        memcpy(address + at, &word, size - at < sizeof(word) ? size - at : sizeof(word));
    }
}

uint64_t replay_count_differing(const replay_step *step, const char *address, size_t size)
{
    uint64_t differing = 0;
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t word = pattern_at(step, at / sizeof(uint64_t)), found = word;
        memcpy(&found, address + at, size - at < sizeof(found) ? size - at : sizeof(found));
        for (uint64_t wrong = word ^ found; wrong != 0; wrong >>= 8)
            differing += (wrong & 0xff) != 0;
    }
    return differing;
}
