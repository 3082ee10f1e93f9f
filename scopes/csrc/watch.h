/* Watches: what happens when an object dies.
 *
 * A watch is the callback of a weak reference to the object. The two hold each other until the object is
 * dead, and since the collector is not shown the watch, what it holds stays alive until then. Nothing has
 * to be found or allocated at the death, and nothing can fail: calling a Python function could, where the
 * recursion limit is reached. Anyone can get hold of a callback and call it: the first call counts. */
#ifndef SCOPES_WATCH_H
#define SCOPES_WATCH_H

#include "state.h"

typedef struct watch_object {
    PyObject_HEAD
    vectorcallfunc call;
    core_state *core;      /* never freed, see state.h */
    PyObject *reference;   /* owned: weak, to the object; NULL once died has been called */
    void (*died)(struct watch_object *);
    PyObject *scope;       /* owned: what is closed then, or NULL */
    int64_t nbytes;        /* what is taken off the budget then */
    uint64_t generation;   /* of the process that made it: a child's budget starts anew */
} watch_object;

/* Raises TypeError, which calls the object what, unless it supports weak references. */
int watch_check(PyObject *object, const char *what);

/* Has died called once, when the object dies, with a watch that has the scope (may be NULL) and nbytes.
 * Returns a new reference to the weak reference, or NULL with an exception set. */
PyObject *watch_open(core_state *state, PyObject *object, void (*died)(watch_object *), PyObject *scope,
                     int64_t nbytes);

int watch_add_type(PyObject *module, core_state *state);

#endif
