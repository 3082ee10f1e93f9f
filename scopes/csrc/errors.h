/* The exceptions of the module, each message with what was expected and what was found. */
#ifndef SCOPES_ERRORS_H
#define SCOPES_ERRORS_H

#include "scope.h"

int errors_add(PyObject *module, core_state *state);

/* One of the classes of the state; they are gone when the module has been cleared and something still
 * calls it, and RuntimeError stands for them. */
PyObject *error_class(PyObject *exception);

/* All of these return -1 with the exception set. */
int raise_closed(core_state *state, scope_object *scope);
int raise_inherited(core_state *state, scope_object *scope);
int raise_wrong_thread(core_state *state, scope_object *scope);
int raise_in_use(core_state *state, scope_object *scope);
int raise_too_large(core_state *state, size_t nbytes);
int raise_scope_limit(core_state *state, scope_object *scope, size_t nbytes);
/* reclaimed: live bytes that the collection before the last attempt freed. */
int raise_process_limit(core_state *state, size_t nbytes, int64_t live, int64_t reclaimed);
int raise_no_memory(core_state *state, size_t nbytes, int error, int64_t reclaimed);

#endif
