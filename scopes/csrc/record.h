/* Where scopes tell of events, and the functions behind scopes.record(). */
#ifndef SCOPES_RECORD_H
#define SCOPES_RECORD_H

#include "state.h"

/* True while somebody records. Two instructions, and none in a build without events; that it stays at
 * two is why nothing that a call would clobber may be needed after an EVENT in a function that otherwise
 * calls nothing: such a function ends with EVENT_AND_RETURN or has a twin for this case. */
#if SCOPES_EVENTS
#define RECORDS_EVENTS(state) SCOPES_UNLIKELY(events_are_on(&(state)->events))
#else
#define RECORDS_EVENTS(state) 0
#endif

/* One event, if somebody records: `what` is EVENT_OF(...). It is recorded when this is left: what an
 * event ends has to end after it, since addresses are used again. */
#define EVENT(state, what, object, other, size)                                                        \
    do {                                                                                               \
        if (RECORDS_EVENTS(state))                                                                     \
            record_event(state, what, object, other, (uint64_t)(size));                                \
    } while (0)

/* The same as the last thing of a function that returns 0. */
#define EVENT_AND_RETURN(state, what, object, other, size)                                             \
    return RECORDS_EVENTS(state) ? record_event(state, what, object, other, (uint64_t)(size)) : 0

/* Returns 0. */
int record_event(core_state *state, uint32_t what, const void *object, const void *other, uint64_t size)
    __attribute__((cold, noinline));

PyObject *core_start_events(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
PyObject *core_stop_events(PyObject *module, PyObject *unused);

#endif
