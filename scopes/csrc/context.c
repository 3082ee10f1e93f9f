/* __enter__ and __exit__ of the explicit scopes, without bound methods.
 *
 * Before CPython 3.14 a with statement looks both up before the body and so makes two bound methods,
 * which the collector tracks: a third of the cost of a short scope. These descriptors hand back the
 * scope itself; called with nothing it enters, called with the three values of an exception it exits.
 * On the class they are ordinary functions of the scope, which is how contextlib.ExitStack uses them. */
#include "scope.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    const char *name;
    const char *signature;
    const char *doc;
    Py_ssize_t arity; /* arguments besides the scope */
} context_object;

#define ENTER_ARITY 0
#define EXIT_ARITY 3

static PyObject *call_with(PyObject *scope, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    core_state *state = scope_core(scope);
    if (names == NULL || PyTuple_GET_SIZE(names) == 0) {
        if (nargs == ENTER_ARITY)
            return scope_enter(state, (scope_object *)scope);
        if (nargs == EXIT_ARITY)
            return scope_exit(state, (scope_object *)scope, args);
    }
    PyErr_Format(PyExc_TypeError,
                 "a scope is called by the with statement alone: expected 0 arguments (__enter__) "
                 "or 3 (__exit__), found %zd",
                 nargs + (names != NULL ? PyTuple_GET_SIZE(names) : 0));
    return NULL;
}

PyObject *context_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return call_with(self, args, PyVectorcall_NARGS(nargsf), names);
}

static PyObject *call_on_class(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    context_object *context = (context_object *)self;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    core_state *state = type_core(Py_TYPE(self));
    if (state == NULL)
        return NULL;
    if (nargs < 1 || (!Py_IS_TYPE(args[0], state->confined_type) &&
                      !Py_IS_TYPE(args[0], state->shared_type))) {
        PyErr_Format(PyExc_TypeError, "%s() needs a ConfinedScope or SharedScope, found %s%s",
                     context->name, nargs < 1 ? "nothing" : "an object of type ",
                     nargs < 1 ? "" : Py_TYPE(args[0])->tp_name);
        return NULL;
    }
    if (nargs - 1 != context->arity || (names != NULL && PyTuple_GET_SIZE(names) > 0)) {
        PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, found %zd", context->name,
                     context->arity, nargs - 1);
        return NULL;
    }
    return call_with(args[0], args + 1, nargs - 1, NULL);
}

static PyObject *context_get(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type))
{
    return Py_NewRef(object != NULL ? object : self);
}

static PyObject *context_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<method '%s' of scopes>", ((context_object *)self)->name);
}

static int context_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void context_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMemberDef context_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(context_object, call), READONLY, NULL},
    {"__name__", T_STRING, offsetof(context_object, name), READONLY, NULL},
    {"__qualname__", T_STRING, offsetof(context_object, name), READONLY, NULL},
    {"__text_signature__", T_STRING, offsetof(context_object, signature), READONLY, NULL},
    {"__doc__", T_STRING, offsetof(context_object, doc), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot context_slots[] = {
    {Py_tp_descr_get, context_get},       {Py_tp_call, PyVectorcall_Call},
    {Py_tp_repr, context_repr},           {Py_tp_traverse, context_traverse},
    {Py_tp_dealloc, context_dealloc},     {Py_tp_members, context_members},
    {0, NULL},
};

static PyType_Spec context_spec = {
    .name = "scopes._core.ContextMethod",
    .basicsize = sizeof(context_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = context_slots,
};

int context_add_type(PyObject *module, core_state *state)
{
    state->context_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &context_spec, NULL);
    return state->context_type != NULL ? 0 : -1;
}

static int install(core_state *state, PyTypeObject *type, context_object values)
{
    context_object *context = PyObject_GC_New(context_object, state->context_type);
    if (context == NULL)
        return -1;
    context->call = call_on_class;
    context->name = values.name;
    context->signature = values.signature;
    context->doc = values.doc;
    context->arity = values.arity;
    PyObject_GC_Track(context);
    int result = PyObject_SetAttrString((PyObject *)type, values.name, (PyObject *)context);
    Py_DECREF(context);
    return result;
}

int context_install(core_state *state, PyTypeObject *type)
{
    context_object enter = {
        .name = "__enter__",
        .signature = "($self, /)",
        .doc = "Enters the scope, once; a scope is single-use.",
        .arity = ENTER_ARITY,
    };
    context_object leave = {
        .name = "__exit__",
        .signature = "($self, exc_type, exc_value, traceback, /)",
        .doc = "Closes the scope. Where the body raised, exports are deferred and that exception stays "
               "the one that propagates; what close() would have raised becomes a note on it.",
        .arity = EXIT_ARITY,
    };
    return install(state, type, enter) < 0 ? -1 : install(state, type, leave);
}
