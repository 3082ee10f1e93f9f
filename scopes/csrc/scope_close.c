/* The end of a scope: close(), the with statement, callbacks and the finalizer. */
#include "arguments.h"
#include "debug.h"
#include "errors.h"
#include "record.h"
#include "scope.h"
#include "segment.h"

/* Above this, pages are unmapped without the GIL, which then takes about a millisecond at least. */
#define UNMAP_ALONE_BYTES ((size_t)16 * 1024 * 1024)

void state_unmap_pending(core_state *state, int may_leave_gil)
{
    arena *a = state->arena;
    size_t total = 0;
    block *pending = arena_pending(a, &total);
    block *refused;
    if (may_leave_gil && total >= UNMAP_ALONE_BYTES) {
        Py_BEGIN_ALLOW_THREADS
        refused = arena_unmap(pending);
        Py_END_ALLOW_THREADS
    }
    else
        refused = arena_unmap(pending);
    arena_take_back(a, refused);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

int scope_register(core_state *state, scope_object *scope, PyObject **stack, PyObject *item)
{
    int result;
    /* Made before the check: it may run the collector, and that may close the scope. */
    PyObject *entry = PyTuple_New(2);
    if (entry == NULL)
        return -1;
    PyTuple_SET_ITEM(entry, 0, Py_NewRef(item));
    SCOPE_LOCK(scope);
    result = scope_check_open(state, scope);
    if (result == 0) {
        PyTuple_SET_ITEM(entry, 1, *stack != NULL ? *stack : Py_NewRef(Py_None));
        *stack = Py_NewRef(entry);
        scope_track(scope);
    }
    SCOPE_UNLOCK();
    Py_DECREF(entry);
    return result;
}

PyObject *scope_callback(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    core_state *state = scope_core(self);
    scope_object *scope = (scope_object *)self;
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "callback() missing required argument 'fn'");
        return NULL;
    }
    if (!PyCallable_Check(args[0])) {
        PyErr_Format(PyExc_TypeError, "callback() takes a callable first, found %R", args[0]);
        return NULL;
    }
    /* (fn, positional and keyword values, names) in one tuple: the call needs no dict. */
    Py_ssize_t named = names != NULL ? PyTuple_GET_SIZE(names) : 0;
    PyObject *call = PyTuple_New(nargs + named + 1);
    if (call == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < nargs + named; i++)
        PyTuple_SET_ITEM(call, i, Py_NewRef(args[i]));
    PyTuple_SET_ITEM(call, nargs + named, Py_NewRef(names != NULL ? names : Py_None));
    int result = scope_register(state, scope, &scope->callbacks, call);
    Py_DECREF(call);
    return result == 0 ? Py_NewRef(args[0]) : NULL;
}

Py_ssize_t scope_callbacks_lock_held(const scope_object *scope)
{
    Py_ssize_t count = 0;
    for (PyObject *at = scope->callbacks; at != NULL && at != Py_None; at = PyTuple_GET_ITEM(at, 1))
        count++;
    return count;
}

static int run_callback(PyObject *call)
{
    Py_ssize_t size = PyTuple_GET_SIZE(call);
    PyObject *names = PyTuple_GET_ITEM(call, size - 1);
    Py_ssize_t named = names != Py_None ? PyTuple_GET_SIZE(names) : 0;
    PyObject **items = ((PyTupleObject *)call)->ob_item;
    PyObject *result = PyObject_Vectorcall(items[0], items + 1, (size_t)(size - 2 - named),
                                           names != Py_None ? names : NULL);
    Py_XDECREF(result);
    return result != NULL ? 0 : -1;
}

/* Takes the exception that is set, normalized and with its traceback. */
static PyObject *take_exception(void)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != NULL)
        PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}

static void set_exception(PyObject *value)
{
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(value)), value, PyException_GetTraceback(value));
}

/* Contexts that are followed; a chain that is longer, or a ring, is left as it is. */
#define CHAIN_MOST 1000

/* The exception in the chain of contexts of start whose own context is end. Owned; NULL if none is. */
static PyObject *before_in_chain(PyObject *start, PyObject *end)
{
    PyObject *at = Py_NewRef(start);
    for (int i = 0; i < CHAIN_MOST; i++) {
        PyObject *context = PyException_GetContext(at);
        Py_XDECREF(context); /* at holds it */
        if (context == end)
            return at;
        if (context == NULL)
            break;
        Py_SETREF(at, Py_NewRef(context));
    }
    Py_DECREF(at);
    return NULL;
}

