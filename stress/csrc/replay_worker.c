/* How a thread of the replay waits, for others and for its time. */
#define _GNU_SOURCE
#include "replay_worker.h"

#include "probe_ticks.h"

#include <errno.h>
#include <sched.h>

enum {
    SPINS = 200,          /* looks at another thread before sleeping: about a microsecond */
    SPIN_NS = 50 * 1000,  /* of a wait for a time: what waking up may take */
};

uint64_t replay_clock_ns(void)
{
    return ticks_of_kernel();
}

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
