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

int process_watch_forks(void)
{
    static int watches = 0; /* guarded by the lock */
    int error = 0;
    process_lock();
    if (!watches)
        error = pthread_atfork(process_lock, process_unlock, count_fork);
    watches = error == 0;
    process_unlock();
    return error;
}