/* Puts earlier into the contexts of the exception that is set, as if that one had been raised while
 * earlier was handled: before the exception that is being handled around close(), else at the end.
 * Takes over earlier (may be NULL). */
static void chain(PyObject *earlier)
{
    if (earlier == NULL)
        return;
    PyObject *last = take_exception();
    PyObject *handled = PyErr_GetHandledException();
    PyObject *end = NULL;
    PyObject *known = last != earlier ? before_in_chain(last, earlier) : NULL;
    if (last != earlier && known == NULL) {
        PyObject *ring = before_in_chain(earlier, last);
        if (ring != NULL)
            PyException_SetContext(ring, NULL); /* raised again: it can't be the context of itself */
        Py_XDECREF(ring);
        if (handled != NULL)
            end = before_in_chain(last, handled);
        if (end == NULL)
            end = before_in_chain(last, NULL);
    }
    if (end != NULL)
        PyException_SetContext(end, Py_NewRef(earlier));
    Py_XDECREF(end);
    Py_XDECREF(known);
    Py_XDECREF(handled);
    Py_DECREF(earlier);
    set_exception(last);
}

/* Runs what a step of the end has to run, the last one first, all of them; then raises the last
 * exception with the earlier ones as its context, error (may be NULL, taken over) the first of them. In a
 * finalizer nobody can take an exception: each is handed to sys.unraisablehook instead. Takes over the
 * stack, which may be NULL. */
static int run_all(scope_object *scope, PyObject *stack, int (*run)(PyObject *), int in_finalizer,
                   PyObject *error)
{
    /* One of them may fork: in the child the others are the parent's to run. */
    while (stack != NULL && stack != Py_None && !scope_is_inherited(scope)) {
        PyObject *item = Py_NewRef(PyTuple_GET_ITEM(stack, 0));
        Py_SETREF(stack, Py_NewRef(PyTuple_GET_ITEM(stack, 1)));
        if (run(item) < 0) {
            if (in_finalizer)
                PyErr_WriteUnraisable(PyTuple_Check(item) ? PyTuple_GET_ITEM(item, 0) : item);
            else {
                chain(error);
                error = take_exception();
            }
        }
        Py_DECREF(item);
    }
    Py_XDECREF(stack);
    if (error == NULL)
        return 0;
    set_exception(error);
    return -1;
}

/* ---- close ----------------------------------------------------------------------------------- */

enum began { BEGAN, WAS_CLOSED, IS_IN_USE };

/* open -> closing, for the one caller that wins. */
static enum began begin(scope_object *scope, int defer)
{
    enum began began = BEGAN;
    SCOPE_LOCK(scope);
    uint64_t found = word_get(&scope->state);
    do {
        if ((found & STATE_MASK) != STATE_OPEN)
            began = WAS_CLOSED;
        else if (found >= ONE_EXPORT && !defer)
            began = IS_IN_USE;
        else
            began = BEGAN;
        /* untaken: under the GIL nobody comes between */
    } while (began == BEGAN && !word_replace(&scope->state, &found, found | STATE_CLOSING));
    SCOPE_UNLOCK();
    return began;
}

/* closing -> closed: the memory goes back. */
static void finish(core_state *state, scope_object *scope)
{
    SCOPE_LOCK(scope);
    word_add(&scope->state, STATE_CLOSED - STATE_CLOSING);
    if (!scope_is_inherited(scope)) {
        scope_give_back_lock_held(state, scope);
        arena_count_scope(state->arena, -1);
    }
    SCOPE_UNLOCK();
}

/* What scopes with callbacks or adopted memory have to do between closing and closed. */
static int run_endings(scope_object *scope, int in_finalizer)
{
    PyObject *callbacks, *adoptions;
    EVENT(scope->core, EVENT_CLOSING, NULL, scope, 0);
    SCOPE_LOCK(scope);
    callbacks = scope->callbacks;
    adoptions = scope->adoptions;
    scope->callbacks = scope->adoptions = NULL;
    SCOPE_UNLOCK();
    PyObject *error = NULL;
    if (run_all(scope, callbacks, run_callback, in_finalizer, NULL) < 0)
        error = take_exception();
    return run_all(scope, adoptions, adoption_release_at_close, in_finalizer, error);
}

