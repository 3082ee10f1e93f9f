/* A map from addresses, or other numbers but 0, to small ones. Keys are never taken out. */
#ifndef STRESS_ADDRESS_MAP_H
#define STRESS_ADDRESS_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    uint64_t *keys; /* 0: no key here */
    uint32_t *values;
    size_t used;
    size_t size;    /* power of two */
} map;

static inline size_t place_of(const map *m, uint64_t key)
{
    /* Fibonacci hashing: the low bits of addresses are all alike. */
    size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (m->size - 1);
    while (m->keys[at] != 0 && m->keys[at] != key)
        at = (at + 1) & (m->size - 1);
    return at;
}

static inline int map_init(map *m, size_t size)
{
    m->keys = calloc(size, sizeof(uint64_t));
    m->values = calloc(size, sizeof(uint32_t));
    m->used = 0;
    m->size = size;
    return m->keys != NULL && m->values != NULL ? 0 : -1;
}

static inline void map_free(map *m)
{
    free(m->keys);
    free(m->values);
}

static inline int map_grow(map *m)
{
    map larger;
    if (map_init(&larger, m->size * 2) < 0) {
        map_free(&larger);
        return -1;
    }
    for (size_t i = 0; i < m->size; i++) {
        if (m->keys[i] != 0) {
            size_t at = place_of(&larger, m->keys[i]);
            larger.keys[at] = m->keys[i];
            larger.values[at] = m->values[i];
        }
    }
    larger.used = m->used;
    map_free(m);
    *m = larger;
    return 0;
}

/* The value of a key, which is put in with the given one where it is missing; NULL: no memory. The
 * pointer is valid until the next call. */
static inline uint32_t *map_at(map *m, uint64_t key, uint32_t missing)
{
    if (m->used * 2 >= m->size && map_grow(m) < 0)
        return NULL;
    size_t at = place_of(m, key);
    if (m->keys[at] == 0) {
        m->keys[at] = key;
        m->values[at] = missing;
        m->used++;
    }
    return &m->values[at];
}

#endif
