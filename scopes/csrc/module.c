/* The module scopes._core: its state, its functions, and what happens to it on fork. */
#include "arguments.h"
#include "collect.h"
#include "contention.h"
#include "debug.h"
#include "errors.h"
#include "record.h"
#include "segment.h"
#include "watch.h"

/* The parent's arena stays as it is: inherited segments can still be read, and nothing of it is reused.
 * What lay free in it is the child's own copy, and goes. Lock of the process held. */
static int replace_arena_lock_held(core_state *state)
{
    /* untaken: another thread of the child was first, which takes one without a GIL */
    if (state->generation == fork_generation())
        return 0;
    arena *fresh = arena_new();
    if (fresh == NULL)
        return -1;
    arena_inherit(fresh, state->arena);
    state->arena = fresh;
    counter_set(&state->implicit_budget.bytes, 0);
    counter_set(&state->accounts, 0);
    counter_set(&state->accounted, 0);
    debug_start(state);
    state->generation = fork_generation();
    return 0;
}

int state_after_fork(core_state *state)
{
    process_lock();
    int result = replace_arena_lock_held(state);
    process_unlock();
    if (result < 0)
        PyErr_NoMemory();
    return result;
}

/* ---- functions ------------------------------------------------------------------------------- */

static PyObject *core_trim(PyObject *module, PyObject *Py_UNUSED(unused))
{
    core_state *state = module_core(module);
    if (state == NULL || state_ready(state) < 0)
        return NULL;
    arena_trim(state->arena);
    state_unmap_pending(state, 1);
    Py_RETURN_NONE;
}

static PyObject *core_set_cache_limit(PyObject *module, PyObject *value)
{
    core_state *state = module_core(module);
    size_t nbytes;
    if (state == NULL || convert_nbytes(value, "nbytes", &nbytes) < 0 || state_ready(state) < 0)
        return NULL;
    arena_set_cache_limit(state->arena, nbytes);
    state_unmap_pending(state, 1);
    Py_RETURN_NONE;
}

static PyObject *core_set_limit(PyObject *module, PyObject *value)
{
    core_state *state = module_core(module);
    size_t nbytes = 0;
    if (state == NULL || (value != Py_None && convert_nbytes(value, "nbytes", &nbytes) < 0) ||
        state_ready(state) < 0)
        return NULL;
    arena_set_cap(state->arena, value != Py_None ? (int64_t)nbytes : ARENA_NO_CAP);
    Py_RETURN_NONE;
}

static PyObject *core_debug(PyObject *module, PyObject *value)
{
    core_state *state = module_core(module);
    int on = state != NULL ? PyObject_IsTrue(value) : -1;
    if (on < 0)
        return NULL;
    counter_set(&state->debugging, on);
    Py_RETURN_NONE;
}

static PyObject *core_window_peak_bytes(PyObject *module, PyObject *reset)
{
    core_state *state = module_core(module);
    int resets = PyObject_IsTrue(reset);
    if (resets < 0 || state == NULL || state_ready(state) < 0)
        return NULL;
    return PyLong_FromLongLong(arena_window_peak(state->arena, resets));
}

static PyObject *core_allocate(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    static const char *const keywords[] = {"scope", "nbytes", "align", "zeroed", NULL};
    core_state *state = module_core(module);
    PyObject *found[4];
    size_t nbytes, align;
    if (state == NULL || parse_arguments("allocate", keywords, 4, 4, args, nargs, names, found) < 0)
        return NULL;
    if (!PyObject_TypeCheck(found[0], state->scope_type)) {
        PyErr_Format(PyExc_TypeError, "scope must be a Scope, found '%s'", Py_TYPE(found[0])->tp_name);
        return NULL;
    }
    int zeroed = PyObject_IsTrue(found[3]);
    if (zeroed < 0 || convert_nbytes(found[1], "nbytes", &nbytes) < 0 || convert_align(found[2], &align) < 0)
        return NULL;
    return scope_allocate_segment(found[0], nbytes, align, zeroed);
}

#if SCOPES_DEBUG
static PyObject *core_check(PyObject *module, PyObject *Py_UNUSED(unused))
{
    core_state *state = module_core(module);
    if (state == NULL)
        return NULL;
    arena_check(state->arena);
    Py_RETURN_NONE;
}
#endif

