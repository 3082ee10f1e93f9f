/* The counters of threads that come and go. Exit status 0: all held. */
#define _GNU_SOURCE
#include "probe_counts.h"

#include "expect.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* Many threads that live briefly: what goes wrong goes wrong at their ends. */
enum { THREADS = 2000, AT_A_TIME = 4, ALLOCATIONS = 20, MOST_LISTED = 64, SIZE = 24, HOOK = 2 };

static int memory; /* stands for what an allocator gives */

static void allocate(size_t size)
{
    counts_thread *own = counts_enter(HOOK);
    if (own != NULL) {
        counts_leave(own, &memory, size);
    }
}

/* Total of what is handed out while `work` runs. */
static counts_total counted_in(void (*work)(void))
{
    counts_total before = counts_read();
    counts_switch(true);
    work();
    counts_switch(false);
    counts_total after = counts_read();
    return (counts_total){after.bytes - before.bytes, after.allocations - before.allocations};
}

static void join_new_thread(void *(*body)(void *))
{
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, body, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
}

static bool is_listed(uintptr_t ident)
{
    counts_entry entries[MOST_LISTED];
    size_t count = counts_threads(entries, MOST_LISTED);
    EXPECT(count <= MOST_LISTED);
    for (size_t i = 0; i < count; i++) {
        if (entries[i].ident == ident) {
            return true;
        }
    }
    return false;
}

static void two(void)
{
    allocate(100);
    allocate(0);
}

static void bytes_and_allocations_are_counted(void)
{
    counts_total own = counts_read_own();
    counts_total seen = counted_in(two);
    EXPECT(seen.bytes == 100 && seen.allocations == 2);
    EXPECT(counts_read_own().bytes == own.bytes + 100);
    EXPECT(counts_read_own().allocations == own.allocations + 2);
}

static void nothing_is_counted_while_off(void)
{
    counts_total before = counts_read();
    allocate(100);
    EXPECT(counts_read().bytes == before.bytes);
}

static void the_last_user_switches_off(void)
{
    counts_total before = counts_read();
    counts_switch(true);
    counts_switch(true);
    counts_switch(false);
    allocate(1);
    counts_switch(false);
    allocate(1);
    EXPECT(counts_read().bytes == before.bytes + 1);
}

static void nested(void)
{
    counts_thread *own = counts_enter(HOOK);
    EXPECT(own != NULL);
    own->passed = 0;
    allocate(5000);
    EXPECT(own->passed == HOOK);
    counts_leave(own, &memory, 100);
}

static void only_the_outermost_allocation_counts(void)
{
    counts_total seen = counted_in(nested);
    EXPECT(seen.bytes == 100 && seen.allocations == 1);
}

static void failing(void)
{
    counts_thread *own = counts_enter(HOOK);
    EXPECT(own != NULL);
    counts_leave(own, NULL, 100);
}

static void what_failed_was_not_handed_out(void)
{
    counts_total seen = counted_in(failing);
    EXPECT(seen.bytes == 0 && seen.allocations == 0);
    seen = counted_in(two);
    EXPECT(seen.bytes == 100);
}

static void hushed(void)
{
    bool before = counts_hush();
    allocate(100);
    counts_unhush(before);
}

static void hushed_work_does_not_count(void)
{
    EXPECT(counted_in(hushed).allocations == 0);
}

static uintptr_t ended_ident;

static void *allocate_and_end(void *unused)
{
    ended_ident = (uintptr_t)pthread_self();
    allocate(SIZE);
    EXPECT(is_listed(ended_ident));
    return unused;
}

static void one_ends(void)
{
    join_new_thread(allocate_and_end);
}

static void a_thread_that_ended_is_in_the_total_and_not_on_the_list(void)
{
    EXPECT(counted_in(one_ends).bytes == SIZE);
    EXPECT(!is_listed(ended_ident));
}

static pthread_key_t later_key; /* made after the counters' own, so its destructor runs later */

static void allocate_late(void *unused)
{
    (void)unused;
    allocate(SIZE);
    allocate(SIZE);
}

static void *leave_a_destructor(void *unused)
{
    allocate(1);
    EXPECT(pthread_setspecific(later_key, &memory) == 0);
    return unused;
}

static void one_ends_late(void)
{
    join_new_thread(leave_a_destructor);
}

static void what_a_later_destructor_allocates_is_counted(void)
{
    EXPECT(pthread_key_create(&later_key, allocate_late) == 0);
    EXPECT(counted_in(one_ends_late).bytes == 1 + 2 * SIZE);
    EXPECT(pthread_key_delete(later_key) == 0);
}

