/* Events: what scopes do, as records of a fixed size.
 *
 *   off         a test and a branch at each event, see record.h
 *   on          an event becomes a record in a buffer, which starts over when it is full
 *   listening   a full buffer is handed to the listener before that
 *
 * Under the GIL all threads share one buffer. Without it each thread has one of its own, so that threads
 * meet only where they take the next sequence number. Whoever fills a buffer hands over those of all
 * threads: when the process is killed, a listener has had every record up to some number close to the
 * last, and no gap before it.
 *
 * Entry point                 made safe without the GIL by
 *   events_emit               the lock of the thread's buffer
 *   events_start, events_stop the caller: one at a time
 *   flushing, a thread's end  the lock of the list, and within it that of each buffer */
#ifndef SCOPES_EVENTS_H
#define SCOPES_EVENTS_H

#include "atomics.h"
#include "event_clock.h"

#include <pthread.h>

/* 0 leaves events out of the build. */
#ifndef SCOPES_EVENTS
#define SCOPES_EVENTS 1
#endif

/* docs/recording.md tells what they mean, and has the same numbers. */
enum event_operation {
    EVENT_ALLOCATE = 1,
    EVENT_OPEN = 4,
    EVENT_ADOPT = 5,
    EVENT_EXPORT = 6,
    EVENT_UNEXPORT = 7,
    EVENT_CLOSING = 8,
    EVENT_CLOSE = 9,
    EVENT_DROP = 10,
    EVENT_DROP_SCOPE = 11,
    EVENT_PART = 12,
};

/* An operation with its kind and, as a power of two, its alignment, in one argument. */
#define EVENT_OF(operation, kind, align)                                                               \
    ((uint32_t)(operation) | (uint32_t)(kind) << 8 | (uint32_t)(align) << 16)
#define EVENT_BY_SCOPE 6

typedef struct {
    uint64_t sequence;
    uint64_t time_ns; /* of CLOCK_MONOTONIC; ticks until the record is handed over */
    uint64_t size;    /* bytes */
    uint64_t object;  /* address of the segment object, 0 for none */
    uint64_t other;   /* address of the scope object; for a part, of the segment it is taken of */
    uint32_t thread;  /* its token */
    uint8_t operation;
    uint8_t kind;
    uint8_t align;    /* as a power of two */
    uint8_t reserved; /* 0 */
} event_record;

_Static_assert(sizeof(event_record) == 48, "records are read by their size");

/* 64 KiB of them: about 50 us of a thread that does nothing else. */
#define EVENT_BUFFER_RECORDS 1365

/* Takes records that were made, in order of one thread; called for one buffer at a time. Returns 0, or an
 * errno, and then events go off. */
typedef int event_listener(void *context, const event_record *records, size_t count);

/* Told of each thread at its first event, and perhaps again later; may not emit events. */
typedef void event_thread_listener(void *context, uint64_t token);

typedef struct event_buffer event_buffer;

/* Under the GIL an ordinary byte, since that is what compilers test where it lies; all else is loaded
 * first, which is an instruction more. */
#if SCOPES_CONCURRENT
typedef _Atomic uint8_t event_switch;
#else
typedef uint8_t event_switch;
#endif

typedef struct {
    event_switch on;
    int steady;              /* 1: the processor's ticks are used */
    counter next;            /* sequence number of the next record */
    counter most;            /* of them; there events go off */
    _Atomic int error;       /* errno of what made them go off, ERANGE for most; 0 */
    int has_key;             /* 1: key is valid */
    pthread_key_t key;       /* without the GIL: the calling thread's buffer */
    pthread_mutex_t lock;    /* of all below */
    event_listener *listener;
    event_thread_listener *threads;
    void *context;           /* of the listener */
    void *threads_context;
    event_buffer *buffers;   /* of all threads */
    uint64_t listening_ns;   /* spent in the listener */
} events;

/* How to record: most is INT64_MAX for no bound; each listener may be NULL. */
typedef struct {
    int64_t most;
    event_listener *listener;
    void *context;
    event_thread_listener *threads;
    void *threads_context;
} events_how;

static inline int events_are_on(events *e)
{
#if SCOPES_CONCURRENT
    return atomic_load_explicit(&e->on, memory_order_relaxed);
#else
    return e->on;
#endif
}

void events_init(events *e);

/* Turns events on. Returns 0, or an errno. */
int events_start(events *e, events_how how);

/* Turns them off, if they are still on, and hands over what is left. */
void events_stop(events *e);

/* Off, and what has not been handed over is lost: for a child of fork, where that is the parent's, and only
 * the calling thread is left. */
void events_forget(events *e);

/* Makes a record; what is EVENT_OF(...). Nothing happens when events have gone off meanwhile. */
void events_emit(events *e, uint32_t what, const void *object, const void *other, uint64_t size);

#endif
