/* GCRecorder: an entry for gc.callbacks that notes every collection without making an object.
 *
 * A callback in Python costs about 0.9 us a collection and its own objects make collections come
 * sooner; this one reads a clock and writes into a ring that was allocated when the recorder was made.
 *
 * entry point             guarded by
 *   the call (gc.callbacks)   GIL, or the recorder's own lock
 *   install, remove           GIL, or the recorder's own lock
 *   reading, recent, take     GIL, or the recorder's own lock
 */
#include "probe.h"
#include "probe_hdr.h"
#include "probe_pauses.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>
#include <time.h>

enum { DEFAULT_CAPACITY = 1024, MAX_CAPACITY = 1 << 20 };

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    bool installed; /* in gc.callbacks */
    pauses pauses;
} gc_recorder;

static int64_t monotonic_ns(void)
{
    struct timespec now;
    /* Cannot fail: the clock exists on every Linux and the pointer is good. */
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static probe_state *state_of(gc_recorder *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

/* The "generation" of the dict that the collector hands to its callbacks; -1 with an error set. */
static long long generation_of(gc_recorder *self, PyObject *info)
{
    PyObject *key = state_of(self)->generation_key;
    PyObject *generation = PyDict_GetItemWithError(info, key); /* borrowed */
    if (generation == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_KeyError, "the collector's info has no \"generation\"");
        }
        return -1;
    }
    return PyLong_AsLongLong(generation);
}

/* recorder(phase, info), as gc.callbacks calls it. */
static PyObject *gc_recorder_call(PyObject *callable, PyObject *const *args, size_t nargsf,
                                  PyObject *kwnames)
{
    int64_t now_ns = monotonic_ns(); /* first: a stop must not count what follows */
    gc_recorder *self = (gc_recorder *)callable;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);

    if (nargs != 2 || (kwnames != NULL && PyTuple_GET_SIZE(kwnames) > 0)) {
        PyErr_Format(PyExc_TypeError,
                     "GCRecorder expects (phase, info) as the collector gives them, got %zd arguments",
                     nargs + (kwnames != NULL ? PyTuple_GET_SIZE(kwnames) : 0));
        return NULL;
    }
    if (!PyUnicode_Check(args[0]) || !PyDict_Check(args[1])) {
        PyErr_Format(PyExc_TypeError, "GCRecorder expects (str, dict), got (%s, %s)",
                     Py_TYPE(args[0])->tp_name, Py_TYPE(args[1])->tp_name);
        return NULL;
    }
    if (PyUnicode_CompareWithASCIIString(args[0], "start") == 0) {
        PROBE_LOCK(self);
        pauses_start(&self->pauses, monotonic_ns());
        PROBE_UNLOCK();
    }
    else if (PyUnicode_CompareWithASCIIString(args[0], "stop") == 0) {
        long long generation = generation_of(self, args[1]);
        if (generation == -1 && PyErr_Occurred()) {
            return NULL;
        }
        PROBE_LOCK(self);
        pauses_stop(&self->pauses, now_ns, generation);
        PROBE_UNLOCK();
    }
    Py_RETURN_NONE;
}

static PyObject *gc_recorder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *const keywords[] = {"capacity", NULL};
    Py_ssize_t capacity = DEFAULT_CAPACITY;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|n:GCRecorder", (char **)keywords,
                                     &capacity)) {
        return NULL;
    }
    if (capacity < 1 || capacity > MAX_CAPACITY) {
        return PyErr_Format(PyExc_ValueError, "capacity must be from 1 to %d records, got %zd",
                            (int)MAX_CAPACITY, capacity);
    }
    gc_recorder *self = NULL;
    pause_record *ring = PyMem_Calloc((size_t)capacity, sizeof(pause_record));
    uint32_t *counts = PyMem_New(uint32_t, HDR_BUCKETS);
    if (ring == NULL || counts == NULL) {
        PyErr_NoMemory();
        goto failed;
    }
    self = (gc_recorder *)type->tp_alloc(type, 0);
    if (self == NULL) {
        goto failed;
    }
    memset(counts, 0, HDR_BUCKETS * sizeof(uint32_t)); /* and not calloc: its pages are not there yet */
    self->vectorcall = gc_recorder_call;
    self->installed = false;
    pauses_init(&self->pauses, ring, (size_t)capacity, counts);
    return (PyObject *)self;

