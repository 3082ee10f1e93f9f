#include "errors.h"

#include "debug.h"
#include "os_memory.h"
#include "segment.h"

#include <errno.h>
#include <string.h>

/* Segments with exports that a message names. */
#define NAMED_SEGMENTS 3

PyObject *error_class(PyObject *exception)
{
    return exception != NULL ? exception : PyExc_RuntimeError;
}

static PyObject *add_error(PyObject *module, const char *name, const char *doc, PyObject *bases)
{
    PyObject *exception = PyErr_NewExceptionWithDoc(name, doc, bases, NULL);
    if (exception == NULL)
        return NULL;
    if (PyModule_AddObjectRef(module, strrchr(name, '.') + 1, exception) < 0)
        Py_CLEAR(exception);
    return exception;
}

static PyObject *add_error_beside(PyObject *module, core_state *state, const char *name,
                                  const char *doc, PyObject *builtin)
{
    PyObject *bases = PyTuple_Pack(2, state->scope_error, builtin);
    if (bases == NULL)
        return NULL;
    PyObject *exception = add_error(module, name, doc, bases);
    Py_DECREF(bases);
    return exception;
}

int errors_add(PyObject *module, core_state *state)
{
    state->scope_error = add_error(module, "scopes.ScopeError",
                                   "What all errors of this library have in common, and misuse that "
                                   "has no class of its own.",
                                   NULL);
    if (state->scope_error == NULL)
        return -1;
    state->closed_error = add_error_beside(
        module, state, "scopes.ScopeClosedError",
        "The scope is closing or closed, so its memory can't be used any more.", PyExc_ValueError);
    state->thread_error = add_error_beside(
        module, state, "scopes.WrongThreadError",
        "A confined scope was used by another thread than the one that opened it.",
        PyExc_RuntimeError);
    state->in_use_error = add_error_beside(
        module, state, "scopes.ScopeInUseError",
        "close() was called while buffers or pins of the scope's segments are alive.",
        PyExc_BufferError);
    state->memory_error = add_error_beside(
        module, state, "scopes.ScopeMemoryError",
        "An allocation would pass a limit, or the system has no memory for it.", PyExc_MemoryError);
    return state->closed_error && state->thread_error && state->in_use_error && state->memory_error
               ? 0
               : -1;
}

int raise_closed(core_state *state, scope_object *scope)
{
    /* Open still where the collector has come to adopted memory before it comes to the scope. */
    PyErr_Format(error_class(state->closed_error), "the %s scope at %p is %s",
                 scope_kind_name(scope), (void *)scope,
                 scope_state(scope) == STATE_OPEN ? "being collected" : scope_state_name(scope));
    return -1;
}

int raise_inherited(core_state *state, scope_object *scope)
{
    PyErr_Format(error_class(state->scope_error),
                 "the %s scope at %p was inherited through fork and can only be read here: "
                 "open a new one in this process",
                 scope_kind_name(scope), (void *)scope);
    return -1;
}

/* The name of a thread if it is this one, as a new reference; NULL without an exception otherwise. */
static PyObject *name_if(PyObject *thread, unsigned long ident)
{
    PyObject *found = PyObject_GetAttrString(thread, "ident");
    PyObject *name = NULL;
    if (found != NULL && PyLong_Check(found) && PyLong_AsUnsignedLong(found) == ident)
        name = PyObject_GetAttrString(thread, "name");
    if (name != NULL && !PyUnicode_Check(name))
        Py_CLEAR(name);
    Py_XDECREF(found);
    PyErr_Clear();
    return name;
}

/* The name of a thread, or "unknown" where it has ended or can't be found out. Raises nothing but
 * MemoryError: it is for messages. */
static PyObject *thread_name(unsigned long ident)
{
    PyObject *name = NULL;
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *threads = threading ? PyObject_CallMethod(threading, "enumerate", NULL) : NULL;
    if (threads != NULL && !PyList_CheckExact(threads))
        Py_CLEAR(threads); /* somebody has replaced it */
    for (Py_ssize_t i = 0; threads != NULL && name == NULL && i < PyList_GET_SIZE(threads); i++) {
        PyObject *thread = Py_NewRef(PyList_GET_ITEM(threads, i));
        name = name_if(thread, ident);
        Py_DECREF(thread);
    }
    Py_XDECREF(threads);
    Py_XDECREF(threading);
    PyErr_Clear();
    return name != NULL ? name : PyUnicode_FromString("unknown");
}

