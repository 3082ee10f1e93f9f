/* The clock of the sampler: plain C, no Python.h. Reads a counter of the processor where there is a
 * good one, for it costs less than the kernel's clock, and that one elsewhere.
 *
 * rdtscp waits for the instructions before it, so that work is not counted into the sample after.
 * A counter is good if its rate never changes ("invariant TSC"); whether the counters of all cores
 * agree is the kernel's judgement, which the caller asks for.
 */
#ifndef STRESS_PROBE_TICKS_H
#define STRESS_PROBE_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#define TICKS_HAVE_TSC 1
#else
#define TICKS_HAVE_TSC 0
#endif

static inline uint64_t ticks_of_kernel(void)
{
    struct timespec now;
    /* Cannot fail: the clock exists on every Linux and the pointer is good. */
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Ticks of the processor's counter, or the kernel's nanoseconds. */
static inline uint64_t ticks_now(bool by_tsc)
{
#if TICKS_HAVE_TSC
    if (by_tsc) {
        unsigned int cpu;
        return __rdtscp(&cpu);
    }
#else
    (void)by_tsc;
#endif
    return ticks_of_kernel();
}

/* Whether this processor has rdtscp and a counter of constant rate. */
bool ticks_have_tsc(void);

/* Ticks of the processor's counter in a second, held against the kernel's clock for `span_ns`, in
 * which it reads both without a pause. The error is about 100 ns in the span. */
double ticks_calibrated_hz(uint64_t span_ns);

#endif
