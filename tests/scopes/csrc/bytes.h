/* What a block holds: a byte all over, or zeros. */
#ifndef SCOPES_TESTS_BYTES_H
#define SCOPES_TESTS_BYTES_H

#include <stddef.h>
#include <string.h>

/* True if all n bytes are the given one. */
static inline int all_are(const char *bytes, size_t n, char byte)
{
    return n == 0 || (bytes[0] == byte && memcmp(bytes, bytes + 1, n - 1) == 0);
}

/* True if each of n bytes is the given one or 0. */
static inline int all_are_or_zero(const char *bytes, size_t n, char byte)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != byte && bytes[i] != 0)
            return 0;
    }
    return 1;
}

#endif
