/* Implicit scopes that live as long as an object: ImplicitScope(owner=obj).
 *
 * A list of the module owns the scope until its owner dies; the callback of the weak reference to the
 * owner is a function bound to the scope, so that nothing has to be found, or allocated, at that time.
 * The collector is not shown the list, hence takes the scopes on it for reachable. */
#include "scope.h"

static PyObject *owner_died(PyObject *self, PyObject *reference);

static PyMethodDef owner_died_method = {"owner_died", owner_died, METH_O, NULL};

/* The list is guarded by the lock of the process. */
static void put_on_list(core_state *state, scope_object *scope)
{
    Py_INCREF(scope);
    process_lock();
    scope->next_owned = state->owned;
    scope->prev_owned = NULL;
    if (state->owned != NULL)
        state->owned->prev_owned = scope;
    state->owned = scope;
    process_unlock();
}

static void take_off_list(core_state *state, scope_object *scope)
{
    process_lock();
    if (scope->prev_owned != NULL)
        scope->prev_owned->next_owned = scope->next_owned;
    else
        state->owned = scope->next_owned;
    if (scope->next_owned != NULL)
        scope->next_owned->prev_owned = scope->prev_owned;
    process_unlock();
    Py_DECREF(scope);
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
    PyObject *callback = PyCFunction_New(&owner_died_method, (PyObject *)scope);
    if (callback == NULL)
        return -1;
    scope->owner = PyWeakref_NewRef(owner, callback);
    Py_DECREF(callback);
    if (scope->owner == NULL)
        return -1;
    put_on_list(state, scope);
    return 0;
}

static PyObject *owner_died(PyObject *self, PyObject *Py_UNUSED(reference))
{
    core_state *state = scope_core(self);
    scope_object *scope = (scope_object *)self;
    scope_end_unraised(state, scope);
    SCOPE_LOCK(scope);
    PyObject *reference = scope->owner; /* it holds this function, and with it the scope */
    scope->owner = NULL;
    SCOPE_UNLOCK();
    if (reference != NULL) {
        take_off_list(state, scope);
        Py_DECREF(reference);
    }
    Py_RETURN_NONE;
}

PyObject *scope_owner(PyObject *self, void *Py_UNUSED(closure))
{
    scope_object *scope = (scope_object *)self;
    if (scope->kind == KIND_CONFINED)
        return PyLong_FromUnsignedLong(scope->thread);
    SCOPE_LOCK(scope);
    PyObject *reference = Py_XNewRef(scope->owner);
    SCOPE_UNLOCK();
    if (reference == NULL)
        Py_RETURN_NONE;
    PyObject *owner = PyObject_CallNoArgs(reference);
    Py_DECREF(reference);
    return owner;
}