int raise_wrong_thread(core_state *state, scope_object *scope)
{
    PyObject *expected = thread_name(scope->thread);
    PyObject *found = expected != NULL ? thread_name(PyThread_get_thread_ident()) : NULL;
    if (expected != NULL && found != NULL)
        PyErr_Format(error_class(state->thread_error),
                     "the confined scope at %p belongs to thread %lu (%U), "
                     "but thread %lu (%U) uses it: use a SharedScope for several threads",
                     (void *)scope, scope->thread, expected, PyThread_get_thread_ident(), found);
    Py_XDECREF(expected);
    Py_XDECREF(found);
    return -1;
}

/* "2 of the segment of 1024 bytes at 0x..., ...", and where they were taken if that is known. */
static PyObject *holders(scope_object *scope)
{
    PyObject *text = PyUnicode_FromString("");
    int named = 0;
    for (segment_object *s = scope_segments(scope); s != NULL && text != NULL; s = s->next) {
        int64_t exports = counter_get(&s->exports);
        if (exports == 0)
            continue;
        if (named == NAMED_SEGMENTS) {
            PyUnicode_AppendAndDel(&text, PyUnicode_FromString(", ..."));
            break;
        }
        PyUnicode_AppendAndDel(&text, PyUnicode_FromFormat("%s%lld of the segment of %zd bytes at %p",
                                                           named++ ? ", " : "", (long long)exports,
                                                           s->nbytes, (void *)s->address));
        debug_append_origins_lock_held(&text, s, exports);
    }
    return text;
}

int raise_in_use(core_state *state, scope_object *scope)
{
    PyObject *text;
    SCOPE_LOCK(scope);
    text = holders(scope);
    SCOPE_UNLOCK();
    if (text == NULL)
        return -1;
    PyErr_Format(error_class(state->in_use_error),
                 "the %s scope at %p can't be closed while %lld buffers or pins are alive (%S): "
                 "release them first, or open the scope with exports=\"defer\"",
                 scope_kind_name(scope), (void *)scope, (long long)scope_exports(scope), text);
    Py_DECREF(text);
    return -1;
}

int raise_too_large(core_state *state, size_t nbytes)
{
    PyErr_Format(error_class(state->memory_error),
                 "%zu bytes requested, but an address space holds at most %zu", nbytes, ARENA_MOST);
    return -1;
}

int raise_scope_limit(core_state *state, scope_object *scope, size_t nbytes)
{
    PyErr_Format(error_class(state->memory_error),
                 "%zu bytes requested, but the %s scope at %p has %lld live bytes "
                 "of the %lld that its limit allows",
                 nbytes, scope_kind_name(scope), (void *)scope, (long long)counter_get(&scope->live),
                 (long long)scope->limit);
    return -1;
}

int raise_process_limit(core_state *state, size_t nbytes, int64_t live, int64_t reclaimed)
{
    PyErr_Format(error_class(state->memory_error),
                 "%zu bytes requested, but the process has %lld live bytes "
                 "of the %lld that scopes.set_limit allows, and a collection reclaimed %lld",
                 nbytes, (long long)live, (long long)arena_cap(state->arena), (long long)reclaimed);
    return -1;
}

int raise_no_memory(core_state *state, size_t nbytes, int error, int64_t reclaimed)
{
    char reason[160];
    if (error == ENOMEM)
        os_explain_enomem(reason, sizeof(reason));
    else
        snprintf(reason, sizeof(reason), "%s", strerror(error));
    arena_figures figures;
    arena_read(state->arena, &figures);
    PyErr_Format(error_class(state->memory_error),
                 "%zu bytes requested with %lld live, but %s, and a collection reclaimed %lld", nbytes,
                 (long long)figures.live, reason, (long long)reclaimed);
    return -1;
}
