/* Each call of the arena that can fail does so once: the lease says so, and nothing is lost or broken.
 *
 * Linked with --wrap for each function that has a __wrap_ here. */
#include "arena.h"

#include "bytes.h"
#include "expect.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_mmap(void *address, size_t n, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t n, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *address, size_t n);
int __wrap_munmap(void *address, size_t n);
int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

/* Calls until one fails; below 0: none does. */
static long until_failure = -1;
static int failures;

static int fails_now(void)
{
    if (until_failure < 0 || until_failure-- > 0)
        return 0;
    failures++;
    return 1;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_mmap(void *address, size_t n, int protection, int flags, int fd, off_t offset)
{
    if (fails_now()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(address, n, protection, flags, fd, offset);
}

int __wrap_munmap(void *address, size_t n)
{
    if (fails_now()) {
        errno = ENOMEM;
        return -1;
    }
    return __real_munmap(address, n);
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
    return fails_now() ? ENOMEM : __real_pthread_setspecific(key, value);
}

#define LEASES 40

static void lease_all(arena *a, block **leased)
{
    static const size_t sizes[] = {1, 100, 5000, 16384, 20000, 65536, 100000, 200000};
    for (size_t i = 0; i < LEASES; i++) {
        int error = arena_lease(a, sizes[i % 8], (size_t)1 << (i % 22), &leased[i]);
        EXPECT(error == 0 || error == ENOMEM);
        EXPECT((error == 0) == (leased[i] != NULL));
        if (leased[i] != NULL)
            memset(leased[i]->base, (int)(1 + i), leased[i]->size);
#if SCOPES_DEBUG
        arena_check(a);
#endif
    }
}

static void drop_all(arena *a, block **leased)
{
    for (size_t i = 0; i < LEASES; i++) {
        if (leased[i] == NULL)
            continue;
        EXPECT(all_are(leased[i]->base, leased[i]->size, (char)(1 + i)));
        arena_drop(a, leased[i]);
    }
}

static void what_can_not_be_unmapped_is_used_again(void)
{
    size_t size = (size_t)1 << 20, total;
    arena_figures figures;
    block *b = NULL, *again = NULL;
    arena *a = arena_new();
    EXPECT(arena_lease(a, size, 16, &b) == 0);
    memset(b->base, 7, size);
    arena_drop(a, b);
    arena_trim(a);
    until_failure = 0;
    block *refused = arena_unmap(arena_pending(a, &total));
    EXPECT(refused == b && b->next == NULL && total == size);
    arena_take_back(a, refused);
    arena_read(a, &figures);
    EXPECT(figures.mapped == size && figures.cached == size);
    EXPECT(all_are(b->base, size, 0)); /* without pages, it takes no memory */
    EXPECT(arena_lease(a, size, 16, &again) == 0 && again == b);
    arena_drop(a, b);
    arena_trim(a);
    EXPECT(arena_unmap(arena_pending(a, &total)) == NULL && total == size);
    arena_read(a, &figures);
    EXPECT(figures.mapped == 0);
    arena_delete(a);
}

static void each_lease_may_fail(void)
{
    int before = -1;
    for (long at = 0; failures > before; at++) {
        block *leased[LEASES] = {NULL};
        arena_figures figures;
        size_t total;
        before = failures;
        arena *a = arena_new();
        until_failure = at;
        lease_all(a, leased);
        until_failure = -1;
        drop_all(a, leased);
        arena_trim(a);
        arena_unmap(arena_pending(a, &total));
        arena_read(a, &figures);
        EXPECT(figures.mapped == 0 && figures.cached == 0);
        arena_delete(a);
    }
    EXPECT(failures > 40);
}

int main(void)
{
    each_lease_may_fail();
    what_can_not_be_unmapped_is_used_again();
    until_failure = 0;
    EXPECT(arena_new() == NULL);
    return 0;
}
