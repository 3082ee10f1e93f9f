/* Each call of the events that can fail does: events go off, or are recorded all the same.
 *
 * Linked with --wrap for each function that has a __wrap_ here. */
#include "event_file.h"

#include "expect.h"

#include <errno.h>
#include <unistd.h>

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
int __real_pthread_key_create(pthread_key_t *key, void (*end)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*end)(void *));
int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
int __wrap_ftruncate(int fd, off_t length);

static int memory_fails, key_fails, value_fails, truncate_fails;
/* Of each write, in turn: what it returns, or an errno below 0; 0 ends them, and all is written. */
static const ssize_t *writes;
static ssize_t truncated_to;

void *__wrap_calloc(size_t count, size_t size)
{
    return memory_fails ? NULL : __real_calloc(count, size);
}

int __wrap_pthread_key_create(pthread_key_t *key, void (*end)(void *))
{
    return key_fails ? EAGAIN : __real_pthread_key_create(key, end);
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
    return value_fails ? ENOMEM : __real_pthread_setspecific(key, value);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    (void)fd;
    (void)bytes;
    ssize_t result = *writes == 0 ? (ssize_t)n : *writes++;
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

int __wrap_ftruncate(int fd, off_t length)
{
    (void)fd;
    truncated_to = length;
    return truncate_fails ? -1 : 0;
}

static void test_without_memory_for_a_buffer(void)
{
    events e;
    events_init(&e);
    memory_fails = 1;
    int error = events_start(&e, (events_how){.most = 10});
#if SCOPES_CONCURRENT /* where each thread gets its buffer at its first event */
    EXPECT(error == 0);
    events_emit(&e, EVENT_CLOSE, &e, NULL, 0);
    EXPECT(!events_are_on(&e) && atomic_load(&e.error) == ENOMEM);
    events_stop(&e);
#else
    EXPECT(error == ENOMEM && !events_are_on(&e));
#endif
    memory_fails = 0;
    EXPECT(events_start(&e, (events_how){.most = 10}) == 0);
    events_emit(&e, EVENT_CLOSE, &e, NULL, 0);
    EXPECT(events_are_on(&e));
    events_forget(&e);
}

#if SCOPES_CONCURRENT
static void test_without_a_key_for_buffers(void)
{
    events e;
    events_init(&e);
    key_fails = 1;
    EXPECT(events_start(&e, (events_how){.most = 10}) == EAGAIN && !events_are_on(&e));
    key_fails = 0;
    events_forget(&e);
}

static void test_without_room_for_the_thread_to_keep_its_buffer(void)
{
    events e;
    events_init(&e);
    EXPECT(events_start(&e, (events_how){.most = 10}) == 0);
    value_fails = 1;
    events_emit(&e, EVENT_CLOSE, &e, NULL, 0);
    EXPECT(!events_are_on(&e) && atomic_load(&e.error) == ENOMEM && e.buffers == NULL);
    value_fails = 0;
    events_forget(&e);
}
#endif

static int write_three(const ssize_t *results, uint64_t records)
{
    static const event_record made[3] = {{.sequence = 0}};
    event_file file = {.fd = 99};
    writes = results;
    truncated_to = -1;
    int error = event_file_write(&file, made, 3);
    EXPECT(file.records == records);
    return error;
}

static void test_writing_in_parts(void)
{
    static const ssize_t parts[] = {50, -EINTR, 1, 0};
    EXPECT(write_three(parts, 3) == 0 && truncated_to == -1);
}

static void test_a_part_of_a_record_is_taken_out_again(void)
{
    static const ssize_t full[] = {100, -ENOSPC};
    for (truncate_fails = 0; truncate_fails < 2; truncate_fails++)
        EXPECT(write_three(full, 2) == ENOSPC && truncated_to == 96);
}

int main(void)
{
    test_without_memory_for_a_buffer();
#if SCOPES_CONCURRENT
    test_without_a_key_for_buffers();
    test_without_room_for_the_thread_to_keep_its_buffer();
#endif
    test_writing_in_parts();
    test_a_part_of_a_record_is_taken_out_again();
    return 0;
}
