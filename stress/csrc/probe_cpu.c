/* The user time of the calling thread, by the clocks that the kernel keeps of every thread.
 *
 * A clock's id is made of a thread's id and of what is counted (posix-timers in the kernel). Id 0
 * stands for the calling thread and spares the kernel the search for it. glibc tells the id of a
 * thread's clock of all its time; that of user time alone differs in the lowest bits.
 */
#include "probe.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

/* In the lowest three bits of a clock's id: whose, and in two bits what. */
enum { CLOCK_OF_THREAD = 4, CLOCK_OF_USER_TIME = 1, CLOCK_KIND_BITS = 3 };

static PyObject *read_clock(clockid_t clock)
{
    struct timespec time;
    if (clock_gettime(clock, &time) < 0) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    return PyLong_FromLongLong((long long)time.tv_sec * 1000000000 + time.tv_nsec);
}

PyObject *probe_thread_user_time_ns(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    const unsigned int nobody = 0;
    return read_clock((clockid_t)(~nobody << 3 | CLOCK_OF_THREAD | CLOCK_OF_USER_TIME));
}

PyObject *probe_thread_user_time_by_id_ns(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    clockid_t clock;
    errno = pthread_getcpuclockid(pthread_self(), &clock);
    if (errno != 0) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    return read_clock((clock & ~CLOCK_KIND_BITS) | CLOCK_OF_USER_TIME);
}
