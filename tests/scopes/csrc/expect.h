/* An assertion that no NDEBUG takes away, and numbers that are the same in each run. */
#ifndef SCOPES_TESTS_EXPECT_H
#define SCOPES_TESTS_EXPECT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition)                                                                              \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            fprintf(stderr, "%s:%d: %s: expected %s\n", __FILE__, __LINE__, __func__, #condition);     \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

/* Below n, from a generator whose state the caller keeps (xorshift). */
static inline size_t below(uint64_t *state, size_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (size_t)(*state % n);
}

#endif
