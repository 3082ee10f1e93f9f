/* Each calloc and each mmap of the arena fails once: the lease says so, and nothing is lost or broken.
 *
 * Linked with --wrap=calloc --wrap=mmap. */
#include "arena.h"

#include "bytes.h"
#include "expect.h"

#include <errno.h>
#include <sys/mman.h>

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_mmap(void *address, size_t n, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t n, int protection, int flags, int fd, off_t offset);

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

int main(void)
{
    for (long at = 0; at < 80; at++) {
        block *leased[LEASES] = {NULL};
        arena_figures figures;
        size_t total;
        until_failure = -1;
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
    until_failure = 0;
    EXPECT(arena_new() == NULL);
    return 0;
}
