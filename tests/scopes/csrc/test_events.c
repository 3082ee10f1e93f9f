/* One thread: what a record holds, who is told of it, and when events go off. */
#include "event_file.h"
#include "thread_token.h"

#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MOST (4 * EVENT_BUFFER_RECORDS)

static events e;

/* A listener that keeps what it is given. */
static struct {
    event_record records[MOST];
    size_t count;
    size_t calls;
    int error;       /* to be returned */
    uint64_t thread; /* the last one told of */
    size_t threads;  /* how often */
} heard;

static int hear(void *context, const event_record *records, size_t count)
{
    EXPECT(context == &heard);
    EXPECT(heard.count + count <= MOST);
    memcpy(heard.records + heard.count, records, count * sizeof(event_record));
    heard.count += count;
    heard.calls++;
    return heard.error;
}

static void hear_thread(void *context, uint64_t token)
{
    EXPECT(context == &e);
    heard.thread = token;
    heard.threads++;
}

static void start(int64_t most)
{
    memset(&heard, 0, sizeof(heard));
    EXPECT(events_start(&e, (events_how){.most = most,
                                         .listener = hear,
                                         .context = &heard,
                                         .threads = hear_thread,
                                         .threads_context = &e}) == 0);
}

static void emit(size_t times)
{
    for (size_t i = 0; i < times; i++)
        events_emit(&e, EVENT_OF(EVENT_ALLOCATE, EVENT_BY_SCOPE, 4), &heard, &e, 100 + i);
}

static void test_they_are_off_at_first_and_after_stopping(void)
{
    EXPECT(!events_are_on(&e));
    start(INT64_MAX);
    EXPECT(events_are_on(&e));
    events_stop(&e);
    EXPECT(!events_are_on(&e));
    emit(1);
    events_stop(&e);
    EXPECT(heard.count == 0);
}

static void test_a_record_holds_what_was_told(void)
{
    start(INT64_MAX);
    uint64_t before = event_nanoseconds();
    emit(2);
    events_stop(&e);
    uint64_t after = event_nanoseconds();
    EXPECT(heard.count == 2 && heard.calls == 1);
    for (uint64_t i = 0; i < 2; i++) {
        const event_record *r = &heard.records[i];
        EXPECT(r->sequence == i);
        EXPECT(r->time_ns >= before && r->time_ns <= after);
        EXPECT(r->size == 100 + i);
        EXPECT(r->object == (uint64_t)(uintptr_t)&heard && r->other == (uint64_t)(uintptr_t)&e);
        EXPECT(r->thread == thread_token());
        EXPECT(r->operation == EVENT_ALLOCATE && r->kind == EVENT_BY_SCOPE && r->align == 4);
        EXPECT(r->reserved == 0);
    }
    EXPECT(heard.records[0].time_ns <= heard.records[1].time_ns);
}

static void test_a_full_buffer_is_handed_over(void)
{
    start(INT64_MAX);
    emit(EVENT_BUFFER_RECORDS - 1);
    EXPECT(heard.count == 0);
    emit(1);
    EXPECT(heard.count == EVENT_BUFFER_RECORDS && heard.calls == 1);
    emit(EVENT_BUFFER_RECORDS + 1);
    EXPECT(heard.calls == 2);
    events_stop(&e);
    EXPECT(heard.count == 2 * EVENT_BUFFER_RECORDS + 1);
    for (size_t i = 0; i < heard.count; i++) {
        EXPECT(heard.records[i].sequence == i);
        EXPECT(i == 0 || heard.records[i].time_ns >= heard.records[i - 1].time_ns);
    }
}

static void test_without_a_listener_the_buffer_starts_over(void)
{
    EXPECT(events_start(&e, (events_how){.most = INT64_MAX}) == 0);
    emit(3 * EVENT_BUFFER_RECORDS + 5);
    EXPECT(events_are_on(&e));
    events_stop(&e);
    EXPECT(atomic_load(&e.error) == 0);
}

static void test_the_bound_is_exact(void)
{
    start(10);
    emit(10);
    EXPECT(events_are_on(&e) && atomic_load(&e.error) == 0);
    emit(5);
    EXPECT(!events_are_on(&e) && atomic_load(&e.error) == ERANGE);
    events_stop(&e);
    EXPECT(heard.count == 10);
}

