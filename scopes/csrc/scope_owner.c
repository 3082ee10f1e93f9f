/* Implicit scopes that live as long as an object: ImplicitScope(owner=obj).
 *
 * The module's dict of owners keeps the scope alive, under the address of the weak reference to the
 * owner, whose callback takes it out and closes it. */
#include "scope.h"

static PyObject *key_of(PyObject *reference)
{
    return PyLong_FromVoidPtr(reference);
}

int scope_set_owner(core_state *state, scope_object *scope, PyObject *owner)
{
    if (owner == NULL || owner == Py_None)
        return 0;
    if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(owner))) {
        PyErr_Format(PyExc_TypeError, "owner must support weak references, and a '%s' does not",
                     Py_TYPE(owner)->tp_name);
        return -1;
    }
    if (state->owners == NULL) {
        state_is_gone();
        return -1;
    }
    PyObject *reference = PyWeakref_NewRef(owner, state->owner_died);
    PyObject *key = reference != NULL ? key_of(reference) : NULL;
    int result = key != NULL ? PyDict_SetItem(state->owners, key, (PyObject *)scope) : -1;
    Py_XDECREF(key);
    if (result == 0)
        scope->owner = reference;
    else
        Py_XDECREF(reference);
    return result;
}

PyObject *scope_owner_died(PyObject *module, PyObject *reference)
{
    core_state *state = module_core(module);
    if (state->owners == NULL)
        Py_RETURN_NONE;
    PyObject *key = key_of(reference);
    if (key == NULL)
        return NULL;
    PyObject *scope = PyDict_GetItemWithError(state->owners, key);
    if (scope != NULL && Py_IS_TYPE(scope, state->implicit_type)) {
        Py_INCREF(scope);
        if (PyDict_DelItem(state->owners, key) < 0)
            PyErr_Clear();
        scope_end_unraised(state, (scope_object *)scope);
        Py_DECREF(scope);
    }
    Py_DECREF(key);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

PyObject *scope_owner(PyObject *self, void *Py_UNUSED(closure))
{
    scope_object *scope = (scope_object *)self;
    if (scope->kind == KIND_CONFINED)
        return PyLong_FromUnsignedLong(scope->thread);
    PyObject *owner = NULL;
    Py_BEGIN_CRITICAL_SECTION(scope);
    if (scope->owner != NULL)
        owner = PyObject_CallNoArgs(scope->owner);
    Py_END_CRITICAL_SECTION();
    if (owner == NULL && !PyErr_Occurred())
        Py_RETURN_NONE;
    return owner;
}