static PyMethodDef core_functions[] = {
    {"statistics", core_statistics, METH_NOARGS,
     PyDoc_STR("statistics()\n--\n\n"
               "A Statistics record of the native memory of this process.\n\n"
               ">>> with ConfinedScope() as scope:\n"
               "...     before = statistics().live_bytes\n"
               "...     segment = scope.allocate(100)\n"
               "...     statistics().live_bytes - before\n"
               "100")},
    {"trim", core_trim, METH_NOARGS,
     PyDoc_STR("trim()\n--\n\n"
               "Gives all memory that is cached for the next scopes back to the system.\n\n"
               "Memory of closed scopes that segments still cover reads as zeros afterwards.\n\n"
               ">>> trim()")},
    {"set_cache_limit", core_set_cache_limit, METH_O,
     PyDoc_STR("set_cache_limit(nbytes, /)\n--\n\n"
               "Sets how many bytes stay warm for the next scopes, those of closed scopes that segments\n"
               "still cover included; 64 MiB unless set, 0 keeps none.\n\n"
               ">>> set_cache_limit(64 * 1024 * 1024)")},
    {"set_limit", core_set_limit, METH_O,
     PyDoc_STR("set_limit(nbytes, /)\n--\n\n"
               "Caps the live bytes of all scopes of the process; None, as at first, is no cap.\n\n"
               "An allocation that would pass it raises ScopeMemoryError.\n\n"
               ">>> set_limit(None)")},
    {"set_implicit_budget", (PyCFunction)(void (*)(void))core_set_implicit_budget,
     METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("set_implicit_budget(nbytes, *, when_gc_disabled=False)\n--\n\n"
               "Sets how many unreleased bytes of implicit scopes and accounted memory there may be before\n"
               "the next of them asks for a garbage collection; 64 MiB unless set, None never asks.\n\n"
               "The youngest generation first, older ones where that freed less than an eighth. Where all of\n"
               "them did, the budget doubles over what survived, and shrinks again as memory comes and goes\n"
               "without reaching it. With gc.disable() nothing is asked, unless when_gc_disabled.\n\n"
               ">>> set_implicit_budget(64 * 1024 * 1024)")},
    {"account", (PyCFunction)(void (*)(void))core_account, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("account(obj, nbytes)\n--\n\n"
               "Counts native memory that is not ours, nbytes of it, towards the implicit budget until obj dies.\n\n"
               "For a tensor, an array, a handle: what holds much memory and can be in reference cycles. obj is\n"
               "not kept alive and must support weak references, else TypeError. Each call adds.\n\n"
               ">>> import numpy as np\n"
               ">>> frame = np.zeros(1_000_000)\n"
               ">>> account(frame, frame.nbytes)")},
    {"debug", core_debug, METH_O,
     PyDoc_STR("debug(on, /)\n--\n\n"
               "Turns debugging help on or off; SCOPES_DEBUG=1 in the environment starts with it on.\n\n"
               "While it is on, ScopeInUseError names the lines where the exports were taken, the warning of a\n"
               "scope that was never closed names the line where it was opened, and dump() lists both. Memory\n"
               "that goes back is overwritten with bytes of 0xDD, so that what still reads it shows: at close,\n"
               "or with the last of the exports that close() deferred. Adopted memory never is, nor pages that\n"
               "were never touched. A life takes about ten times as long. What was opened or exported while it\n"
               "was off is counted, without its line. Keeps nothing alive, and can be switched at any time.\n\n"
               ">>> debug(True)\n"
               ">>> scope = ConfinedScope()\n"
               ">>> view = memoryview(scope.allocate(64))\n"
               ">>> scope.close()  # doctest: +ELLIPSIS\n"
               "Traceback (most recent call last):\n"
               "    ...\n"
               "scopes.ScopeInUseError: ... (1 of the segment of 64 bytes at ..., taken at ... in <module>): ...\n"
               ">>> view.release(); scope.close(); debug(False)")},
    {"snapshot", core_snapshot, METH_NOARGS,
     PyDoc_STR("snapshot()\n--\n\nWhat dump() says, as values. For dump() alone.")},
    {"window_peak_bytes", core_window_peak_bytes, METH_O,
     PyDoc_STR("window_peak_bytes(reset, /)\n--\n\n"
               "The highest live bytes since the last call with a true reset. For one user: the probe.")},
    {"allocate", (PyCFunction)(void (*)(void))core_allocate, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("allocate(scope, nbytes, align, zeroed)\n--\n\n"
               "Scope.allocate, whose memory keeps its old bytes unless zeroed. For numpy.empty.")},
#if SCOPES_EVENTS
    {"start_events", (PyCFunction)(void (*)(void))core_start_events, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("start_events(fd, most, active_threads)\n--\n\n"
               "Turns events on: at most so many are written to fd, or to nowhere if it is None.\n\n"
               "active_threads is threading._active. For record() and for measuring it.")},
    {"stop_events", core_stop_events, METH_NOARGS,
     PyDoc_STR("stop_events()\n--\n\n"
               "Turns events off; what came of it as a dict, or None where they were not turned on.")},
#endif
#if SCOPES_DEBUG
    {"check", core_check, METH_NOARGS, PyDoc_STR("Aborts where the arena contradicts itself.")},
#endif
    {NULL, NULL, 0, NULL},
};

/* ---- life ------------------------------------------------------------------------------------ */

static int refuse_subinterpreter(void)
{
    if (PyInterpreterState_Get() == PyInterpreterState_Main())
        return 0;
    PyErr_SetString(PyExc_ImportError,
                    "scopes works in the main interpreter only: its memory belongs to the process");
    return -1;
}

