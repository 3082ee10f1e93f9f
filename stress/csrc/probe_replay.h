/* What the parts of ScopeReplay share. */
#ifndef STRESS_PROBE_REPLAY_H
#define STRESS_PROBE_REPLAY_H

#include "probe.h"
#include "replay_plan.h"

#include <stdbool.h>

enum { KINDS = 4 };           /* of recorded scopes */
enum { SIZES = 64 };          /* numbers that are kept as objects: a program would have them, too */

/* A buffer that is taken. */
typedef struct export {
    Py_buffer view;
    struct export *next;
} export;

typedef struct {
    PyObject *segment; /* NULL: nothing is there */
    export *exports;
    uint32_t scope;
    bool adopted;
} held_object;

typedef struct {
    PyObject *scope;  /* NULL: nothing is there */
    PyObject *holder; /* of an implicit scope: what is in a cycle with itself; NULL elsewhere */
    uint64_t allocated; /* segments */
    bool closes;        /* has to be closed */
    bool closed;
} held_scope;

enum touch { TOUCH_NONE, TOUCH_FIRST, TOUCH_ALL };

typedef struct {
    PyObject_HEAD
    PyObject *opens[KINDS]; /* what opens a scope of a kind; NULL: nothing does, and there is nothing */
    PyObject *holder;       /* type of what is in a cycle with an implicit scope, or NULL */
    PyObject *defers;       /* ("exports",), and "defer" */
    PyObject *defer;
    PyObject *aligned;      /* ("align",) */
    PyObject *allocate;     /* names */
    PyObject *adopt;
    PyObject *close;
    PyObject *scope_name;
    PyObject *myself_name;
    uint8_t closes[KINDS];
    uint8_t is_deferring;
    uint8_t checked;
    uint8_t touch;
    uint8_t by_tsc;
    double hz;
    uint64_t *samples;      /* HDR_BUCKETS, or NULL */
    size_t page;
    held_object *objects;
    held_scope *scopes;
    uint32_t object_count;
    uint32_t scope_count;
    export *unused;
    char *foreign;          /* what is adopted */
    size_t foreign_size;
    PyObject *sizes[SIZES];
    uint64_t size_values[SIZES];
    uint64_t differing;
    uint64_t elapsed_ns;    /* of runs since the last release */
    uint64_t run_ns;        /* when this one began */
} scope_replay;

/* The exception that is set, which is set no longer; NULL for none. For what must run in between. */
static inline PyObject *take_exception(void)
{
#if PY_VERSION_HEX >= 0x030c0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    if (type != NULL) {
        PyErr_NormalizeException(&type, &error, &traceback);
    }
    if (traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return error;
#endif
}

/* Sets it again: of two, the first. */
static inline void set_exception_again(PyObject *error)
{
    if (error == NULL) {
        return;
    }
#if PY_VERSION_HEX >= 0x030c0000
    PyErr_SetRaisedException(error);
#else
    PyErr_Restore(Py_NewRef(Py_TYPE(error)), error, PyException_GetTraceback(error));
#endif
}

/* Executes the steps. These return 0, or -1 with an exception (probe_replay_steps.c). */
int scope_replay_execute(scope_replay *self, const replay_step *steps, size_t count);
int scope_replay_close_scope(scope_replay *self, uint32_t scope);
/* Reads what was written to an object, of a checked replay. */
int scope_replay_check(scope_replay *self, uint32_t object);

void scope_replay_unexport_object(scope_replay *self, held_object *object);
void scope_replay_drop_scope(held_scope *held);
int scope_replay_is_open(scope_replay *self, uint32_t scope);

#endif
