/* Asking CPython's collector, for the byte budget and when memory runs out. */
#ifndef SCOPES_COLLECT_H
#define SCOPES_COLLECT_H

#include "state.h"

/* Called before nbytes are handed out that nobody will close. Runs Python code where the budget is
 * passed; changes no exception. */
void collect_for_budget(core_state *state, size_t nbytes);

/* One full collection, because a limit was hit. Returns the live bytes that it freed. */
int64_t collect_for_memory(core_state *state);

/* account.c: foreign memory that counts towards the budget. */
PyObject *core_account(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
PyObject *core_set_implicit_budget(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *names);

#endif
