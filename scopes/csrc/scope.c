/* The scope types: what they have in common, and their tables. */
#include "scope.h"

#include "arguments.h"
#include "collect.h"
#include "debug.h"
#include "errors.h"
#include "python_part.h"
#include "record.h"
#include "segment.h"

const char *scope_kind_name(const scope_object *scope)
{
    static const char *const names[] = {"confined", "shared", "implicit"};
    return names[scope->kind];
}

const char *scope_state_name(scope_object *scope)
{
    static const char *const names[] = {"open", "closing", "closed"};
    return names[scope_state(scope)];
}

int scope_check_open(core_state *state, scope_object *scope)
{
    if (SCOPES_UNLIKELY(scope_wrong_thread(scope)))
        return raise_wrong_thread(state, scope);
    if (SCOPES_UNLIKELY(scope_state(scope) != STATE_OPEN))
        return raise_closed(state, scope);
    if (scope_is_inherited(scope))
        return raise_inherited(state, scope);
    return 0;
}

void scope_track(scope_object *scope)
{
    if (scope->tracked)
        return;
    scope->tracked = 1;
    PyObject_GC_Track(scope);
    for (segment_object *s = scope->segments; s != NULL; s = s->next)
        PyObject_GC_Track(s);
}

/* ---- allocation ------------------------------------------------------------------------------ */

PyObject *scope_allocate_segment(PyObject *self, size_t nbytes, size_t align, int zeroed)
{
    core_state *state = scope_core(self);
    scope_object *scope = (scope_object *)self;
    block *from;
    char *address;
    if (scope->kind == KIND_IMPLICIT && nbytes <= ARENA_MOST &&
        SCOPES_UNLIKELY(budget_is_over(&state->implicit_budget, (int64_t)nbytes)))
        collect_for_budget(state, nbytes);
    /* The object comes first: making it may run the collector, and that may close the scope. */
    segment_object *segment = segment_new(state);
    if (segment == NULL)
        return NULL;
    if (scope_carve(state, scope, nbytes, align, zeroed, &from, &address) < 0) {
        Py_DECREF(segment);
        return NULL;
    }
    segment_set(segment, scope, from, NULL, address, (Py_ssize_t)nbytes, 0);
    EVENT(state, EVENT_OF(EVENT_ALLOCATE, EVENT_BY_SCOPE, __builtin_ctzll(align)), segment, scope, nbytes);
    return (PyObject *)segment;
}

