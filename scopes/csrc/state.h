/* State of the module, and what differs between the Python versions. */
#ifndef SCOPES_STATE_H
#define SCOPES_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#include "arena.h"
#include "budget.h"
#include "event_file.h"
#include "process.h"
#include "thread_token.h"

/* OBJECT_LOCK(op) ... OBJECT_UNLOCK(): the lock of an object's fields, for the rest of the block; where
 * there is a GIL, that. LOCK_IF takes it only where the condition holds. */
#ifdef Py_GIL_DISABLED
#define OBJECT_LOCK_IF(condition, op)                                                                  \
    PyCriticalSection section_;                                                                        \
    const int locked_ = (condition);                                                                   \
    if (locked_)                                                                                       \
        PyCriticalSection_Begin(&section_, (PyObject *)(op))
#define OBJECT_UNLOCK()                                                                                \
    do {                                                                                               \
        if (locked_)                                                                                   \
            PyCriticalSection_End(&section_);                                                          \
    } while (0)
#else
#define OBJECT_LOCK_IF(condition, op) ((void)0)
#define OBJECT_UNLOCK() ((void)0)
#endif
#define OBJECT_LOCK(op) OBJECT_LOCK_IF(1, op)

/* Dead objects kept for the next one: creating and dropping scopes then takes no memory from Python
 * and the collector, which counts allocations, sees none. Without the GIL the interpreter's own
 * per-thread heaps do this. */
#ifdef Py_GIL_DISABLED
#define SCOPES_FREELISTS 0
#else
#define SCOPES_FREELISTS 1
#endif

/* Whether the collector learns of a scope only when it can be part of a cycle. Without the GIL it has to
 * from the start: one that is being freed by another thread could not be told apart then, and the
 * collector would free it, too. */
#ifdef Py_GIL_DISABLED
#define SCOPES_LATE_TRACKING 0
#else
#define SCOPES_LATE_TRACKING 1
#endif

#define FREE_SCOPES 256
#define FREE_SEGMENTS 2048

/* In a list of origins, or the ends of one: the first and the last of it. */
typedef struct origin_link {
    struct origin_link *prev;
    struct origin_link *next;
} origin_link;

/* State of one module object. The module holds a pointer to it and it is never freed: when the collector
 * takes the module together with scopes and segments, those may be the last to go. Its objects are NULL
 * from then on. */
typedef struct {
    arena *_Atomic arena;   /* replaced in a forked child, before its generation */
    word generation;        /* of the process, see fork_generation */
    counter debugging;      /* 1: origins are kept and memory is poisoned, see debug.h */
    budget implicit_budget;
    _Atomic int collects_when_disabled; /* 1: the budget asks even with gc.disable() */
    counter accounts;       /* objects that are accounted */
    counter accounted;      /* bytes of them */
    origin_link origins;    /* ends of the list of scope_origin, see debug.h */
    int is_recording;       /* 1: from start_events() to stop_events(), though events may have gone off;
                             * guarded by the lock of the module */
    events events;
    event_file event_file;  /* where they go; fd -1: nowhere */
    word record_generation; /* of the process that records */
    double event_ns;        /* what making a record costs */
    PyTypeObject *scope_type; /* all below: owned */
    PyTypeObject *confined_type;
    PyTypeObject *shared_type;
    PyTypeObject *implicit_type;
    PyTypeObject *segment_type;
    PyTypeObject *pin_type;
    PyTypeObject *adoption_type;
    PyTypeObject *watch_type;
    PyTypeObject *context_type;
    PyTypeObject *statistics_type;
    PyTypeObject *scope_statistics_type;
    PyObject *scope_error;
    PyObject *closed_error;
    PyObject *thread_error;
    PyObject *in_use_error;
    PyObject *memory_error;
    PyObject *event_threads;  /* dict: token -> threading.Thread or None, of those with events; or NULL */
    PyObject *active_threads; /* threading's dict: ident -> Thread; or NULL */
#if SCOPES_FREELISTS
    int closing;            /* 1: nothing is kept any more */
    int free_scope_count;
    int free_segment_count;
    PyObject *free_scopes[FREE_SCOPES];
    PyObject *free_segments[FREE_SEGMENTS];
#endif
} core_state;

/* Gives a forked child an arena of its own. Returns -1 with an exception set. */
int state_after_fork(core_state *state);

/* The state of a module; NULL if it was never executed, or in vain. */
static inline core_state *module_core_or_null(PyObject *module)
{
    core_state **found = PyModule_GetState(module);
    return found != NULL ? *found : NULL;
}

/* The same for a function of the module; NULL with an exception set. */
static inline core_state *module_core(PyObject *module)
{
    core_state *state = module_core_or_null(module);
    if (SCOPES_UNLIKELY(state == NULL))
        PyErr_SetString(PyExc_RuntimeError, "scopes._core is a module that was not executed: import scopes");
    return state;
}

/* The state by a type of the module; NULL with an exception set when the module is gone. */
static inline core_state *type_core(PyTypeObject *type)
{
    core_state **found = PyType_GetModuleState(type);
    return found != NULL ? *found : NULL;
}

/* Raises that the module is gone, and returns NULL. */
static inline PyObject *state_is_gone(void)
{
    PyErr_SetString(PyExc_RuntimeError, "scopes can't be used any more: its module is gone");
    return NULL;
}

/* Dead objects wait with a type that outlives ours, which PyObject_GC_Del reads; with our own back on,
 * they are new. */
static inline PyObject *revive(PyObject *dead, PyTypeObject *type)
{
    Py_SET_TYPE(dead, (PyTypeObject *)Py_NewRef(type));
    _Py_NewReference(dead);
    return dead;
}

static inline int state_ready(core_state *state)
{
    return SCOPES_LIKELY(word_get(&state->generation) == fork_generation()) ? 0 : state_after_fork(state);
}

/* Unmaps what the arena has given up. A large part is unmapped without the GIL: it takes about 60 us a
 * MiB; a small one with it, since getting the GIL back takes much longer beside busy threads. */
void state_unmap_pending(core_state *state, int may_leave_gil);

#endif
