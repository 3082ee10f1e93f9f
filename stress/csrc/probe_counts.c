#include "probe_counts.h"

#include <assert.h>
#include <pthread.h>

_Thread_local counts_thread counts_own COUNTS_STORAGE;
atomic_bool counts_on;

/* One of everything a process, like the allocators that are counted. */
static struct {
    pthread_mutex_t lock;
    counts_thread *first; /* of the list, guarded by lock, as all below */
    counts_total folded;  /* of threads that are not on the list */
    uint64_t last_number;
    int users;
    bool began;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_key_t key; /* set in each listed thread, for the sake of its destructor */

static void list_lock_held(counts_thread *thread)
{
    thread->number = ++all.last_number;
    thread->ident = (uintptr_t)pthread_self();
    thread->previous = NULL;
    thread->next = all.first;
    if (all.first != NULL) {
        all.first->previous = thread;
    }
    all.first = thread;
    thread->place = COUNTS_LISTED;
}

static counts_total values_of(const counts_thread *thread)
{
    return (counts_total){
        .bytes = atomic_load_explicit(&thread->bytes, memory_order_relaxed),
        .allocations = atomic_load_explicit(&thread->allocations, memory_order_relaxed),
    };
}

static void add(counts_total *total, counts_total more)
{
    total->bytes += more.bytes;
    total->allocations += more.allocations;
}

/* Takes a thread off the list and keeps what it was handed. */
static void fold_lock_held(counts_thread *thread, counts_place place)
{
    assert(thread->place == COUNTS_LISTED);
    if (thread->previous != NULL) {
        thread->previous->next = thread->next;
    }
    else {
        all.first = thread->next;
    }
    if (thread->next != NULL) {
        thread->next->previous = thread->previous;
    }
    add(&all.folded, values_of(thread));
    thread->place = place;
    thread->ready = place == COUNTS_APART;
}

/* The destructor of key: the calling thread ends. */
static void end_thread(void *own)
{
    counts_thread *thread = own;
    pthread_mutex_lock(&all.lock);
    if (thread->place == COUNTS_LISTED) {
        fold_lock_held(thread, COUNTS_FOLDED);
    }
    pthread_mutex_unlock(&all.lock);
}

static void before_fork(void)
{
    pthread_mutex_lock(&all.lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&all.lock);
}

/* The other threads don't exist here, and their storage will be used again. */
static void after_fork_in_child(void)
{
    counts_thread *next;
    for (counts_thread *thread = all.first; thread != NULL; thread = next) {
        next = thread->next;
        if (thread != &counts_own) {
            fold_lock_held(thread, COUNTS_FOLDED);
        }
    }
    pthread_mutex_unlock(&all.lock);
}

static int init_error;

static void init_once(void)
{
    init_error = pthread_key_create(&key, end_thread);
    if (init_error == 0) {
        init_error = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    }
}

int counts_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_once);
    return init_error;
}

void counts_switch(bool on)
{
    pthread_mutex_lock(&all.lock);
    all.users += on ? 1 : -1;
    all.began = true;
    assert(all.users >= 0);
    atomic_store_explicit(&counts_on, all.users > 0, memory_order_relaxed);
    pthread_mutex_unlock(&all.lock);
}

bool counts_began(void)
{
    pthread_mutex_lock(&all.lock);
    bool began = all.began;
    pthread_mutex_unlock(&all.lock);
    return began;
}

counts_total counts_read(void)
{
    pthread_mutex_lock(&all.lock);
    counts_total total = all.folded;
    for (const counts_thread *thread = all.first; thread != NULL; thread = thread->next) {
        add(&total, values_of(thread));
    }
    pthread_mutex_unlock(&all.lock);
    return total;
}

counts_total counts_read_own(void)
{
    return values_of(&counts_own);
}

size_t counts_threads(counts_entry *entries, size_t room)
{
    size_t count = 0;
    pthread_mutex_lock(&all.lock);
    for (const counts_thread *thread = all.first; thread != NULL; thread = thread->next) {
        if (count < room) {
            entries[count] = (counts_entry){
                .number = thread->number,
                .ident = thread->ident,
                .bytes = values_of(thread).bytes,
            };
        }
        count++;
    }
    pthread_mutex_unlock(&all.lock);
    return count;
}

void counts_exclude(void)
{
    counts_thread *own = &counts_own;
    pthread_mutex_lock(&all.lock);
    if (own->place == COUNTS_LISTED) {
        fold_lock_held(own, COUNTS_APART);
    }
    own->place = COUNTS_APART;
    own->ready = true;
    pthread_mutex_unlock(&all.lock);
}

void counts_add_slowly(counts_thread *own, size_t size)
{
    /* Outside of the lock: it may take memory, by a malloc that somebody else has replaced. */
    bool will_fold = own->place == COUNTS_NOWHERE && pthread_setspecific(key, own) == 0;

    atomic_store_explicit(&own->bytes, values_of(own).bytes + size, memory_order_relaxed);
    atomic_store_explicit(&own->allocations, values_of(own).allocations + 1, memory_order_relaxed);
    pthread_mutex_lock(&all.lock);
    if (will_fold) {
        list_lock_held(own);
        own->ready = true;
    }
    else {
        own->place = COUNTS_FOLDED;
        add(&all.folded, (counts_total){.bytes = size, .allocations = 1});
    }
    pthread_mutex_unlock(&all.lock);
}
