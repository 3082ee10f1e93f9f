/* Turns the events of a recording, which name things by address, into operations, which name them by
 * slot: small numbers that are used again, the last one that became free first. Plain C, no Python.h.
 *
 * docs/recording.md tells what events and operations mean; the numbers are the same there and in
 * suites/recordings/format.py. Events come in order, in as many calls as the caller likes. One thread.
 *
 * native_build.py hands the declarations below to cffi: the lines without a # must stay plain C.
 */
#ifndef STRESS_RESOLVER_H
#define STRESS_RESOLVER_H

#include <stddef.h>
#include <stdint.h>

/* As it lies in a raw file. */
typedef struct {
    uint64_t sequence;
    uint64_t time_ns;
    uint64_t size;
    uint64_t object;   /* address, 0 for none */
    uint64_t other;    /* address of the scope; reallocate: the new address; part: of what */
    uint32_t thread;   /* any number */
    uint8_t operation;
    uint8_t kind;
    uint8_t align;
    uint8_t reserved;
} recorded_event;

/* What has been found so far. */
typedef struct {
    uint64_t objects;      /* size of a table of them */
    uint64_t scopes;
    uint64_t threads;
    uint64_t live_objects;
    uint64_t live_bytes;
    uint64_t peak_bytes;
    uint64_t preexisting[16]; /* by operation */
    uint64_t invalid[8];      /* by reason, as in format.py */
} resolver_figures;

typedef struct resolver resolver;

/* An operation has a time if `timed`. NULL: no memory. */
resolver *resolver_new(int timed);
void resolver_delete(resolver *self);

/* Writes the operations that count events amount to, at most three an event, and returns how many. Stops
 * with the event that makes them `most` or more. -1: no memory; it can only be deleted then. */
int64_t resolver_run(resolver *self, const recorded_event *events, size_t count, uint64_t most,
                     void *operations);

/* The events' numbers of the threads, in the order of the operations' numbers of them. */
void resolver_threads(const resolver *self, uint32_t *threads);
resolver_figures resolver_read(const resolver *self);

#endif
