/* The operations of a recording as they lie in its file; docs/recording.md tells what they mean, and
 * suites/recordings/format.py has the same numbers. */
#ifndef STRESS_RECORDED_H
#define STRESS_RECORDED_H

#include <stdint.h>

enum operation {
    ALLOCATE = 1,
    REALLOCATE,
    FREE,
    OPEN_SCOPE,
    ADOPT,
    EXPORT,
    UNEXPORT,
    CLOSING,
    CLOSE,
    DROP,
    DROP_SCOPE,
    PART, /* of events only */
};

/* An operation after its sequence and, where it is known, its time. */
typedef struct {
    uint64_t size;
    uint32_t object;
    uint32_t scope;
    uint32_t thread;
    uint8_t operation;
    uint8_t kind;
    uint8_t align;
    uint8_t reserved;
} operation_tail;

_Static_assert(sizeof(operation_tail) == 24, "operations are read by their size");

/* In place of an object or a scope. */
#define NONE UINT32_MAX

/* Of ALLOCATE, as a kind. */
enum recorded_allocator { BY_UNKNOWN, BY_MALLOC, BY_CALLOC, BY_ALIGNED, BY_MMAP, BY_PYTHON, BY_SCOPE };

#endif