int scope_close(core_state *state, scope_object *scope, enum close_how how)
{
    int defer = how == CLOSE_DEFERRING || scope->defers;
    if (SCOPES_UNLIKELY(scope_wrong_thread(scope) && scope_state(scope) == STATE_OPEN))
        return raise_wrong_thread(state, scope);
    enum began began = begin(scope, defer);
    if (began == WAS_CLOSED)
        return 0;
    if (began == IS_IN_USE)
        return raise_in_use(state, scope);
    int result = 0;
    if (SCOPES_UNLIKELY(scope->callbacks != NULL || scope->adoptions != NULL))
        result = run_endings(scope, 0);
    EVENT(state, EVENT_CLOSE, NULL, scope, 0);
    finish(state, scope);
    if (SCOPES_UNLIKELY(arena_has_pending(state->arena)))
        state_unmap_pending(state, 1);
    return result;
}

PyObject *scope_close_method(PyObject *self, PyObject *Py_UNUSED(unused))
{
    if (scope_close(scope_core(self), (scope_object *)self, CLOSE_AS_SET) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- with ------------------------------------------------------------------------------------ */

PyObject *scope_enter(core_state *state, scope_object *scope)
{
    if (scope_check_open(state, scope) < 0)
        return NULL;
    if (counter_exchange(&scope->entered, 1) != 0) {
        PyErr_Format(error_class(state->scope_error),
                     "the %s scope at %p is already in a with statement, and a scope is single-use: "
                     "open one for each with statement",
                     scope_kind_name(scope), (void *)scope);
        return NULL;
    }
    return Py_NewRef(scope);
}

/* Tells on the exception of the with body what close() would have raised. */
static void add_note(PyObject *exception)
{
    PyObject *error = take_exception();
    PyObject *note = PyUnicode_FromFormat("while the scope was closed: %R", error);
    if (note == NULL) { /* its repr() raised */
        PyErr_Clear();
        note = PyUnicode_FromFormat("while the scope was closed: %s", Py_TYPE(error)->tp_name);
    }
    PyObject *result = note ? PyObject_CallMethod(exception, "add_note", "O", note) : NULL;
    if (result == NULL)
        PyErr_Clear(); /* the exception of the body is what counts */
    Py_XDECREF(result);
    Py_XDECREF(note);
    Py_XDECREF(error);
}

PyObject *scope_exit(core_state *state, scope_object *scope, PyObject *const *exception)
{
    int raised = exception[0] != Py_None;
    if (scope_close(state, scope, raised ? CLOSE_DEFERRING : CLOSE_AS_SET) < 0) {
        if (!raised)
            return NULL;
        if (exception[1] != Py_None)
            add_note(exception[1]);
        else
            PyErr_Clear();
    }
    Py_RETURN_FALSE;
}

/* ---- finalizer ------------------------------------------------------------------------------- */

void scope_end_unraised(core_state *state, scope_object *scope)
{
    if (begin(scope, 1) != BEGAN)
        return;
    if (SCOPES_UNLIKELY(scope->callbacks != NULL || scope->adoptions != NULL))
        run_endings(scope, 1);
    EVENT(state, EVENT_OF(EVENT_CLOSE, 1, 0), NULL, scope, 0);
    finish(state, scope);
    if (SCOPES_UNLIKELY(arena_has_pending(state->arena)))
        state_unmap_pending(state, 0);
}

static int warn_never_closed(scope_object *scope)
{
    PyObject *opened = debug_opening_text(scope);
    int result = opened != NULL ? PyErr_ResourceWarning((PyObject *)scope, 1, "%R was never closed%U",
                                                        (PyObject *)scope, opened)
                                : -1;
    Py_XDECREF(opened);
    return result;
}

/* Closes a scope that nobody can reach any more: no thread check, nothing of ours is raised. */
void scope_finalize(PyObject *self)
{
    core_state *state = scope_core(self);
    scope_object *scope = (scope_object *)self;
    scope->finalized = 1;
    if (scope_state(scope) != STATE_OPEN)
        return;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (scope->kind != KIND_IMPLICIT && !scope_is_inherited(scope) && warn_never_closed(scope) < 0) {
        /* Warnings are errors here, as for files. */
        if (PyErr_ExceptionMatches(PyExc_Warning))
            PyErr_WriteUnraisable(self);
        else
            PyErr_Clear();
    }
    scope_end_unraised(state, scope);
    PyErr_Restore(type, value, trace);
}