static PyObject *scope_allocate(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *names)
{
    static const char *const keywords[] = {"nbytes", "align", NULL};
    PyObject *found[2] = {NULL, NULL};
    size_t nbytes, align;
    if (SCOPES_LIKELY(nargs == 1 && names == NULL))
        found[0] = args[0];
    else if (parse_arguments("allocate", keywords, 1, 1, args, nargs, names, found) < 0)
        return NULL;
    if (convert_nbytes(found[0], "nbytes", &nbytes) < 0 || convert_align(found[1], &align) < 0)
        return NULL;
    return scope_allocate_segment(self, nbytes, align, 1);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static PyObject *scope_closed(PyObject *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(scope_state((scope_object *)self) != STATE_OPEN);
}

static PyObject *scope_kind(PyObject *self, void *Py_UNUSED(closure))
{
    return PyUnicode_InternFromString(scope_kind_name((scope_object *)self));
}

static const char *class_name(const scope_object *scope)
{
    static const char *const names[] = {"ConfinedScope", "SharedScope", "ImplicitScope"};
    return names[scope->kind];
}

static PyObject *scope_repr(PyObject *self)
{
    scope_object *scope = (scope_object *)self;
    return PyUnicode_FromFormat("<%s %s, %lld bytes, at %p>", class_name(scope),
                                scope_state_name(scope), (long long)counter_get(&scope->live), self);
}

/* ---- life ------------------------------------------------------------------------------------ */

static PyObject *scope_new_abstract(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    core_state *state = type_core(type);
    if (state == NULL)
        return NULL;
    if (type == state->scope_type) {
        PyErr_SetString(PyExc_TypeError, "Scope is abstract: use ConfinedScope, SharedScope or ImplicitScope");
        return NULL;
    }
    /* __new__ called by hand, which has its arguments in a tuple and a dict. */
    PyObject *none = PyTuple_New(0);
    if (none == NULL)
        return NULL;
    /* untaken: Python always gives a tuple; C may give nothing */
    PyObject *scope = PyVectorcall_Call((PyObject *)type, args != NULL ? args : none, kwargs);
    Py_DECREF(none);
    return scope;
}

static int scope_traverse(PyObject *self, visitproc visit, void *arg)
{
    scope_object *scope = (scope_object *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(scope->callbacks);
    Py_VISIT(scope->adoptions);
    Py_VISIT(scope->owner);
    return 0;
}

static int scope_clear(PyObject *self)
{
    scope_object *scope = (scope_object *)self;
    Py_CLEAR(scope->callbacks);
    Py_CLEAR(scope->adoptions);
    Py_CLEAR(scope->owner);
    return 0;
}

static void scope_dealloc(PyObject *self)
{
    core_state *state = scope_core(self);
    scope_object *scope = (scope_object *)self;
    if (SCOPES_UNLIKELY(scope_state(scope) == STATE_OPEN)) {
        if (scope->kind == KIND_IMPLICIT && !scope->callbacks && !scope->adoptions) {
            if (scope->tracked) /* untaken: with a GIL, callbacks and adoptions alone have it tracked */
                PyObject_GC_UnTrack(self);
            scope_end_unraised(state, scope); /* runs no Python code: nothing can revive it */
        }
        else {
            scope_track(scope); /* a finalizer may revive it, and what lives on may be in cycles */
            if (PyObject_CallFinalizerFromDealloc(self) < 0)
                return;
        }
    }
    if (scope->tracked)
        PyObject_GC_UnTrack(self);
    if (SCOPES_UNLIKELY(scope->weakrefs != NULL || scope->origin != NULL)) {
        PyObject_ClearWeakRefs(self);
        if (scope->origin != NULL)
            debug_forget(state, scope);
    }
    scope_clear(self);
    if (SCOPES_UNLIKELY(arena_has_pending(state->arena)))
        state_unmap_pending(state, 0);
    EVENT(state, EVENT_DROP_SCOPE, NULL, scope, 0);
    scope_free(state, scope);
}

/* ---- tables ---------------------------------------------------------------------------------- */

PyDoc_STRVAR(allocate_doc,
"allocate($self, nbytes, *, align=16)\n--\n\n"
"A zeroed segment of nbytes bytes, which lives until the scope is closed.\n\n"
"nbytes may be 0. align is a power of two up to 2 MiB. Raises ScopeClosedError, WrongThreadError\n"
"(confined scopes) and ScopeMemoryError (a limit, or no memory).\n\n"
">>> with ConfinedScope() as scope:\n"
"...     len(scope.allocate(1024))\n"
"1024");
PyDoc_STRVAR(adopt_doc,
"adopt($self, address, nbytes, release=None)\n--\n\n"
"A segment over foreign memory, under the rules of this scope. Counts as no allocation.\n\n"
"release(address) is called once, on close; but where the segment's buffer has ever been taken by\n"
"something that need not tell when it is done (np.ndarray(buffer=...) does not), it is called when\n"
"the scope is closed and the last segment of this memory is gone. The memory has to stay valid\n"
"until then.\n\n"
">>> import ctypes\n"
">>> number = ctypes.c_uint32(7)\n"
">>> with ConfinedScope() as scope:\n"
"...     scope.adopt(ctypes.addressof(number), 4)[0]\n"
"7");
PyDoc_STRVAR(callback_doc,
"callback($self, fn, /, *args, **kwargs)\n--\n\n"
"Registers fn(*args, **kwargs) to be called when the scope is closed, and returns fn.\n\n"
"The last one registered is called first. All are called, also when one raises; then the last\n"
"exception propagates, with the others as its context, as contextlib.ExitStack does it.\n\n"
">>> scope = SharedScope()\n"
">>> released = scope.callback(print, 'released')\n"
">>> scope.close()\n"
"released");
PyDoc_STRVAR(close_doc,
"close($self, /)\n--\n\n"
"Runs the callbacks and gives the memory back; its segments raise ScopeClosedError from now on.\n\n"
"A second close, or one while another is at work, returns at once. Raises ScopeInUseError, with\n"
"nothing done, while buffers or pins are alive (unless exports=\"defer\"), and WrongThreadError.\n\n"
">>> scope = ConfinedScope()\n"
">>> scope.close()\n"
">>> scope.closed\n"
"True");
PyDoc_STRVAR(zeros_doc,
"zeros($self, shape, dtype='float')\n--\n\n"
"A zeroed NumPy array of the given shape in the scope, 64-byte aligned.\n\n"
"The array holds a counted export: close() raises while it is alive. Object dtypes raise TypeError.\n\n"
">>> with ConfinedScope(exports='defer') as scope:\n"
"...     int(scope.zeros((2, 3), 'i4').sum())\n"
"0");
PyDoc_STRVAR(empty_doc,
"empty($self, shape, dtype='float')\n--\n\n"
"As zeros(), but with whatever bytes the memory held, as numpy.empty.\n\n"
">>> with ConfinedScope(exports='defer') as scope:\n"
"...     scope.empty((2, 3), 'u1').shape\n"
"(2, 3)");
PyDoc_STRVAR(array_doc,
"array($self, obj, dtype=None)\n--\n\n"
"A copy of obj as a NumPy array in the scope, 64-byte aligned; a counted export, as of zeros().\n\n"
">>> with ConfinedScope(exports='defer') as scope:\n"
"...     scope.array([1, 2, 3]).tolist()\n"
"[1, 2, 3]");
PyDoc_STRVAR(statistics_doc,
"statistics($self, /)\n--\n\n"
"A ScopeStatistics record of this scope: live_bytes, segments, exports, callbacks, limit.\n\n"
">>> with ConfinedScope() as scope:\n"
"...     segment = scope.allocate(100)\n"
"...     scope.statistics().live_bytes\n"
"100");

/* In each type, not only in the base: calls of a method that the very type has are specialized. */
#define SCOPE_METHODS \
    {"allocate", (PyCFunction)(void (*)(void))scope_allocate, METH_FASTCALL | METH_KEYWORDS, allocate_doc}, \
    {"adopt", (PyCFunction)(void (*)(void))scope_adopt, METH_FASTCALL | METH_KEYWORDS, adopt_doc}, \
    {"callback", (PyCFunction)(void (*)(void))scope_callback, METH_FASTCALL | METH_KEYWORDS, callback_doc}, \
    {"zeros", (PyCFunction)(void (*)(void))python_zeros, METH_FASTCALL | METH_KEYWORDS, zeros_doc}, \
    {"empty", (PyCFunction)(void (*)(void))python_empty, METH_FASTCALL | METH_KEYWORDS, empty_doc}, \
    {"array", (PyCFunction)(void (*)(void))python_array, METH_FASTCALL | METH_KEYWORDS, array_doc}, \
    {"statistics", scope_statistics, METH_NOARGS, statistics_doc}

static PyMethodDef scope_methods[] = {
    SCOPE_METHODS,
    {NULL, NULL, 0, NULL},
};

static PyMethodDef explicit_methods[] = {
    {"close", scope_close_method, METH_NOARGS, close_doc},
    SCOPE_METHODS,
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef scope_getset[] = {
    {"closed", scope_closed, NULL, "True once close() has begun.", NULL},
    {"kind", scope_kind, NULL, "\"confined\", \"shared\" or \"implicit\".", NULL},
    {"owner", scope_owner, NULL,
     "Confined: the threading.get_ident() of its thread. Implicit: the owner, None without one or "
     "after its death. Shared: None.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef scope_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(scope_object, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMemberDef explicit_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(scope_object, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(scope_doc,
"A lifetime of native memory: what was allocated in it goes back when it ends.\n\n"
"Abstract; the scopes are ConfinedScope, SharedScope and ImplicitScope. Use it for isinstance.");
PyDoc_STRVAR(confined_doc,
"ConfinedScope(*, limit=None, exports='raise')\n--\n\n"
"A scope that is used and closed by the thread that opened it; other threads get WrongThreadError.\n\n"
"Memory lives until close() or the end of the with statement. limit is a cap of its live bytes.\n"
"exports tells what close() does while buffers or pins of segments are alive: \"raise\"\n"
"ScopeInUseError, or \"defer\", and then each block of memory goes back with its last export.\n"
"One that is dropped open gives a ResourceWarning, and its memory is freed.\n\n"
">>> with ConfinedScope() as scope:\n"
"...     segment = scope.allocate(4)\n"
"...     segment[0] = 255\n"
"...     bytes(segment)\n"
"b'\\xff\\x00\\x00\\x00'");
PyDoc_STRVAR(shared_doc,
"SharedScope(*, limit=None, exports='raise')\n--\n\n"
"A scope that any thread may use and close; of several closes exactly one does it.\n\n"
"Arguments and lifetime are those of ConfinedScope.\n\n"
">>> import threading\n"
">>> scope = SharedScope()\n"
">>> thread = threading.Thread(target=scope.close)\n"
">>> thread.start(); thread.join(); scope.closed\n"
"True");
PyDoc_STRVAR(implicit_doc,
"ImplicitScope(*, owner=None, limit=None)\n--\n\n"
"A scope that ends by itself, when it and all its segments are unreachable: it has no close().\n\n"
"With an owner, the scope and its memory are kept until the owner dies, and closed then; the owner\n"
"is not kept alive. It must support weak references, else TypeError. Freeing waits for the reference\n"
"count or, in cycles, for the collector; see set_implicit_budget() for how the bytes are bounded.\n\n"
">>> segment = ImplicitScope().allocate(1024)\n"
">>> segment.scope.kind\n"
"'implicit'");

/* A heap type inherits none of these. */
#define LIFE_SLOTS                                                                                     \
    {Py_tp_dealloc, scope_dealloc}, {Py_tp_traverse, scope_traverse}, {Py_tp_clear, scope_clear},      \
    {                                                                                                  \
        Py_tp_finalize, scope_finalize                                                                 \
    }

static PyType_Slot scope_slots[] = {
    LIFE_SLOTS,
    {Py_tp_doc, (void *)scope_doc},
    {Py_tp_new, scope_new_abstract},
    {Py_tp_repr, scope_repr},
    {Py_tp_methods, scope_methods},
    {Py_tp_getset, scope_getset},
    {Py_tp_members, scope_members},
    {0, NULL},
};

static PyType_Slot confined_slots[] = {
    LIFE_SLOTS,
    {Py_tp_doc, (void *)confined_doc},
    {Py_tp_methods, explicit_methods},
    {Py_tp_members, explicit_members},
    {Py_tp_call, PyVectorcall_Call},
    {0, NULL},
};

static PyType_Slot shared_slots[] = {
    LIFE_SLOTS,
    {Py_tp_doc, (void *)shared_doc},
    {Py_tp_methods, explicit_methods},
    {Py_tp_members, explicit_members},
    {Py_tp_call, PyVectorcall_Call},
    {0, NULL},
};

static PyType_Slot implicit_slots[] = {
    LIFE_SLOTS,
    {Py_tp_doc, (void *)implicit_doc},
    {Py_tp_methods, scope_methods},
    {0, NULL},
};

#define SCOPE_FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC)

static PyTypeObject *add_type(PyObject *module, PyTypeObject *base, const char *name,
                              PyType_Slot *slots, unsigned long flags)
{
    PyType_Spec spec = {
        .name = name,
        .basicsize = sizeof(scope_object),
        .flags = (unsigned int)(SCOPE_FLAGS | flags),
        .slots = slots,
    };
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, (PyObject *)base);
    if (type != NULL && PyModule_AddType(module, type) < 0)
        Py_CLEAR(type);
    return type;
}

int scope_add_types(PyObject *module, core_state *state)
{
    PyTypeObject *base = add_type(module, NULL, "scopes.Scope", scope_slots, Py_TPFLAGS_BASETYPE);
    state->scope_type = base;
    if (base == NULL)
        return -1;
    unsigned long explicit = Py_TPFLAGS_HAVE_VECTORCALL;
    state->confined_type = add_type(module, base, "scopes.ConfinedScope", confined_slots, explicit);
    state->shared_type = add_type(module, base, "scopes.SharedScope", shared_slots, explicit);
    state->implicit_type = add_type(module, base, "scopes.ImplicitScope", implicit_slots, 0);
    if (!state->confined_type || !state->shared_type || !state->implicit_type)
        return -1;
    /* Only C may derive from it: each kind is final. */
    base->tp_flags &= ~Py_TPFLAGS_BASETYPE;
    if (context_install(state, state->confined_type) < 0 ||
        context_install(state, state->shared_type) < 0)
        return -1;
    scope_set_constructors(state);
    base->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
    state->confined_type->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
    state->shared_type->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
    state->implicit_type->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
    return 0;
}
