#include "events.h"

#include "thread_token.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

struct event_buffer {
    _Atomic int locked;   /* 1: somebody adds or hands over; held for at most one call of the listener */
    uint32_t count;
    uint64_t token;       /* of the thread that filled it last */
    event_moment since;   /* when it was empty last */
    events *owner;
    event_buffer *next;
    event_buffer *prev;
    event_record records[EVENT_BUFFER_RECORDS];
};

/* Held for some ten instructions, as a rule: a mutex would cost a third of an event. */
static inline void lock_buffer(event_buffer *b)
{
#if SCOPES_CONCURRENT
    while (atomic_exchange_explicit(&b->locked, 1, memory_order_acquire))
        sched_yield();
#else
    (void)b;
#endif
}

static inline void unlock_buffer(event_buffer *b)
{
#if SCOPES_CONCURRENT
    atomic_store_explicit(&b->locked, 0, memory_order_release);
#else
    (void)b;
#endif
}

/* The switch as it orders what belongs to it: events_are_on() is only a hint. */
static inline int is_on(events *e)
{
#if SCOPES_CONCURRENT
    return atomic_load_explicit(&e->on, memory_order_acquire);
#else
    return e->on;
#endif
}

static void turn(events *e, uint8_t on)
{
#if SCOPES_CONCURRENT
    atomic_store_explicit(&e->on, on, memory_order_release);
#else
    e->on = on;
#endif
}

static void go_off(events *e, int error)
{
    int none = 0;
    atomic_compare_exchange_strong(&e->error, &none, error);
    turn(e, 0);
}

/* ---- handing over ---------------------------------------------------------------------------- */

/* The clocks may run apart between two looks at both; in between they are taken for even. */
static void turn_ticks_into_ns(event_buffer *b, event_moment now)
{
    uint64_t ticks = (now.ticks - b->since.ticks) | 1; /* never 0 */
    double rate = (double)(now.ns - b->since.ns) / (double)ticks;
    for (uint32_t i = 0; i < b->count; i++) {
        int64_t after = (int64_t)(b->records[i].time_ns - b->since.ticks);
        if (after < 0) /* by chance: the counters of two processors are some ticks apart */
            after = 0;
        b->records[i].time_ns = b->since.ns + (uint64_t)((double)after * rate);
    }
}

/* Both locks held. */
static void hand_over(events *e, event_buffer *b)
{
    event_moment now = event_now(e->steady);
    if (e->listener != NULL && b->count > 0) {
        if (e->steady)
            turn_ticks_into_ns(b, now);
        int error = e->listener(e->context, b->records, b->count);
        if (error != 0) {
            go_off(e, error);
            e->listener = NULL;
        }
        e->listening_ns += event_nanoseconds() - now.ns;
    }
    b->count = 0;
    b->since = now;
}

