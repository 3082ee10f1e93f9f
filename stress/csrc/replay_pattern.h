/* What a checked replay writes to an object, and reads again before it goes. */
#ifndef STRESS_REPLAY_PATTERN_H
#define STRESS_REPLAY_PATTERN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Eight bytes of the pattern, which no two slots have in common at the same place. */
static inline uint64_t replay_pattern(uint32_t object, size_t place)
{
    return ((uint64_t)object + 1) * UINT64_C(0x9E3779B97F4A7C15) + place;
}

static inline void replay_write_pattern(uint32_t object, char *address, size_t size)
{
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t expected = replay_pattern(object, at / sizeof(uint64_t));
        memcpy(address + at, &expected, size - at < sizeof(expected) ? size - at : sizeof(expected));
    }
}

/* Bytes that are not what was written. */
static inline uint64_t replay_count_differing(uint32_t object, const char *address, size_t size)
{
    uint64_t differing = 0;
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t expected = replay_pattern(object, at / sizeof(uint64_t)), found = expected;
        memcpy(&found, address + at, size - at < sizeof(found) ? size - at : sizeof(found));
        for (uint64_t wrong = expected ^ found; wrong != 0; wrong >>= 8)
            differing += (wrong & 0xff) != 0;
    }
    return differing;
}

/* Writes a byte to each page that lies in the bytes from `from` up to `to`, but for one in which the part
 * before lies, which was touched with that. */
static inline void replay_touch_pages(char *address, size_t from, size_t to, size_t page)
{
    size_t at = from == 0 ? 0 : from + (size_t)(-((uintptr_t)address + from) & (page - 1));
    while (at < to) {
        *(volatile char *)(address + at) = 1;
        at += page - (size_t)(((uintptr_t)address + at) & (page - 1));
    }
}

#endif
