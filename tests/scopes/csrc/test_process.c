/* Children of a process whose threads are in the arena find the lock free and what it guards in order.
 *
 * Built with SCOPES_CONCURRENT=1. */
#include "arena.h"
#include "process.h"

#include "bytes.h"
#include "expect.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define FORKS 50
#define CHILD_SECONDS 20 /* before a child that waits for the lock is ended by a signal */

static arena *shared;
static _Atomic int stop = 0;

static void *lease_and_drop(void *unused)
{
    static const size_t SIZES[] = {64, 5000, 20000, 70000};
    uint64_t state = 88172645463325252u;
    while (!stop) {
        block *b = NULL;
        EXPECT(arena_lease(shared, SIZES[below(&state, 4)], 64, &b) == 0);
        arena_count_scope(shared, 1);
        arena_drop(shared, b);
        arena_count_scope(shared, -1);
        if (below(&state, 8) == 0)
            arena_trim(shared);
    }
    return unused;
}

/* What a child does first; returns its exit status. */
static int in_child(uint64_t generation)
{
    arena_figures figures;
    block *b = NULL;
    alarm(CHILD_SECONDS);
    EXPECT(fork_generation() == generation + 1);
#if SCOPES_DEBUG
    arena_check(shared);
#endif
    arena *fresh = arena_new();
    process_lock();
    arena_inherit(fresh, shared);
    process_unlock();
    EXPECT(arena_lease(fresh, 1000, 16, &b) == 0);
    arena_drop(fresh, b);
    arena_read(fresh, &figures);
    EXPECT(figures.scopes == 0 && figures.live == 0);
    return 0;
}

int main(void)
{
    pthread_t threads[THREADS];
    arena_figures figures;
    EXPECT(process_watch_forks() == 0);
    EXPECT(process_watch_forks() == 0); /* once is enough */
    shared = arena_new();
    for (size_t i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&threads[i], NULL, lease_and_drop, NULL) == 0);
    for (int i = 0; i < FORKS; i++) {
        uint64_t generation = fork_generation();
        int status;
        pid_t child = fork();
        if (child == 0)
            _exit(in_child(generation));
        EXPECT(child > 0 && waitpid(child, &status, 0) == child);
        EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        EXPECT(fork_generation() == generation);
    }
    stop = 1;
    for (size_t i = 0; i < THREADS; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    arena_read(shared, &figures);
    EXPECT(figures.scopes == 0);
    arena_delete(shared);
    return 0;
}
