/* Tokens are never 0, stay the thread's own, and are never used again, unlike pthread ids. */
#include "thread_token.h"

#include "expect.h"

#include <pthread.h>

#define THREADS 8
#define ROUNDS 50

static uint64_t seen[ROUNDS * THREADS + 1];

static void *run(void *slot)
{
    uint64_t token = thread_token();
    EXPECT(token != 0);
    for (int i = 0; i < 100; i++)
        EXPECT(thread_token() == token);
    *(uint64_t *)slot = token;
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

int main(void)
{
    pthread_t threads[THREADS];
    size_t count = 0;
    run(&seen[count++]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++)
            EXPECT(pthread_create(&threads[i], NULL, run, &seen[count++]) == 0);
        for (int i = 0; i < THREADS; i++)
            EXPECT(pthread_join(threads[i], NULL) == 0);
    }
    EXPECT(thread_token() == seen[0]);
    qsort(seen, count, sizeof(seen[0]), compare);
    for (size_t i = 1; i < count; i++)
        EXPECT(seen[i - 1] < seen[i]);
    return 0;
}
