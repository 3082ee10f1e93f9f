/* The recorder of resident memory: handshakes, points, thinning. Runs under TSan and under ASan. */
#define _GNU_SOURCE
#include "timeline.h"

#include "expect.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { INTERVAL_NS = 10000, CAPACITY = 64, ROUNDS = 100 };

static const size_t GROWTH = (size_t)64 << 20; /* bytes; above what the kernel counts in batches */

static timeline *started(void)
{
    timeline *line = timeline_start(INTERVAL_NS, CAPACITY);
    EXPECT(line != NULL);
    return line;
}

static void a_recording_has_a_first_and_a_last_point(void)
{
    timeline *line = started();
    EXPECT(timeline_count(line) == 0 && timeline_taken(line) == 0);
    timeline_record(line);
    EXPECT(timeline_taken(line) >= 1);
    timeline_pause(line);
    EXPECT(timeline_taken(line) >= 2);
    EXPECT(timeline_count(line) >= 1 && timeline_cpu_ns(line) > 0);
    timeline_stop(line);
}

static void memory_that_is_touched_meanwhile_is_in_the_points(void)
{
    timeline *line = started();
    timeline_record(line);
    char *memory = mmap(NULL, GROWTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(memory != MAP_FAILED);
    memset(memory, 1, GROWTH);
    timeline_pause(line);
    size_t count = timeline_count(line);
    const timeline_point *points = timeline_points(line);
    EXPECT(points[count - 1].bytes > points[0].bytes + GROWTH / 2);
    munmap(memory, GROWTH);
    timeline_stop(line);
}

static void more_points_than_there_is_room_for_are_thinned_out(void)
{
    timeline *line = started();
    timeline_record(line);
    while (timeline_taken(line) < 10 * CAPACITY) {
        sched_yield();
    }
    timeline_pause(line);
    size_t count = timeline_count(line);
    const timeline_point *points = timeline_points(line);
    EXPECT(count >= 1 && count <= CAPACITY);
    for (size_t i = 1; i < count; i++) {
        EXPECT(points[i].time_ns > points[i - 1].time_ns);
    }
    timeline_stop(line);
}

static void thinning_keeps_the_lowest_and_the_highest_of_four_in_their_order(void)
{
    timeline_point points[] = {{1, 5}, {2, 9}, {3, 1}, {4, 4}, {5, 7}, {6, 7}, {7, 7},
                               {8, 7}, {9, 2}, {10, 3}};
    EXPECT(timeline_thin(points, 10) == 5);
    EXPECT(points[0].time_ns == 2 && points[0].bytes == 9);
    EXPECT(points[1].time_ns == 3 && points[1].bytes == 1);
    EXPECT(points[2].time_ns == 5); /* four alike are one */
    EXPECT(points[3].time_ns == 9 && points[4].time_ns == 10);
}

static void a_new_recording_forgets_the_one_before(void)
{
    timeline *line = started();
    for (int round = 0; round < ROUNDS; round++) {
        timeline_record(line);
        timeline_record(line);
        timeline_pause(line);
        timeline_pause(line);
        uint64_t taken = timeline_taken(line);
        EXPECT(taken >= 2);
        EXPECT(taken > CAPACITY || timeline_count(line) == taken);
    }
    timeline_stop(line);
}

static void one_that_records_can_be_stopped(void)
{
    timeline *line = started();
    timeline_record(line);
    timeline_stop(line);
}

static void the_thread_has_an_id_of_its_own(void)
{
    timeline *line = started();
    EXPECT(timeline_thread_id(line) > 0 && timeline_thread_id(line) != (int)getpid());
    timeline_stop(line);
}

static void what_makes_no_sense_is_refused(void)
{
    errno = 0;
    EXPECT(timeline_start(0, CAPACITY) == NULL && errno == EINVAL);
    errno = 0;
    EXPECT(timeline_start(INTERVAL_NS, 3) == NULL && errno == EINVAL);
}

int main(void)
{
    a_recording_has_a_first_and_a_last_point();
    memory_that_is_touched_meanwhile_is_in_the_points();
    more_points_than_there_is_room_for_are_thinned_out();
    thinning_keeps_the_lowest_and_the_highest_of_four_in_their_order();
    a_new_recording_forgets_the_one_before();
    one_that_records_can_be_stopped();
    the_thread_has_an_id_of_its_own();
    what_makes_no_sense_is_refused();
    return 0;
}