failed:
    PyMem_Free(counts);
    PyMem_Free(ring);
    return NULL;
}

static int gc_recorder_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void gc_recorder_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    PyMem_Free(((gc_recorder *)self)->pauses.ring);
    PyMem_Free(((gc_recorder *)self)->pauses.counts);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Says whether the recorder was installed before; a recorder that begins also forgets. */
static bool set_installed(gc_recorder *self, bool installed)
{
    bool before;
    PROBE_LOCK(self);
    before = self->installed;
    self->installed = installed;
    if (installed && !before) {
        pauses_reset(&self->pauses);
    }
    PROBE_UNLOCK();
    return before;
}

PyDoc_STRVAR(install_doc,
"install($self, /)\n--\n\n"
"Forget what was noted, and note every collection from now on.\n\n"
"RuntimeError when the recorder is installed already.");

static PyObject *gc_recorder_install(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    gc_recorder *self = (gc_recorder *)op;
    if (set_installed(self, true)) {
        PyErr_SetString(PyExc_RuntimeError, "the recorder is installed already");
        return NULL;
    }
    if (PyList_Append(state_of(self)->gc_callbacks, op) < 0) {
        (void)set_installed(self, false);
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(remove_doc,
"remove($self, /)\n--\n\n"
"Stop noting collections; what was noted can be read until the next install().\n\n"
"RuntimeError when the recorder is not installed, or when somebody else took it out of\n"
"gc.callbacks: collections may then be missing from the record.");

static PyObject *gc_recorder_remove(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    gc_recorder *self = (gc_recorder *)op;
    if (!set_installed(self, false)) {
        PyErr_SetString(PyExc_RuntimeError, "the recorder is not installed");
        return NULL;
    }
    PyObject *callbacks = state_of(self)->gc_callbacks;
    Py_ssize_t place = PySequence_Index(callbacks, op);
    if (place < 0) {
        if (PyErr_ExceptionMatches(PyExc_ValueError)) {
            PyErr_SetString(PyExc_RuntimeError,
                            "the recorder was taken out of gc.callbacks while it was installed: "
                            "its record is not complete");
        }
        return NULL;
    }
    if (PySequence_DelItem(callbacks, place) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(reading_doc,
"reading($self, /)\n--\n\n"
"(collections, their time in ns, the longest in ns) since install(), exact for any number.\n\n"
"A collection counts when it began and ended while the recorder was installed.");

static PyObject *gc_recorder_reading(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    pauses seen;
    PROBE_LOCK(op);
    seen = ((gc_recorder *)op)->pauses;
    PROBE_UNLOCK();
    return Py_BuildValue("(KLL)", (unsigned long long)seen.count, (long long)seen.total_ns,
                         (long long)seen.longest_ns);
}

PyDoc_STRVAR(recent_doc,
"recent($self, /)\n--\n\n"
"The latest collections, at most `capacity`, oldest first, as (start, stop, generation).\n\n"
"Start and stop are nanoseconds of CLOCK_MONOTONIC, the clock of time.monotonic_ns().");

/* The kept records copied out, for making objects can start a collection, which moves the ring. */
static pause_record *copy_ring(gc_recorder *self, size_t *kept)
{
    pause_record *copy = PyMem_New(pause_record, self->pauses.capacity);
    if (copy == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    PROBE_LOCK(self);
    *kept = pauses_kept(&self->pauses);
    for (size_t i = 0; i < *kept; i++) {
        copy[i] = pauses_at(&self->pauses, i);
    }
    PROBE_UNLOCK();
    return copy;
}

static PyObject *gc_recorder_recent(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    size_t kept = 0;
    pause_record *copy = copy_ring((gc_recorder *)op, &kept);
    if (copy == NULL) {
        return NULL;
    }
    PyObject *list = PyList_New((Py_ssize_t)kept);
    for (size_t i = 0; list != NULL && i < kept; i++) {
        PyObject *record = Py_BuildValue("(LLL)", (long long)copy[i].start_ns,
                                         (long long)copy[i].stop_ns,
                                         (long long)copy[i].generation);
        if (record == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)i, record);
    }
    PyMem_Free(copy);
    return list;
}

PyDoc_STRVAR(take_doc,
"take($self, /)\n--\n\n"
"The lengths of all collections since install() as (seconds, number of them), shortest first.\n\n"
"None are left. Exact to a nanosecond up to 2,047 ns, and to one part in 2,048 beyond.");

/* The histogram copied out and forgotten: a collection while the list is made belongs to the next. */
static bool take_counts(gc_recorder *self, uint32_t *copy)
{
    bool counted;
    PROBE_LOCK(self);
    counted = self->pauses.counted;
    if (counted) {
        memcpy(copy, self->pauses.counts, HDR_BUCKETS * sizeof(uint32_t));
        pauses_forget_counts(&self->pauses);
    }
    PROBE_UNLOCK();
    return counted;
}

static PyObject *gc_recorder_take(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    uint32_t *counts = PyMem_New(uint32_t, HDR_BUCKETS);
    if (counts == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *taken = PyList_New(0);
    bool counted = taken != NULL && take_counts((gc_recorder *)op, counts);
    for (uint32_t i = 0; counted && taken != NULL && i < HDR_BUCKETS; i++) {
        if (counts[i] == 0) {
            continue;
        }
        PyObject *pair = Py_BuildValue("(dk)", hdr_middle(i) / 1e9, (unsigned long)counts[i]);
        if (pair == NULL || PyList_Append(taken, pair) < 0) {
            Py_CLEAR(taken);
        }
        Py_XDECREF(pair);
    }
    PyMem_Free(counts);
    return taken;
}

static PyMethodDef gc_recorder_methods[] = {
    {"install", gc_recorder_install, METH_NOARGS, install_doc},
    {"remove", gc_recorder_remove, METH_NOARGS, remove_doc},
    {"reading", gc_recorder_reading, METH_NOARGS, reading_doc},
    {"recent", gc_recorder_recent, METH_NOARGS, recent_doc},
    {"take", gc_recorder_take, METH_NOARGS, take_doc},
    {NULL, NULL, 0, NULL},
};

/* The collector calls through the vectorcall slot, so a call makes no tuple. */
static PyMemberDef gc_recorder_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(gc_recorder, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyDoc_STRVAR(gc_recorder_doc,
"GCRecorder(capacity=1024)\n--\n\n"
"Notes when the cyclic collector runs, and for how long, at no object a collection.\n\n"
"Count, sum, maximum and histogram are of all; the ring keeps the latest `capacity` collections (1 to\n"
"1,048,576, else ValueError). Lives in gc.callbacks between install() and remove(). A length\n"
"covers the collection as the program feels it, callbacks installed earlier included.");

static PyType_Slot gc_recorder_slots[] = {
    {Py_tp_doc, (void *)gc_recorder_doc},
    {Py_tp_new, gc_recorder_new},
    {Py_tp_traverse, gc_recorder_traverse},
    {Py_tp_dealloc, gc_recorder_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, gc_recorder_methods},
    {Py_tp_members, gc_recorder_members},
    {0, NULL},
};

PyType_Spec gc_recorder_spec = {
    .name = "stress._probe.GCRecorder",
    .basicsize = sizeof(gc_recorder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL
             | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = gc_recorder_slots,
};