/* A setting that the process starts with, in bytes. 1 if there is one, 0 if not, -1 with an exception. */
static int read_setting(const char *name, size_t *nbytes)
{
    const char *text = getenv(name);
    if (text == NULL || *text == '\0')
        return 0;
    char *end;
    long long found = strtoll(text, &end, 10);
    if (*end != '\0' || found < 0) {
        PyErr_Format(PyExc_ValueError, "%s must be a number of bytes, found \"%s\"", name, text);
        return -1;
    }
    *nbytes = (size_t)found;
    return 1;
}

static int read_debug(core_state *state)
{
    const char *text = getenv("SCOPES_DEBUG");
    if (text == NULL || *text == '\0' || strcmp(text, "0") == 0)
        return 0;
    if (strcmp(text, "1") != 0) {
        PyErr_Format(PyExc_ValueError, "SCOPES_DEBUG must be 0 or 1, found \"%s\"", text);
        return -1;
    }
    counter_set(&state->debugging, 1);
    return 0;
}

/* scopes/__init__.py documents them. */
static int read_environment(core_state *state)
{
    size_t nbytes;
    if (read_debug(state) < 0)
        return -1;
    int found = read_setting("SCOPES_CACHE_LIMIT", &nbytes);
    if (found > 0)
        arena_set_cache_limit(state->arena, nbytes);
    if (found >= 0)
        found = read_setting("SCOPES_IMPLICIT_BUDGET", &nbytes);
    budget_set(&state->implicit_budget, found > 0 ? (int64_t)nbytes : BUDGET_BYTES);
    return found < 0 ? -1 : 0;
}

/* A state with an arena and nothing else; NULL if there is no memory for it. */
static core_state *new_state(void)
{
    core_state *state = calloc(1, sizeof(core_state));
    if (state == NULL)
        return NULL;
    state->arena = process_watch_forks() == 0 ? arena_new() : NULL;
    state->generation = state->record_generation = fork_generation();
    debug_start(state);
    if (state->arena == NULL) {
        free(state);
        return NULL;
    }
    events_init(&state->events);
    state->event_file.fd = -1;
    return state;
}

static int core_exec(PyObject *module)
{
    if (refuse_subinterpreter() < 0)
        return -1;
    core_state *state = new_state();
    if (state == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *(core_state **)PyModule_GetState(module) = state;
    if (read_environment(state) < 0 || errors_add(module, state) < 0 ||
        context_add_type(module, state) < 0 || scope_add_types(module, state) < 0 ||
        segment_add_type(module, state) < 0 || pin_add_type(module, state) < 0 ||
        adoption_add_type(module, state) < 0 || watch_add_type(module, state) < 0 ||
        statistics_add_types(module, state) < 0)
        return -1;
    contention_avoid(state);
    return 0;
}

static PyObject **state_objects(core_state *state)
{
    return (PyObject **)&state->scope_type;
}

/* The owned fields of core_state lie in one run, from scope_type to active_threads. */
#define STATE_OBJECTS                                                                                  \
    ((offsetof(core_state, active_threads) - offsetof(core_state, scope_type)) / sizeof(PyObject *) + 1)

static int core_traverse(PyObject *module, visitproc visit, void *arg)
{
    core_state *state = module_core_or_null(module);
    for (size_t i = 0; state != NULL && i < STATE_OBJECTS; i++)
        Py_VISIT(state_objects(state)[i]);
    return 0;
}

static int core_clear(PyObject *module)
{
    core_state *state = module_core_or_null(module);
    if (state == NULL)
        return 0;
#if SCOPES_FREELISTS
    state->closing = 1;
    while (state->free_scope_count > 0)
        PyObject_GC_Del(state->free_scopes[--state->free_scope_count]);
    while (state->free_segment_count > 0)
        PyObject_GC_Del(state->free_segments[--state->free_segment_count]);
#endif
    for (size_t i = 0; i < STATE_OBJECTS; i++)
        Py_CLEAR(state_objects(state)[i]);
    return 0;
}

/* The arena stays, since arrays may still read retired memory; what is free goes back. */
static void core_free(void *module)
{
    core_clear(module);
    core_state *state = module_core_or_null(module);
    if (state != NULL)
        arena_abandon(state->arena);
}

static PyModuleDef_Slot core_slots[] = {
    {Py_mod_exec, core_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED}, /* scope.h and arena.h say what stands for it */
#endif
    {0, NULL},
};

static struct PyModuleDef core_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "scopes._core",
    .m_doc = "The compiled part of scopes; import scopes instead.",
    .m_size = sizeof(core_state *),
    .m_methods = core_functions,
    .m_slots = core_slots,
    .m_traverse = core_traverse,
    .m_clear = core_clear,
    .m_free = core_free,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&core_module);
}
