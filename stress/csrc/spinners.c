#define _GNU_SOURCE
#include "spinners.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    CACHE_LINE = 64,         /* bytes; counters of two threads must not share one */
    TURNS = 1024,            /* between two looks at `running`: under a microsecond */
    STACK_SIZE = 128 * 1024, /* bytes; a spinner calls next to nothing, the default is 8 MiB */
};

/* One thread's part, written by that thread alone. */
typedef struct {
    alignas(CACHE_LINE) _Atomic uint64_t work; /* turns of the loop */
    int thread_id;
    pthread_t thread;
    spinners *owner;
} spinner;

struct spinners {
    /* Read by every spinner all the time, written twice a window. */
    alignas(CACHE_LINE) atomic_bool running;

    /* Guarded by lock. running is written with it held, so that no wake-up is lost. */
    alignas(CACHE_LINE) pthread_mutex_t lock;
    pthread_cond_t wake;    /* spinners wait: running or stopping has changed */
    pthread_cond_t settled; /* the controller waits: the last spinner has parked or woken */
    int parked;             /* spinners that wait on wake */
    bool stopping;

    int count; /* threads that exist; fixed once spinners_start returns */
    spinner threads[];
};

static void spin(spinner *self)
{
    uint64_t work = atomic_load_explicit(&self->work, memory_order_relaxed);
    while (atomic_load_explicit(&self->owner->running, memory_order_relaxed)) {
        for (int i = 0; i < TURNS; i++) {
            __asm__ volatile(""); /* keeps the compiler from dropping the loop */
        }
        work += TURNS;
        atomic_store_explicit(&self->work, work, memory_order_relaxed);
    }
}

static void *spinner_main(void *argument)
{
    spinner *self = argument;
    spinners *owner = self->owner;

    pthread_mutex_lock(&owner->lock);
    self->thread_id = (int)syscall(SYS_gettid);
    for (;;) {
        owner->parked++;
        if (owner->parked == owner->count) {
            pthread_cond_signal(&owner->settled);
        }
        while (!atomic_load(&owner->running) && !owner->stopping) {
            pthread_cond_wait(&owner->wake, &owner->lock);
        }
        owner->parked--;
        if (owner->stopping) {
            break;
        }
        if (owner->parked == 0) {
            pthread_cond_signal(&owner->settled);
        }
        pthread_mutex_unlock(&owner->lock);
        spin(self);
        pthread_mutex_lock(&owner->lock);
    }
    pthread_mutex_unlock(&owner->lock);
    return NULL;
}

/* Changes running and waits until `parked` spinners sleep. */
static void settle(spinners *self, bool running, int parked)
{
    pthread_mutex_lock(&self->lock);
    atomic_store(&self->running, running);
    if (running) {
        pthread_cond_broadcast(&self->wake);
    }
    while (self->parked != parked) {
        pthread_cond_wait(&self->settled, &self->lock);
    }
    pthread_mutex_unlock(&self->lock);
}

void spinners_unpark(spinners *self)
{
    settle(self, true, 0);
}

void spinners_park(spinners *self)
{
    settle(self, false, self->count);
}

uint64_t spinners_work(const spinners *self)
{
    uint64_t work = 0;
    for (int i = 0; i < self->count; i++) {
        work += atomic_load_explicit(&self->threads[i].work, memory_order_relaxed);
    }
    return work;
}

int spinners_thread_id(const spinners *self, int index)
{
    return self->threads[index].thread_id;
}

/* Makes threads until `wanted` exist; 0 or the error of the first that could not be made. */
static int make_threads(spinners *self, int wanted)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return error;
    }
    error = pthread_attr_setstacksize(&attributes, STACK_SIZE);

    /* A signal for the process must reach a thread that handles it: Ctrl-C is Python's. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < wanted && error == 0; i++) {
        error = pthread_create(&self->threads[i].thread, &attributes, spinner_main,
                               &self->threads[i]);
        if (error == 0) {
            pthread_mutex_lock(&self->lock);
            self->count++;
            pthread_mutex_unlock(&self->lock);
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

spinners *spinners_start(int count)
{
    if (count < 1) {
        errno = EINVAL;
        return NULL;
    }
    size_t size = sizeof(spinners) + (size_t)count * sizeof(spinner);
    spinners *self = aligned_alloc(CACHE_LINE, size); /* both terms are multiples of the line */
    if (self == NULL) {
        return NULL;
    }
    *self = (spinners){.parked = 0};
    for (int i = 0; i < count; i++) {
        self->threads[i] = (spinner){.owner = self};
    }
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->wake, NULL);
    pthread_cond_init(&self->settled, NULL);

    int error = make_threads(self, count);
    if (error != 0) {
        spinners_stop(self);
        errno = error;
        return NULL;
    }
    spinners_park(self); /* waits until each sleeps and has told its id */
    return self;
}

void spinners_stop(spinners *self)
{
    pthread_mutex_lock(&self->lock);
    self->stopping = true;
    atomic_store(&self->running, false);
    pthread_cond_broadcast(&self->wake);
    pthread_mutex_unlock(&self->lock);
    for (int i = 0; i < self->count; i++) {
        pthread_join(self->threads[i].thread, NULL);
    }
    pthread_cond_destroy(&self->settled);
    pthread_cond_destroy(&self->wake);
    pthread_mutex_destroy(&self->lock);
    free(self);
}
