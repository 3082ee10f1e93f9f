#define _GNU_SOURCE
#include "timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_SIZE = 128 * 1024, /* bytes; the thread calls nothing deep */
    STATM_SIZE = 256,        /* bytes; seven numbers */
    GROUP = 4,               /* points of which two stay when they are thinned out */
};

struct timeline {
    /* Fixed once timeline_start returns. */
    uint64_t interval_ns;
    size_t capacity;
    uint64_t page_size; /* bytes */
    int statm;
    int thread_id;
    pthread_t thread;

    /* Guarded by lock. */
    pthread_mutex_t lock;
    pthread_cond_t wake;    /* the thread waits: wanted or stopping has changed */
    pthread_cond_t settled; /* the controller waits: recording has changed */
    bool wanted;            /* it should record */
    bool recording;         /* it does, and has its first point */
    bool stopping;

    /* Written by the thread with the lock held, read by the controller while it does not record. */
    uint64_t start_ns;
    uint64_t taken;
    uint64_t cpu_ns;
    size_t count;
    timeline_point *points;
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now); /* cannot fail: both clocks exist on every Linux */
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The second number of statm is the resident pages. 0 where it can't be read: no process has none. */
static uint64_t resident_bytes(const timeline *self)
{
    char text[STATM_SIZE];
    ssize_t got = pread(self->statm, text, sizeof(text) - 1, 0);
    if (got <= 0) {
        return 0;
    }
    text[got] = '\0';
    const char *second = strchr(text, ' ');
    return second == NULL ? 0 : strtoull(second, NULL, 10) * self->page_size;
}

size_t timeline_thin(timeline_point *points, size_t count)
{
    size_t kept = 0;
    for (size_t first = 0; first < count; first += GROUP) {
        size_t end = first + GROUP < count ? first + GROUP : count;
        size_t low = first, high = first;
        for (size_t i = first + 1; i < end; i++) {
            low = points[i].bytes < points[low].bytes ? i : low;
            high = points[i].bytes > points[high].bytes ? i : high;
        }
        timeline_point earlier = points[low < high ? low : high];
        timeline_point later = points[low < high ? high : low];
        points[kept++] = earlier;
        if (low != high) {
            points[kept++] = later;
        }
    }
    return kept;
}

static void note_lock_held(timeline *self)
{
    uint64_t bytes = resident_bytes(self);
    if (bytes == 0) {
        return;
    }
    if (self->count == self->capacity) {
        self->count = timeline_thin(self->points, self->count);
    }
    self->points[self->count++] = (timeline_point){
        .time_ns = clock_ns(CLOCK_MONOTONIC) - self->start_ns,
        .bytes = bytes,
    };
    self->taken++;
}

/* A point at every tick until it is told to end. Ticks that were missed are not made up for. */
static void record_lock_held(timeline *self)
{
    /* From here on and not from the call: until a core was free for this thread, nothing happened. */
    self->start_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t next_ns = self->start_ns;
    while (self->wanted && !self->stopping) {
        uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
        if (now_ns >= next_ns) {
            note_lock_held(self);
            next_ns += self->interval_ns * ((now_ns - next_ns) / self->interval_ns + 1);
        }
        struct timespec until = {
            .tv_sec = (time_t)(next_ns / 1000000000),
            .tv_nsec = (long)(next_ns % 1000000000),
        };
        if (!self->recording) {
            self->recording = true;
            pthread_cond_signal(&self->settled);
        }
        pthread_cond_timedwait(&self->wake, &self->lock, &until);
    }
    note_lock_held(self);
}

static void *timeline_main(void *argument)
{
    timeline *self = argument;

    pthread_mutex_lock(&self->lock);
    self->thread_id = (int)syscall(SYS_gettid);
    pthread_cond_signal(&self->settled);
    while (!self->stopping) {
        if (!self->wanted) {
            pthread_cond_wait(&self->wake, &self->lock);
            continue;
        }
        uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        record_lock_held(self);
        self->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
        self->recording = false;
        pthread_cond_signal(&self->settled);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

void timeline_record(timeline *self)
{
    pthread_mutex_lock(&self->lock);
    if (!self->recording) {
        self->count = 0;
        self->taken = 0;
        self->cpu_ns = 0;
        self->wanted = true;
        pthread_cond_signal(&self->wake);
        while (!self->recording) {
            pthread_cond_wait(&self->settled, &self->lock);
        }
    }
    pthread_mutex_unlock(&self->lock);
}

void timeline_pause(timeline *self)
{
    pthread_mutex_lock(&self->lock);
    self->wanted = false;
    pthread_cond_signal(&self->wake);
    while (self->recording) {
        pthread_cond_wait(&self->settled, &self->lock);
    }
    pthread_mutex_unlock(&self->lock);
}

uint64_t timeline_taken(timeline *self)
{
    pthread_mutex_lock(&self->lock);
    uint64_t taken = self->taken;
    pthread_mutex_unlock(&self->lock);
    return taken;
}

uint64_t timeline_cpu_ns(const timeline *self)
{
    return self->cpu_ns;
}

size_t timeline_count(const timeline *self)
{
    return self->count;
}

const timeline_point *timeline_points(const timeline *self)
{
    return self->points;
}

int timeline_thread_id(const timeline *self)
{
    return self->thread_id;
}

/* 0 or the error. Signals of the process must reach a thread that handles them: all are blocked. */
static int make_thread(timeline *self)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return error;
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_attr_setstacksize(&attributes, STACK_SIZE);
    if (error == 0) {
        error = pthread_create(&self->thread, &attributes, timeline_main, self);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static void destroy(timeline *self)
{
    pthread_cond_destroy(&self->settled);
    pthread_cond_destroy(&self->wake);
    pthread_mutex_destroy(&self->lock);
    if (self->statm >= 0) {
        close(self->statm);
    }
    free(self->points);
    free(self);
}

/* The timed wait is by the clock that points are timed by. */
static void init_conditions(timeline *self)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&self->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_cond_init(&self->settled, NULL);
    pthread_mutex_init(&self->lock, NULL);
}

timeline *timeline_start(uint64_t interval_ns, size_t capacity)
{
    if (interval_ns < 1 || capacity < GROUP || capacity > SIZE_MAX / sizeof(timeline_point)) {
        errno = EINVAL;
        return NULL;
    }
    timeline *self = calloc(1, sizeof(timeline));
    if (self == NULL) {
        return NULL;
    }
    self->interval_ns = interval_ns;
    self->capacity = capacity;
    self->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
    init_conditions(self);
    self->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    self->points = malloc(capacity * sizeof(timeline_point));
    int error = self->statm < 0 || self->points == NULL ? errno : 0;
    if (error == 0) {
        memset(self->points, 0, capacity * sizeof(timeline_point)); /* touched, see the header */
        error = resident_bytes(self) == 0 ? EIO : make_thread(self);
    }
    if (error != 0) {
        destroy(self);
        errno = error;
        return NULL;
    }
    pthread_mutex_lock(&self->lock);
    while (self->thread_id == 0) {
        pthread_cond_wait(&self->settled, &self->lock);
    }
    pthread_mutex_unlock(&self->lock);
    return self;
}

void timeline_stop(timeline *self)
{
    pthread_mutex_lock(&self->lock);
    self->stopping = true;
    pthread_cond_signal(&self->wake);
    pthread_mutex_unlock(&self->lock);
    pthread_join(self->thread, NULL);
    destroy(self);
}
