#include "arguments.h"

#define DEFAULT_ALIGN 16

static int keyword_index(const char *const *keywords, PyObject *name)
{
    for (int i = 0; keywords[i] != NULL; i++) {
        if (PyUnicode_CompareWithASCIIString(name, keywords[i]) == 0)
            return i;
    }
    return -1;
}

/* "scopes.ConfinedScope" is called ConfinedScope in messages. */
static const char *short_name(const char *function)
{
    const char *dot = strrchr(function, '.');
    return dot != NULL ? dot + 1 : function;
}

int parse_arguments(const char *function, const char *const *keywords, int positional, int required,
                    PyObject *const *args, Py_ssize_t nargs, PyObject *names, PyObject **found)
{
    function = short_name(function);
    for (int i = 0; keywords[i] != NULL; i++)
        found[i] = NULL;
    if (nargs > positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional arguments, found %zd", function,
                     positional, nargs);
        return -1;
    }
    for (Py_ssize_t i = 0; i < nargs; i++)
        found[i] = args[i];
    Py_ssize_t named = names != NULL ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        int at = keyword_index(keywords, name);
        if (at < 0 || found[at] != NULL) {
            PyErr_Format(PyExc_TypeError,
                         at < 0 ? "%s() got an unexpected keyword argument %R"
                                : "%s() got multiple values for argument %R",
                         function, name);
            return -1;
        }
        found[at] = args[nargs + i];
    }
    for (int i = 0; i < required; i++) {
        if (found[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s'", function, keywords[i]);
            return -1;
        }
    }
    return 0;
}

int convert_nbytes(PyObject *value, const char *what, size_t *nbytes)
{
    Py_ssize_t found = PyLong_CheckExact(value) ? PyLong_AsSsize_t(value)
                                                : PyNumber_AsSsize_t(value, PyExc_OverflowError);
    if (found == -1 && PyErr_Occurred())
        return -1;
    if (found < 0) {
        PyErr_Format(PyExc_ValueError, "%s must be 0 or more, found %zd", what, found);
        return -1;
    }
    *nbytes = (size_t)found;
    return 0;
}

int convert_align(PyObject *value, size_t *align)
{
    *align = DEFAULT_ALIGN;
    if (value == NULL)
        return 0;
    Py_ssize_t found = PyNumber_AsSsize_t(value, PyExc_OverflowError);
    if (found == -1 && PyErr_Occurred())
        return -1;
    if (found < 1 || (size_t)found > ARENA_ALIGN_MOST || (found & (found - 1)) != 0) {
        PyErr_Format(PyExc_ValueError, "align must be a power of two from 1 to %zu, found %zd",
                     ARENA_ALIGN_MOST, found);
        return -1;
    }
    *align = (size_t)found;
    return 0;
}