static void test_a_listener_that_fails_is_not_called_again(void)
{
    start(INT64_MAX);
    heard.error = ENOSPC;
    emit(EVENT_BUFFER_RECORDS);
    EXPECT(!events_are_on(&e) && atomic_load(&e.error) == ENOSPC);
    emit(EVENT_BUFFER_RECORDS);
    events_stop(&e);
    EXPECT(heard.calls == 1);
}

static void test_a_new_recording_knows_nothing_of_the_last_one(void)
{
    start(3);
    emit(5);
    events_stop(&e);
    start(INT64_MAX);
    EXPECT(atomic_load(&e.error) == 0);
    emit(1);
    events_stop(&e);
    EXPECT(heard.count == 1 && heard.records[0].sequence == 0);
}

static void test_a_thread_is_told_of_at_its_first_event(void)
{
    start(INT64_MAX);
    EXPECT(heard.threads == 0);
    emit(3);
    EXPECT(heard.threads == 1 && heard.thread == thread_token());
    events_stop(&e);
    start(INT64_MAX);
    emit(1);
    EXPECT(heard.threads == 1);
    events_stop(&e);
}

static void test_what_is_forgotten_is_told_to_nobody(void)
{
    start(INT64_MAX);
    emit(5);
    events_forget(&e);
    EXPECT(!events_are_on(&e));
    events_stop(&e);
    EXPECT(heard.count == 0);
    start(INT64_MAX);
    emit(1);
    events_stop(&e);
    EXPECT(heard.count == 1);
}

/* ---- the listener that writes ---------------------------------------------------------------- */

static event_record written[3] = {{.sequence = 7}, {.sequence = 8}, {.sequence = 9}};

static void test_records_are_written_as_they_are(void)
{
    char name[] = "/tmp/test-events-XXXXXX";
    event_file file = {.fd = mkstemp(name)};
    event_record found[3];
    EXPECT(file.fd >= 0 && unlink(name) == 0);
    EXPECT(event_file_write(&file, written, 2) == 0);
    EXPECT(event_file_write(&file, written + 2, 1) == 0);
    EXPECT(file.records == 3);
    EXPECT(pread(file.fd, found, sizeof(found), 0) == (ssize_t)sizeof(found));
    EXPECT(memcmp(found, written, sizeof(found)) == 0);
    close(file.fd);
}

static void test_a_file_that_is_full_ends_with_a_whole_record(void)
{
    char name[] = "/tmp/test-events-XXXXXX";
    event_file file = {.fd = mkstemp(name)};
    struct rlimit before, now;
    EXPECT(file.fd >= 0 && unlink(name) == 0);
    signal(SIGXFSZ, SIG_IGN);
    EXPECT(getrlimit(RLIMIT_FSIZE, &before) == 0);
    now = before;
    now.rlim_cur = 2 * sizeof(event_record) + 5;
    EXPECT(setrlimit(RLIMIT_FSIZE, &now) == 0);
    EXPECT(event_file_write(&file, written, 3) == EFBIG);
    EXPECT(setrlimit(RLIMIT_FSIZE, &before) == 0);
    EXPECT(file.records == 2);
    EXPECT(lseek(file.fd, 0, SEEK_END) == (off_t)(2 * sizeof(event_record)));
    close(file.fd);
}

static void test_times_are_those_of_the_system_on_either_clock(void)
{
    start(INT64_MAX);
    uint64_t before = event_nanoseconds();
    emit(EVENT_BUFFER_RECORDS);
    EXPECT(heard.records[0].time_ns >= before);
    EXPECT(heard.records[heard.count - 1].time_ns <= event_nanoseconds());
    events_stop(&e);
}

static void test_all(int steady)
{
    events_init(&e);
    e.steady &= steady;
    test_they_are_off_at_first_and_after_stopping();
    test_a_record_holds_what_was_told();
    test_a_full_buffer_is_handed_over();
    test_without_a_listener_the_buffer_starts_over();
    test_the_bound_is_exact();
    test_a_listener_that_fails_is_not_called_again();
    test_a_new_recording_knows_nothing_of_the_last_one();
    test_a_thread_is_told_of_at_its_first_event();
    test_times_are_those_of_the_system_on_either_clock();
    test_what_is_forgotten_is_told_to_nobody();
    events_stop(&e);
    events_forget(&e);
    events_forget(&e);
}

int main(void)
{
    test_all(1);
    test_all(0);
    test_records_are_written_as_they_are();
    test_a_file_that_is_full_ends_with_a_whole_record();
    return 0;
}
