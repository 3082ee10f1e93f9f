#include "contention.h"

#ifdef Py_GIL_DISABLED

/* Each object made counts its type, each call its method: one shared word that all threads write. Until
 * CPython 3.14 can defer such counts, such objects are made immortal instead: more references than fit
 * into the count of the owning thread are taken for an object that never dies. */
static void never_count(PyObject *object)
{
#if PY_VERSION_HEX >= 0x030E0000
    PyUnstable_Object_EnableDeferredRefcount(object);
#else
    Py_SET_REFCNT(object, (Py_ssize_t)UINT32_MAX + 1);
#endif
}

static void avoid_in_type(PyTypeObject *type)
{
    PyObject *dict = PyType_GetDict(type);
    PyObject *value;
    Py_ssize_t at = 0;
    while (dict != NULL && PyDict_Next(dict, &at, NULL, &value))
        never_count(value);
    Py_XDECREF(dict);
    never_count((PyObject *)type);
}

void contention_avoid(core_state *state)
{
    PyTypeObject *types[] = {
        state->scope_type, state->confined_type, state->shared_type,   state->implicit_type,
        state->segment_type, state->pin_type,    state->adoption_type, state->watch_type,
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        avoid_in_type(types[i]);
}

#else

void contention_avoid(core_state *Py_UNUSED(state))
{
}

#endif
