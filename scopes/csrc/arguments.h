/* Arguments of methods that are called by vectorcall. */
#ifndef SCOPES_ARGUMENTS_H
#define SCOPES_ARGUMENTS_H

#include "state.h"

/* Sorts args into found[] by the order of keywords (ended by NULL), NULL where one is missing. The
 * first `positional` may be given without a name; the first `required` must be given.
 * Returns 0, or -1 with a TypeError set. All found are borrowed. */
int parse_arguments(const char *function, const char *const *keywords, int positional, int required,
                    PyObject *const *args, Py_ssize_t nargs, PyObject *names, PyObject **found);

/* A number of bytes, 0 or more. -1 with TypeError, ValueError or OverflowError set. May run Python. */
int convert_nbytes(PyObject *value, const char *what, size_t *nbytes);

/* An alignment: a power of two from 1 to ARENA_ALIGN_MOST; the default for NULL. May run Python. */
int convert_align(PyObject *value, size_t *align);

#endif
