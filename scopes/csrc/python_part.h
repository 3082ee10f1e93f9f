/* Methods whose work is done in Python, because NumPy or cffi is imported for it. */
#ifndef SCOPES_PYTHON_PART_H
#define SCOPES_PYTHON_PART_H

#include "state.h"

PyObject *python_zeros(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
PyObject *python_empty(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
PyObject *python_array(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
PyObject *python_cdata(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
PyObject *python_as_array(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names);

#endif
