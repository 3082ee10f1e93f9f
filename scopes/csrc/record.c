/* Recording to a file: between the events, which know no Python, and scopes/_record.py. */
#include "record.h"

#include "arguments.h"

/* Events that are made before a recording begins, to know what one costs: about 0.1 ms. */
#define TRIAL_EVENTS 4096

static int is_inherited(core_state *state)
{
    return SCOPES_UNLIKELY(word_get(&state->record_generation) != fork_generation());
}

/* A child of fork has a copy of its parent's recorder, and must not write. The file stays open: by now
 * its number may stand for another one. */
static void leave_to_parent(core_state *state)
{
    process_lock();
    if (is_inherited(state)) { /* by chance: another thread of the child was not first */
        events_forget(&state->events);
        state->is_recording = 0;
        atomic_store(&state->record_generation, fork_generation());
    }
    process_unlock();
}

int record_event(core_state *state, uint32_t what, const void *object, const void *other, uint64_t size)
{
    if (is_inherited(state))
        leave_to_parent(state);
    else
        events_emit(&state->events, what, object, other, size);
    return 0;
}

/* Keeps the threading.Thread of a thread, for its name, while it can be found: it may end before the
 * recording does. Runs in the middle of an operation, and no Python code: the keys are ints. */
static void remember_thread(void *context, uint64_t token)
{
    core_state *state = context;
    if (state->event_threads == NULL) /* untaken: the module is gone, and its end stops a recording */
        return;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *key = PyLong_FromUnsignedLongLong(token);
    PyObject *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    if (key != NULL && ident != NULL && PyDict_Contains(state->event_threads, key) == 0) {
        PyObject *thread = PyDict_GetItemWithError(state->active_threads, ident);
        PyDict_SetItem(state->event_threads, key, thread != NULL ? thread : Py_None);
    }
    Py_XDECREF(ident);
    Py_XDECREF(key);
    PyErr_Restore(type, value, trace);
}

/* What making a record costs, in ns, without handing it over. Returns 0, or -1 where there is no memory. */
static int time_an_event(events *e, double *ns)
{
    if (events_start(e, (events_how){.most = INT64_MAX}) != 0)
        return -1;
    uint64_t begin = event_nanoseconds();
    for (int i = 0; i < TRIAL_EVENTS; i++)
        events_emit(e, EVENT_OF(EVENT_ALLOCATE, EVENT_BY_SCOPE, 0), e, e, 0);
    double elapsed = (double)(event_nanoseconds() - begin);
    events_stop(e);
    *ns = elapsed / TRIAL_EVENTS;
    return 0;
}

static int convert_most(PyObject *value, int64_t *most)
{
    *most = PyLong_AsLongLong(value);
    return PyErr_Occurred() ? -1 : 0;
}

/* Both dicts stay until the module goes: another thread may be about to look into them. */
static int prepare_threads(core_state *state, PyObject *active)
{
    if (state->event_threads == NULL)
        state->event_threads = PyDict_New();
    if (state->event_threads == NULL)
        return -1;
    PyDict_Clear(state->event_threads);
    if (state->active_threads == NULL)
        state->active_threads = Py_NewRef(active);
    return 0;
}

static int start_lock_held(core_state *state, int fd, int64_t most, PyObject *active)
{
    if (is_inherited(state))
        leave_to_parent(state);
    if (state->is_recording) {
        PyErr_SetString(PyExc_RuntimeError, "another recording has begun and not ended: one at a time");
        return -1;
    }
    if (prepare_threads(state, active) < 0)
        return -1;
    if (time_an_event(&state->events, &state->event_ns) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    state->event_file = (event_file){.fd = fd};
    events_how how = {
        .most = most,
        .listener = fd >= 0 ? event_file_write : NULL,
        .context = &state->event_file,
        .threads = remember_thread,
        .threads_context = state,
    };
    events_start(&state->events, how); /* what it needs it has by now */
    state->is_recording = 1;
    return 0;
}

PyObject *core_start_events(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    static const char *const keywords[] = {"fd", "most", "active_threads", NULL};
    core_state *state = module_core(module);
    PyObject *found[3];
    int64_t most;
    if (state == NULL || parse_arguments("start_events", keywords, 3, 3, args, nargs, names, found) < 0 ||
        convert_most(found[1], &most) < 0)
        return NULL;
    int fd = found[0] != Py_None ? PyObject_AsFileDescriptor(found[0]) : -1;
    if (fd < 0 && found[0] != Py_None)
        return NULL;
    if (!PyDict_Check(found[2])) {
        PyErr_Format(PyExc_TypeError, "active_threads must be a dict, found '%s'", Py_TYPE(found[2])->tp_name);
        return NULL;
    }
    int result;
    OBJECT_LOCK(module);
    result = start_lock_held(state, fd, most, found[2]);
    OBJECT_UNLOCK();
    if (result < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* What came of it; None where nothing was recorded, NULL with an exception set. */
static PyObject *stop_lock_held(core_state *state)
{
    events *e = &state->events;
    if (is_inherited(state))
        leave_to_parent(state);
    if (!state->is_recording)
        return Py_NewRef(Py_None);
    events_stop(e);
    state->is_recording = 0;
    PyObject *threads = PyDict_Copy(state->event_threads);
    PyDict_Clear(state->event_threads);
    if (threads == NULL)
        return NULL;
    PyObject *found =
        Py_BuildValue("{sKsisdsKsO}", "records", (unsigned long long)state->event_file.records, "error",
                      atomic_load(&e->error), "event_ns", state->event_ns, "listening_ns",
                      (unsigned long long)e->listening_ns, "threads", threads);
    Py_DECREF(threads);
    return found;
}

PyObject *core_stop_events(PyObject *module, PyObject *Py_UNUSED(unused))
{
    core_state *state = module_core(module);
    PyObject *found;
    if (state == NULL)
        return NULL;
    OBJECT_LOCK(module);
    found = stop_lock_held(state);
    OBJECT_UNLOCK();
    return found;
}