static void hand_over_all(events *e)
{
    pthread_mutex_lock(&e->lock);
    for (event_buffer *b = e->buffers; b != NULL; b = b->next) {
        lock_buffer(b);
        hand_over(e, b);
        unlock_buffer(b);
    }
    pthread_mutex_unlock(&e->lock);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static event_buffer *new_buffer(events *e)
{
    event_buffer *b = calloc(1, sizeof(event_buffer));
    if (b == NULL)
        return NULL;
    b->owner = e;
    b->since = event_now(e->steady);
    pthread_mutex_lock(&e->lock);
    b->next = e->buffers;
    if (b->next != NULL)
        b->next->prev = b;
    e->buffers = b;
    pthread_mutex_unlock(&e->lock);
    return b;
}

#if SCOPES_CONCURRENT
/* Run by the thread's end. */
static void end_buffer(void *thread_buffer)
{
    event_buffer *b = thread_buffer;
    events *e = b->owner;
    pthread_mutex_lock(&e->lock);
    lock_buffer(b); /* stays locked: nobody finds it any more */
    hand_over(e, b);
    if (b->prev != NULL)
        b->prev->next = b->next;
    else
        e->buffers = b->next;
    if (b->next != NULL)
        b->next->prev = b->prev;
    pthread_mutex_unlock(&e->lock);
    free(b);
}

static event_buffer *new_thread_buffer(events *e)
{
    event_buffer *b = new_buffer(e);
    if (b != NULL && pthread_setspecific(e->key, b) != 0) {
        end_buffer(b);
        return NULL;
    }
    return b;
}
#endif

/* The buffer that the calling thread adds to; NULL where there is no memory for one. */
static inline event_buffer *my_buffer(events *e)
{
#if SCOPES_CONCURRENT
    event_buffer *b = pthread_getspecific(e->key);
    return SCOPES_LIKELY(b != NULL) ? b : new_thread_buffer(e);
#else
    return e->buffers;
#endif
}

/* ---- entry points ---------------------------------------------------------------------------- */

void events_init(events *e)
{
    turn(e, 0);
    atomic_init(&e->error, 0);
    atomic_init(&e->next, 0);
    pthread_mutex_init(&e->lock, NULL);
    e->steady = event_ticks_are_steady();
    counter_set(&e->most, 0);
    e->has_key = 0;
    e->listener = NULL;
    e->threads = NULL;
    e->context = e->threads_context = NULL;
    e->buffers = NULL;
    e->listening_ns = 0;
}

int events_start(events *e, events_how how)
{
#if SCOPES_CONCURRENT
    if (!e->has_key) {
        int error = pthread_key_create(&e->key, end_buffer);
        if (error != 0)
            return error;
        e->has_key = 1;
    }
#else
    if (e->buffers == NULL && new_buffer(e) == NULL)
        return ENOMEM;
#endif
    pthread_mutex_lock(&e->lock);
    for (event_buffer *b = e->buffers; b != NULL; b = b->next) {
        lock_buffer(b);
        hand_over(e, b); /* to nobody: it begins now */
        b->token = 0;
        unlock_buffer(b);
    }
    e->listener = how.listener;
    e->threads = how.threads;
    e->context = how.context;
    e->threads_context = how.threads_context;
    e->listening_ns = 0;
    pthread_mutex_unlock(&e->lock);
    counter_set(&e->most, how.most);
    counter_set(&e->next, 0);
    atomic_store(&e->error, 0);
    turn(e, 1);
    return 0;
}

void events_stop(events *e)
{
    turn(e, 0);
    hand_over_all(e);
    pthread_mutex_lock(&e->lock);
    e->listener = NULL;
    e->threads = NULL;
    pthread_mutex_unlock(&e->lock);
}

void events_forget(events *e)
{
    /* Those of other threads stay: the list of them may be half changed. */
#if SCOPES_CONCURRENT
    if (e->has_key) {
        free(pthread_getspecific(e->key));
        pthread_key_delete(e->key);
    }
#else
    free(e->buffers);
#endif
    events_init(e);
}

static void tell_thread(events *e, uint64_t token)
{
    pthread_mutex_lock(&e->lock);
    event_thread_listener *listener = e->threads;
    void *context = e->threads_context;
    pthread_mutex_unlock(&e->lock);
    if (listener != NULL)
        listener(context, token);
}

/* Adds the record, whose sequence and time are set here, unless events are off by now. */
static inline void record_lock_held(events *e, event_buffer *b, const event_record *record)
{
    if (SCOPES_UNLIKELY(!is_on(e)))
        return;
    int64_t sequence = counter_add(&e->next, 1) - 1;
    if (SCOPES_UNLIKELY(sequence >= counter_get(&e->most))) {
        go_off(e, ERANGE);
        return;
    }
    event_record *at = &b->records[b->count++];
    *at = *record;
    at->sequence = (uint64_t)sequence;
    at->time_ns = event_ticks(e->steady);
}

void events_emit(events *e, uint32_t what, const void *object, const void *other, uint64_t size)
{
    event_buffer *b = my_buffer(e);
    if (SCOPES_UNLIKELY(b == NULL)) {
        go_off(e, ENOMEM);
        return;
    }
    uint64_t token = thread_token();
    lock_buffer(b);
    if (SCOPES_UNLIKELY(b->token != token)) {
        b->token = token;
        unlock_buffer(b);
        tell_thread(e, token);
        lock_buffer(b);
    }
    record_lock_held(e, b, &(event_record){
        .size = size,
        .object = (uint64_t)(uintptr_t)object,
        .other = (uint64_t)(uintptr_t)other,
        .thread = (uint32_t)token,
        .operation = (uint8_t)what,
        .kind = (uint8_t)(what >> 8),
        .align = (uint8_t)(what >> 16),
    });
    int full = b->count == EVENT_BUFFER_RECORDS;
    unlock_buffer(b);
    if (SCOPES_UNLIKELY(full))
        hand_over_all(e);
}
