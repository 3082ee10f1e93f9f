/* The time of an event: ticks of the processor where they are steady, which take half as long to read as
 * the system's clock, and are turned into its nanoseconds a buffer at a time. */
#ifndef SCOPES_EVENT_CLOCK_H
#define SCOPES_EVENT_CLOCK_H

#include "atomics.h"

#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>

/* CPUID leaf of advanced power management, and its bit: the counter runs at one rate in all states. */
#define STEADY_LEAF 0x80000007U
#define STEADY_BIT (1U << 8)
#endif

/* One moment on both clocks. */
typedef struct {
    uint64_t ticks;
    uint64_t ns; /* CLOCK_MONOTONIC */
} event_moment;

static inline uint64_t event_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static inline int event_ticks_are_steady(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d = 0;
    (void)__get_cpuid(STEADY_LEAF, &a, &b, &c, &d); /* leaves d as it is where there is no such leaf */
    return (d & STEADY_BIT) != 0;
#else
    return 0;
#endif
}

static inline uint64_t event_ticks(int steady)
{
#if defined(__x86_64__)
    return SCOPES_LIKELY(steady) ? __rdtsc() : event_nanoseconds();
#else
    (void)steady;
    return event_nanoseconds();
#endif
}

static inline event_moment event_now(int steady)
{
    uint64_t ns = event_nanoseconds();
    return (event_moment){.ticks = steady ? event_ticks(steady) : ns, .ns = ns};
}

#endif
