#include "probe_ticks.h"

#if TICKS_HAVE_TSC
#include <cpuid.h>

/* Processor features, by the numbers of their leaf and bit (Intel SDM volume 2, CPUID). */
enum { EXTENDED_FEATURES = 0x80000001, RDTSCP_BIT = 27, POWER = 0x80000007, INVARIANT_TSC_BIT = 8 };

bool ticks_have_tsc(void)
{
    unsigned int a, b, c, features = 0, power = 0;
    return __get_cpuid(EXTENDED_FEATURES, &a, &b, &c, &features)
           && __get_cpuid(POWER, &a, &b, &c, &power) && (features >> RDTSCP_BIT & 1) != 0
           && (power >> INVARIANT_TSC_BIT & 1) != 0;
}
#else
bool ticks_have_tsc(void)
{
    return false;
}
#endif

/* Both clocks at one moment. */
typedef struct {
    uint64_t ticks;
    uint64_t ns;
} moment;

enum { TRIES = 50 };

/* The tightest of some readings of one clock between two of the other: an interrupt in between
 * would put them microseconds apart. */
static moment both_now(void)
{
    moment best = {0, 0};
    uint64_t width = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = ticks_of_kernel();
        uint64_t ticks = ticks_now(true);
        uint64_t after = ticks_of_kernel();
        if (after - before < width) {
            width = after - before;
            best = (moment){ticks, before + width / 2};
        }
    }
    return best;
}

double ticks_calibrated_hz(uint64_t span_ns)
{
    moment start = both_now();
    while (ticks_of_kernel() - start.ns < span_ns) {
    }
    moment end = both_now();
    return (double)(end.ticks - start.ticks) / ((double)(end.ns - start.ns) / 1e9);
}
