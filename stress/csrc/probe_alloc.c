/* The allocation probe as Python code sees it: AllocRecorder, and functions for the totals.
 *
 * entry point             guarded by
 *   start, stop, reading    GIL, or the recorder's own lock
 *   the functions           what probe_counts.h says
 * Work of the probe itself is hushed: the objects in which it answers are in no figure.
 */
#include "probe_alloc.h"
#include "probe_counts.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    PyObject_HEAD
    bool running;
    counts_total start; /* the totals when it was started */
    counts_total end;   /* and when it was stopped */
} alloc_recorder;

/* Everything that can be counted is from now on; -1 with an error set. */
static int put_in_place(void)
{
    int error = counts_init();
    if (error != 0) {
        PyErr_Format(PyExc_RuntimeError, "allocations can't be counted by thread: %s",
                     strerror(error));
        return -1;
    }
    return hooks_put_in_place() < 0 || numpy_put_in_place() < 0 ? -1 : 0;
}

static PyObject *alloc_recorder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *const keywords[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":AllocRecorder", (char **)keywords)
        || put_in_place() < 0) {
        return NULL;
    }
    return type->tp_alloc(type, 0); /* zeroed: it does not run */
}

static void alloc_recorder_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);
    if (((alloc_recorder *)op)->running) {
        counts_switch(false);
    }
    type->tp_free(op);
    Py_DECREF(type);
}

/* Makes it run or not, unless it does or does not; says which it was. */
static bool set_running(alloc_recorder *self, bool running)
{
    bool before;
    PROBE_LOCK(self);
    before = self->running;
    self->running = running;
    if (running && !before) {
        counts_switch(true);
        self->start = counts_read();
    }
    else if (before && !running) {
        self->end = counts_read();
        counts_switch(false);
    }
    PROBE_UNLOCK();
    return before;
}

PyDoc_STRVAR(start_doc,
"start($self, /)\n--\n\n"
"Count from here. True if every allocation of Python and of NumPy's arrays will be seen; False\n"
"where the counters were dropped by another wrapper and can't be put in place again.\n\n"
"RuntimeError when the recorder runs already.");

static PyObject *alloc_recorder_start(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    bool before = counts_hush();
    int placed = put_in_place();
    counts_unhush(before);
    if (placed < 0) {
        if (!PyErr_ExceptionMatches(PyExc_RuntimeError)) {
            return NULL;
        }
        PyErr_Clear();
    }
    if (set_running((alloc_recorder *)op, true)) {
        PyErr_SetString(PyExc_RuntimeError, "the recorder runs already");
        return NULL;
    }
    return PyBool_FromLong(placed == 0);
}

PyDoc_STRVAR(stop_doc,
"stop($self, /)\n--\n\n"
"Count up to here; reading() has the figures until the next start(). False if another wrapper of\n"
"the allocators dropped the counters meanwhile, as tracemalloc.stop() can: some are missing then.\n\n"
"RuntimeError when the recorder does not run.");

static PyObject *alloc_recorder_stop(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    if (!set_running((alloc_recorder *)op, false)) {
        PyErr_SetString(PyExc_RuntimeError, "the recorder does not run");
        return NULL;
    }
    return PyBool_FromLong(hooks_are_met());
}

PyDoc_STRVAR(reading_doc,
"reading($self, /)\n--\n\n"
"(bytes, allocations) of all threads from start() to stop(), or until now while it runs.");

static PyObject *alloc_recorder_reading(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    alloc_recorder *self = (alloc_recorder *)op;
    counts_total start, end;
    PROBE_LOCK(self);
    start = self->start;
    end = self->running ? counts_read() : self->end;
    PROBE_UNLOCK();
    bool before = counts_hush();
    PyObject *reading = Py_BuildValue("(KK)", (unsigned long long)(end.bytes - start.bytes),
                                      (unsigned long long)(end.allocations - start.allocations));
    counts_unhush(before);
    return reading;
}

static PyMethodDef alloc_recorder_methods[] = {
    {"start", alloc_recorder_start, METH_NOARGS, start_doc},
    {"stop", alloc_recorder_stop, METH_NOARGS, stop_doc},
    {"reading", alloc_recorder_reading, METH_NOARGS, reading_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(alloc_recorder_doc,
"AllocRecorder()\n--\n\n"
"Bytes and allocations that Python's allocators hand out to all threads, ended ones included.\n\n"
"Making the first one puts counters around the allocators, for the life of the process; they count\n"
"while a recorder runs. RuntimeError with the reason where that can't be done.");

static PyType_Slot alloc_recorder_slots[] = {
    {Py_tp_doc, (void *)alloc_recorder_doc},
    {Py_tp_new, alloc_recorder_new},
    {Py_tp_dealloc, alloc_recorder_dealloc},
    {Py_tp_methods, alloc_recorder_methods},
    {0, NULL},
};

PyType_Spec alloc_recorder_spec = {
    .name = "stress._probe.AllocRecorder",
    .basicsize = sizeof(alloc_recorder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = alloc_recorder_slots,
};

/* The number as an int; NULL with RuntimeError set where nothing was ever counted. */
static PyObject *counted(uint64_t number)
{
    if (!counts_began()) {
        PyErr_SetString(PyExc_RuntimeError,
                        "no allocation was counted yet: expected a started AllocRecorder");
        return NULL;
    }
    bool before = counts_hush();
    PyObject *result = PyLong_FromUnsignedLongLong(number);
    counts_unhush(before);
    return result;
}

PyObject *probe_total_allocated_bytes(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return counted(counts_read().bytes);
}

PyObject *probe_total_allocations(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return counted(counts_read().allocations);
}

PyObject *probe_thread_allocated_bytes(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return counted(counts_read_own().bytes);
}

PyObject *probe_thread_allocations(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return counted(counts_read_own().allocations);
}

PyObject *probe_exclude_thread(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    counts_exclude();
    Py_RETURN_NONE;
}

/* The list of threads copied out; `count` of them. NULL with MemoryError set. */
static counts_entry *copy_threads(size_t *count)
{
    counts_entry *entries = NULL;
    size_t room = 0;
    for (;;) {
        *count = counts_threads(entries, room);
        if (*count <= room) {
            return entries;
        }
        free(entries);
        room = *count + 8; /* for threads that begin meanwhile */
        entries = malloc(room * sizeof(counts_entry));
        if (entries == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
    }
}

static PyObject *list_of(const counts_entry *entries, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *entry = Py_BuildValue("(KKK)", (unsigned long long)entries[i].number,
                                        (unsigned long long)entries[i].ident,
                                        (unsigned long long)entries[i].bytes);
        if (entry == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)i, entry);
    }
    return list;
}

PyObject *probe_listed_threads(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    size_t count;
    counts_entry *entries = copy_threads(&count);
    if (entries == NULL && PyErr_Occurred()) {
        return NULL;
    }
    bool before = counts_hush();
    PyObject *list = list_of(entries, count);
    counts_unhush(before);
    free(entries);
    return list;
}
