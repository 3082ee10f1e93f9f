/* The native spinners: handshakes, counters, end. Meant to run under TSan and under ASan. */
#define _GNU_SOURCE
#include "spinners.h"

#include "expect.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

enum { COUNT = 3, ROUNDS = 100 };

static void spinners_start_parked(void)
{
    spinners *group = spinners_start(COUNT);
    EXPECT(group != NULL);
    EXPECT(spinners_work(group) == 0);
    sched_yield();
    EXPECT(spinners_work(group) == 0);
    spinners_stop(group);
}

static void work_grows_while_unparked_and_stands_still_while_parked(void)
{
    spinners *group = spinners_start(COUNT);
    EXPECT(group != NULL);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t before = spinners_work(group);
        spinners_unpark(group);
        while (spinners_work(group) == before) {
            sched_yield();
        }
        spinners_park(group);
        uint64_t parked = spinners_work(group);
        sched_yield();
        EXPECT(spinners_work(group) == parked);
    }
    spinners_stop(group);
}

static void changes_without_work_between_lose_no_wake_up(void)
{
    spinners *group = spinners_start(COUNT);
    EXPECT(group != NULL);
    for (int round = 0; round < ROUNDS; round++) {
        spinners_unpark(group);
        spinners_unpark(group);
        spinners_park(group);
        spinners_park(group);
    }
    spinners_stop(group);
}

static void running_spinners_can_be_stopped(void)
{
    spinners *group = spinners_start(COUNT);
    EXPECT(group != NULL);
    spinners_unpark(group);
    spinners_stop(group);
}

static void each_thread_has_an_id_of_its_own(void)
{
    spinners *group = spinners_start(COUNT);
    EXPECT(group != NULL);
    for (int i = 0; i < COUNT; i++) {
        EXPECT(spinners_thread_id(group, i) > 0);
        EXPECT(spinners_thread_id(group, i) != (int)getpid());
        for (int j = 0; j < i; j++) {
            EXPECT(spinners_thread_id(group, i) != spinners_thread_id(group, j));
        }
    }
    spinners_stop(group);
}

static void fewer_than_one_thread_is_refused(void)
{
    errno = 0;
    EXPECT(spinners_start(0) == NULL);
    EXPECT(errno == EINVAL);
}

int main(void)
{
    spinners_start_parked();
    work_grows_while_unparked_and_stands_still_while_parked();
    changes_without_work_between_lose_no_wake_up();
    running_spinners_can_be_stopped();
    each_thread_has_an_id_of_its_own();
    fewer_than_one_thread_is_refused();
    return 0;
}
