#include "process.h"

#include <pthread.h>

/* Variables of the process, since handlers of pthread_atfork take no argument. */
word process_forks = 0;

#if SCOPES_CONCURRENT
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void process_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void process_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}
#endif

static void count_fork(void)
{
    atomic_fetch_add(&process_forks, 1);
    process_unlock();
}

static void register_handlers(void)
{
    pthread_atfork(process_lock, process_unlock, count_fork);
}

void process_watch_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_handlers);
}
