/* The clock of the sampler, as far as any machine holds it. Exit status 0: all held. */
#include "probe_ticks.h"

#include "expect.h"

static void the_clock_never_goes_backwards(bool by_tsc)
{
    uint64_t last = ticks_now(by_tsc);
    for (int i = 0; i < 10000; i++) {
        uint64_t now = ticks_now(by_tsc);
        EXPECT(now >= last);
        last = now;
    }
}

static void a_calibration_lasts_its_span(void)
{
    const uint64_t span_ns = 2000000;
    uint64_t start = ticks_of_kernel();
    double hz = ticks_calibrated_hz(span_ns);
    EXPECT(ticks_of_kernel() - start >= span_ns);
    EXPECT(hz > 1e6);
}

int main(void)
{
    the_clock_never_goes_backwards(false);
    if (ticks_have_tsc()) {
        the_clock_never_goes_backwards(true);
        a_calibration_lasts_its_span();
    }
    return 0;
}
