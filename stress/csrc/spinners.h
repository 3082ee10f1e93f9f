/* Threads that keep cores busy and never take Python's lock. Plain C, no Python.h.
 *
 * A spinner is parked (asleep on a condition variable, costs nothing) or runs. Both changes are
 * handshakes: spinners_park returns when all sleep, spinners_unpark when all are awake. Doing either
 * twice is harmless.
 *
 * function                                        may be called
 *   spinners_start                                  by anybody
 *   spinners_park, spinners_unpark, spinners_stop   by one thread at a time
 *   spinners_work, spinners_thread_id               by any thread between start and stop
 *
 * native_build.py hands the declarations below to cffi: the lines without a # must stay plain C.
 */
#ifndef STRESS_SPINNERS_H
#define STRESS_SPINNERS_H

#include <stdint.h>

typedef struct spinners spinners;

/* `count` threads (at least 1), parked; NULL with errno set when one can't be made. */
spinners *spinners_start(int count);

void spinners_unpark(spinners *self);
void spinners_park(spinners *self);

/* Turns of the empty loop made by all spinners since the start. */
uint64_t spinners_work(const spinners *self);

/* The kernel's id of a thread, index from 0 to count - 1. */
int spinners_thread_id(const spinners *self, int index);

/* Ends and joins the threads, parked or not, and frees everything. */
void spinners_stop(spinners *self);

#endif
