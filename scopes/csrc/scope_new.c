/* The constructors, which take their arguments without a tuple, and the way of a dead scope. */
#include "arguments.h"
#include "debug.h"
#include "errors.h"
#include "record.h"
#include "scope.h"

static scope_object *take_scope(core_state *state, PyTypeObject *type)
{
#if SCOPES_FREELISTS
    if (state->free_scope_count > 0) {
        return (scope_object *)revive(state->free_scopes[--state->free_scope_count], type);
    }
#else
    (void)state;
#endif
    return PyObject_GC_New(scope_object, type);
}

/* Field by field: compilers make a memset of this size a string instruction, which costs ten times as
 * much. */
static void set_fields(core_state *state, scope_object *scope, enum scope_kind kind)
{
    int confined = kind == KIND_CONFINED;
    scope->call = kind != KIND_IMPLICIT ? context_call : NULL;
    scope->core = state;
    atomic_store_explicit(&scope->state, STATE_OPEN, memory_order_relaxed);
    scope->token = confined ? thread_token() : 0;
    scope->generation = word_get(&state->generation);
    scope->carver = (carver){.blocks = NULL};
    scope->segments = NULL;
    counter_set(&scope->live, 0);
    scope->limit = ARENA_NO_CAP;
    scope->callbacks = scope->adoptions = scope->owner = scope->weakrefs = NULL;
    scope->origin = NULL;
    scope->thread = confined ? PyThread_get_thread_ident() : 0;
    scope->kind = (uint8_t)kind;
    counter_set(&scope->entered, 0);
    scope->defers = scope->tracked = scope->finalized = 0;
}

/* Compilers take it for too large to inline, and the call for cheap. */
__attribute__((always_inline)) static inline PyObject *new_scope(core_state *state, PyTypeObject *type,
                                                                 enum scope_kind kind)
{
    if (state == NULL || state_ready(state) < 0)
        return NULL;
    scope_object *scope = take_scope(state, type);
    if (scope == NULL)
        return NULL;
    set_fields(state, scope, kind);
    if (SCOPES_UNLIKELY(debug_is_on(state)) && debug_opened(state, scope) < 0) {
        atomic_store_explicit(&scope->state, STATE_CLOSED, memory_order_relaxed);
        Py_DECREF(scope);
        return NULL;
    }
    arena_count_scope(state->arena, 1);
    if (!SCOPES_LATE_TRACKING)
        scope_track(scope);
    EVENT(state, EVENT_OF(EVENT_OPEN, 1 + kind, 0), NULL, scope, 0);
    return (PyObject *)scope;
}

void scope_free(core_state *state, scope_object *scope)
{
    PyTypeObject *type = Py_TYPE(scope);
#if SCOPES_FREELISTS
    /* The collector calls the finalizer of an object once: one that had it can't come back. */
    if (state->free_scope_count < FREE_SCOPES && !scope->finalized && !state->closing) {
        Py_SET_TYPE(scope, &PyList_Type);
        state->free_scopes[state->free_scope_count++] = (PyObject *)scope;
    }
    else
        PyObject_GC_Del(scope);
#else
    (void)state;
    PyObject_GC_Del(scope);
#endif
    Py_DECREF(type);
}

static int set_limit(scope_object *scope, PyObject *limit)
{
    size_t nbytes;
    if (limit == NULL || limit == Py_None)
        return 0;
    if (convert_nbytes(limit, "limit", &nbytes) < 0)
        return -1;
    scope->limit = (int64_t)nbytes;
    return 0;
}

static int set_exports(scope_object *scope, PyObject *exports)
{
    if (exports == NULL)
        return 0;
    if (PyUnicode_Check(exports)) {
        if (PyUnicode_CompareWithASCIIString(exports, "defer") == 0) {
            scope->defers = 1;
            return 0;
        }
        if (PyUnicode_CompareWithASCIIString(exports, "raise") == 0)
            return 0;
    }
    PyErr_Format(PyExc_ValueError, "exports must be \"raise\" or \"defer\", found %R", exports);
    return -1;
}

static PyObject *construct_explicit(PyObject *type, enum scope_kind kind, PyObject *const *args,
                                    size_t nargsf, PyObject *names)
{
    core_state *state = type_core((PyTypeObject *)type);
    PyObject *scope = new_scope(state, (PyTypeObject *)type, kind);
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (scope == NULL || SCOPES_LIKELY(nargs == 0 && names == NULL))
        return scope;
    static const char *const keywords[] = {"limit", "exports", NULL};
    PyObject *found[2];
    if (parse_arguments(((PyTypeObject *)type)->tp_name, keywords, 0, 0, args, nargs, names, found) < 0 ||
        set_limit((scope_object *)scope, found[0]) < 0 ||
        set_exports((scope_object *)scope, found[1]) < 0) {
        scope_close(state, (scope_object *)scope, CLOSE_DEFERRING);
        Py_DECREF(scope);
        return NULL;
    }
    return scope;
}

static PyObject *construct_confined(PyObject *type, PyObject *const *args, size_t nargsf,
                                    PyObject *names)
{
    return construct_explicit(type, KIND_CONFINED, args, nargsf, names);
}

static PyObject *construct_shared(PyObject *type, PyObject *const *args, size_t nargsf,
                                  PyObject *names)
{
    return construct_explicit(type, KIND_SHARED, args, nargsf, names);
}

static PyObject *construct_implicit(PyObject *type, PyObject *const *args, size_t nargsf,
                                    PyObject *names)
{
    core_state *state = type_core((PyTypeObject *)type);
    PyObject *scope = new_scope(state, (PyTypeObject *)type, KIND_IMPLICIT);
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (scope == NULL || SCOPES_LIKELY(nargs == 0 && names == NULL))
        return scope;
    static const char *const keywords[] = {"owner", "limit", NULL};
    PyObject *found[2];
    if (parse_arguments(((PyTypeObject *)type)->tp_name, keywords, 0, 0, args, nargs, names, found) < 0 ||
        set_limit((scope_object *)scope, found[1]) < 0 ||
        scope_set_owner(state, (scope_object *)scope, found[0]) < 0) {
        Py_DECREF(scope);
        return NULL;
    }
    return scope;
}

void scope_set_constructors(core_state *state)
{
    state->confined_type->tp_vectorcall = construct_confined;
    state->shared_type->tp_vectorcall = construct_shared;
    state->implicit_type->tp_vectorcall = construct_implicit;
}
