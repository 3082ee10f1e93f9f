/* Implicit scopes that live as long as an object: ImplicitScope(owner=obj). The watch of the owner holds the
 * scope, which the collector therefore takes for reachable. */
#include "scope.h"
#include "watch.h"

static void owner_died(watch_object *watch)
{
    scope_object *scope = (scope_object *)watch->scope;
    scope_end_unraised(watch->core, scope);
    SCOPE_LOCK(scope);
    PyObject *reference = scope->owner;
    scope->owner = NULL;
    SCOPE_UNLOCK();
    Py_XDECREF(reference);
}

int scope_set_owner(core_state *state, scope_object *scope, PyObject *owner)
{
    if (owner == NULL || owner == Py_None)
        return 0;
    if (watch_check(owner, "owner") < 0)
        return -1;
    scope->owner = watch_open(state, owner, owner_died, (PyObject *)scope, 0);
    return scope->owner != NULL ? 0 : -1;
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