static void *allocate_apart(void *unused)
{
    allocate(SIZE);
    counts_exclude();
    EXPECT(!is_listed((uintptr_t)pthread_self()));
    allocate(1000);
    counts_exclude();
    EXPECT(counts_read_own().bytes == SIZE + 1000);
    return unused;
}

static void one_is_excluded(void)
{
    join_new_thread(allocate_apart);
}

static void an_excluded_thread_counts_for_itself_alone_from_then_on(void)
{
    EXPECT(counted_in(one_is_excluded).bytes == SIZE);
}

static atomic_bool coming_and_going;

/* Reads while threads come and go: what a thread allocated must not vanish for a moment. */
static void *watch(void *most)
{
    uint64_t last = 0;
    while (atomic_load(&coming_and_going)) {
        counts_total total = counts_read();
        EXPECT(total.bytes >= last);
        EXPECT(total.bytes <= *(uint64_t *)most);
        last = total.bytes;
    }
    return NULL;
}

static void *allocate_much(void *unused)
{
    for (int i = 0; i < ALLOCATIONS; i++) {
        allocate(SIZE);
    }
    return unused;
}

static void many_come_and_go(void)
{
    pthread_t threads[AT_A_TIME];
    for (int round = 0; round < THREADS / AT_A_TIME; round++) {
        for (int i = 0; i < AT_A_TIME; i++) {
            EXPECT(pthread_create(&threads[i], NULL, allocate_much, NULL) == 0);
        }
        for (int i = 0; i < AT_A_TIME; i++) {
            EXPECT(pthread_join(threads[i], NULL) == 0);
        }
    }
}

static void a_thread_that_ends_during_a_read_is_neither_lost_nor_counted_twice(void)
{
    const uint64_t expected = (uint64_t)THREADS * ALLOCATIONS * SIZE;
    uint64_t most = counts_read().bytes + expected;
    pthread_t watchers[2];
    atomic_store(&coming_and_going, true);
    for (int i = 0; i < 2; i++) {
        EXPECT(pthread_create(&watchers[i], NULL, watch, &most) == 0);
    }
    counts_total seen = counted_in(many_come_and_go);
    atomic_store(&coming_and_going, false);
    for (int i = 0; i < 2; i++) {
        EXPECT(pthread_join(watchers[i], NULL) == 0);
    }
    EXPECT(seen.bytes == expected);
    EXPECT(seen.allocations == (uint64_t)THREADS * ALLOCATIONS);
}

static pthread_barrier_t forking;

static void *stay_during_fork(void *unused)
{
    allocate(SIZE);
    pthread_barrier_wait(&forking);
    pthread_barrier_wait(&forking);
    return unused;
}

/* The child has the total, one thread on its list, and goes on counting. */
static void in_the_child(uint64_t total)
{
    counts_entry entry;
    EXPECT(counts_read().bytes == total);
    EXPECT(counts_threads(&entry, 1) == 1);
    EXPECT(entry.ident == (uintptr_t)pthread_self());
    allocate(SIZE);
    EXPECT(counts_read().bytes == total + SIZE);
}

static void a_child_keeps_the_total_and_drops_the_threads_it_does_not_have(void)
{
    pthread_t thread;
    int status;
    counts_switch(true);
    EXPECT(pthread_barrier_init(&forking, NULL, 2) == 0);
    EXPECT(pthread_create(&thread, NULL, stay_during_fork, NULL) == 0);
    pthread_barrier_wait(&forking);
    uint64_t total = counts_read().bytes;
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        in_the_child(total);
        _exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pthread_barrier_wait(&forking);
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(counts_read().bytes == total);
    counts_switch(false);
}

int main(void)
{
    EXPECT(!counts_began());
    EXPECT(counts_init() == 0);
    EXPECT(counts_init() == 0);
    bytes_and_allocations_are_counted();
    EXPECT(counts_began());
    nothing_is_counted_while_off();
    the_last_user_switches_off();
    only_the_outermost_allocation_counts();
    what_failed_was_not_handed_out();
    hushed_work_does_not_count();
    a_thread_that_ended_is_in_the_total_and_not_on_the_list();
    what_a_later_destructor_allocates_is_counted();
    an_excluded_thread_counts_for_itself_alone_from_then_on();
    a_thread_that_ends_during_a_read_is_neither_lost_nor_counted_twice();
    a_child_keeps_the_total_and_drops_the_threads_it_does_not_have();
    return 0;
}
