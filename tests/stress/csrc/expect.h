/* An assertion that no NDEBUG takes away. */
#ifndef STRESS_TESTS_EXPECT_H
#define STRESS_TESTS_EXPECT_H

#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition)                                                                   \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            fprintf(stderr, "%s:%d: %s: expected %s\n", __FILE__, __LINE__, __func__,       \
                    #condition);                                                            \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

#endif
