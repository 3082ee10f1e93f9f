#include "python_part.h"

#define MOST_POSITIONAL 4

/* module.function(self, *args, **kwargs) */
static PyObject *call_python(const char *module, const char *function, PyObject *self,
                             PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    Py_ssize_t named = names != NULL ? PyTuple_GET_SIZE(names) : 0;
    PyObject *all[1 + MOST_POSITIONAL];
    if (nargs + named > MOST_POSITIONAL) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments, found %zd", function,
                     MOST_POSITIONAL, nargs + named);
        return NULL;
    }
    PyObject *imported = PyImport_ImportModule(module);
    if (imported == NULL)
        return NULL;
    PyObject *callable = PyObject_GetAttrString(imported, function);
    Py_DECREF(imported);
    if (callable == NULL)
        return NULL;
    all[0] = self;
    for (Py_ssize_t i = 0; i < nargs + named; i++)
        all[i + 1] = args[i];
    PyObject *result = PyObject_Vectorcall(callable, all, (size_t)(nargs + 1), names);
    Py_DECREF(callable);
    return result;
}

PyObject *python_zeros(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    return call_python("scopes._numpy", "zeros", self, args, nargs, names);
}

PyObject *python_empty(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    return call_python("scopes._numpy", "empty", self, args, nargs, names);
}

PyObject *python_array(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    return call_python("scopes._numpy", "array", self, args, nargs, names);
}

PyObject *python_as_array(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    return call_python("scopes._numpy", "as_array", self, args, nargs, names);
}

PyObject *python_cdata(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    return call_python("scopes._cffi", "cdata", self, args, nargs, names);
}
