#include "watch.h"

static PyObject *watch_call(PyObject *self, PyObject *const *Py_UNUSED(args), size_t Py_UNUSED(nargsf),
                            PyObject *Py_UNUSED(names))
{
    watch_object *watch = (watch_object *)self;
    process_lock();
    PyObject *reference = watch->reference;
    watch->reference = NULL;
    process_unlock();
    if (reference != NULL) {
        watch->died(watch);
        Py_DECREF(reference); /* it held the watch; who calls still does */
    }
    Py_RETURN_NONE;
}

static void watch_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((watch_object *)self)->scope);
    PyObject_Free(self);
    Py_DECREF(type);
}

int watch_check(PyObject *object, const char *what)
{
    if (PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)))
        return 0;
    PyErr_Format(PyExc_TypeError, "%s must support weak references, and a '%s' does not", what,
                 Py_TYPE(object)->tp_name);
    return -1;
}

PyObject *watch_open(core_state *state, PyObject *object, void (*died)(watch_object *), PyObject *scope,
                     int64_t nbytes)
{
    if (state->watch_type == NULL)
        return state_is_gone();
    watch_object *watch = PyObject_New(watch_object, state->watch_type);
    if (watch == NULL)
        return NULL;
    watch->call = watch_call;
    watch->core = state;
    watch->reference = NULL;
    watch->died = died;
    watch->scope = Py_XNewRef(scope);
    watch->nbytes = nbytes;
    watch->generation = fork_generation();
    PyObject *reference = PyWeakref_NewRef(object, (PyObject *)watch);
    if (reference != NULL) {
        process_lock();
        watch->reference = Py_NewRef(reference);
        process_unlock();
    }
    Py_DECREF(watch); /* the reference holds it */
    return reference;
}

static PyMemberDef watch_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(watch_object, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot watch_slots[] = {
    {Py_tp_dealloc, watch_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, watch_members},
    {0, NULL},
};

static PyType_Spec watch_spec = {
    .name = "scopes._core.Watch",
    .basicsize = sizeof(watch_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = watch_slots,
};

int watch_add_type(PyObject *module, core_state *state)
{
    state->watch_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &watch_spec, NULL);
    return state->watch_type != NULL ? 0 : -1;
}
