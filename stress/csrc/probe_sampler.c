/* Sampler: drives a loop and times every turn of it, `for _ in sampler: body`.
 *
 * The clock is read where the loop asks for its next turn, once a turn: a sample is the difference of
 * two neighbouring reads, and no call stands between the body and the clock. A sample goes at once
 * into a bucket of memory that was allocated and touched before: nothing is allocated, no object is
 * made and no page is faulted in while the loop runs, and any number of turns fits. Buckets are of
 * ticks, for a conversion would be waited for by the next read: it took 5 of 31 ns.
 *
 * entry point             guarded by
 *   iteration, arm, take    the caller: one thread at a time, the one that runs the loop
 */
#include "probe.h"
#include "probe_hdr.h"
#include "probe_ticks.h"

#include <string.h>

typedef struct {
    PyObject_HEAD
    bool by_tsc;
    bool running;           /* `last` is the start of the turn that runs now */
    double hz;              /* ticks a second */
    uint64_t last;          /* ticks */
    uint64_t left;          /* turns */
    uint64_t period;        /* turns, or 0 */
    uint64_t until_marked;  /* turns until the next one that is marked, in 0 to period - 1 */
    uint64_t *counts;       /* HDR_BUCKETS of them */
} sampler;

/* Ticks a second that a clock may have: from a clock of 1 kHz to one of 1 THz. */
static const double LEAST_HZ = 1e3, MOST_HZ = 1e12;

static inline void note(sampler *self, uint64_t now)
{
    /* Counters of two cores may differ by some ticks: a turn that changed cores took no time then. */
    uint64_t ticks = now > self->last ? now - self->last : 0;
    self->counts[hdr_bucket(ticks)]++;
}

/* The next turn: None, or with a period whether it is the last of one. */
static PyObject *sampler_next(PyObject *op)
{
    sampler *self = (sampler *)op;
    uint64_t now = ticks_now(self->by_tsc);
    if (self->running) {
        note(self, now);
    }
    self->last = now;
    if (self->left == 0) {
        self->running = false;
        return NULL;
    }
    self->running = true;
    self->left--;
    if (self->period == 0) {
        Py_RETURN_NONE;
    }
    if (self->until_marked == 0) {
        self->until_marked = self->period - 1;
        Py_RETURN_TRUE;
    }
    self->until_marked--;
    Py_RETURN_FALSE;
}

static PyObject *sampler_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *const keywords[] = {"clock", "hz", "period", NULL};
    const char *clock;
    double hz;
    Py_ssize_t period = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sd|n:Sampler", (char **)keywords, &clock, &hz,
                                     &period)) {
        return NULL;
    }
    bool by_tsc = strcmp(clock, "rdtscp") == 0;
    if (!by_tsc && strcmp(clock, "clock_gettime") != 0) {
        return PyErr_Format(PyExc_ValueError,
                            "a clock is one of rdtscp, clock_gettime; found '%s'", clock);
    }
    if (by_tsc && !ticks_have_tsc()) {
        PyErr_SetString(PyExc_ValueError, "this processor has no rdtscp of constant rate");
        return NULL;
    }
    if (!(hz >= LEAST_HZ && hz <= MOST_HZ)) {
        PyErr_SetString(PyExc_ValueError, "hz must be from 1e3 to 1e12 ticks a second");
        return NULL;
    }
    if (period < 0) {
        return PyErr_Format(PyExc_ValueError, "period must be 0 or more turns, found %zd", period);
    }
    uint64_t *counts = PyMem_Malloc(HDR_BUCKETS * sizeof(uint64_t));
    if (counts == NULL) {
        return PyErr_NoMemory();
    }
    memset(counts, 0, HDR_BUCKETS * sizeof(uint64_t)); /* and not calloc: its pages are not there yet */
    sampler *self = (sampler *)type->tp_alloc(type, 0);
    if (self == NULL) {
        PyMem_Free(counts);
        return NULL;
    }
    self->by_tsc = by_tsc;
    self->hz = hz;
    self->period = (uint64_t)period;
    self->counts = counts;
    return (PyObject *)self;
}

static int sampler_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void sampler_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    PyMem_Free(((sampler *)self)->counts);
    type->tp_free(self);
    Py_DECREF(type);
}

PyDoc_STRVAR(arm_doc,
"arm($self, turns, /)\n--\n\n"
"Make the next loop over the sampler one of so many turns; returns the sampler.\n\n"
"A loop that was left early is forgotten with the turn it was in.");

static PyObject *sampler_arm(PyObject *op, PyObject *argument)
{
    sampler *self = (sampler *)op;
    Py_ssize_t turns = PyNumber_AsSsize_t(argument, PyExc_OverflowError);
    if (turns == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (turns < 0) {
        return PyErr_Format(PyExc_ValueError, "turns must be 0 or more, found %zd", turns);
    }
    self->left = (uint64_t)turns;
    self->until_marked = self->period == 0 ? 0 : self->period - 1;
    self->running = false;
    return Py_NewRef(op);
}

PyDoc_STRVAR(take_doc,
"take($self, /)\n--\n\n"
"The samples so far as (seconds, number of samples), shortest first; none are left.\n\n"
"Seconds are exact to a tick up to 2,047 ticks, and to one part in 2,048 beyond.");

static PyObject *sampler_take(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    sampler *self = (sampler *)op;
    return probe_take_buckets(self->counts, self->hz);
}

PyObject *probe_take_buckets(uint64_t *counts, double hz)
{
    PyObject *taken = PyList_New(0);
    for (uint32_t i = 0; taken != NULL && counts != NULL && i < HDR_BUCKETS; i++) {
        if (counts[i] == 0) {
            continue;
        }
        PyObject *pair = Py_BuildValue("(dK)", hdr_middle(i) / hz, (unsigned long long)counts[i]);
        if (pair == NULL || PyList_Append(taken, pair) < 0) {
            Py_CLEAR(taken);
        }
        Py_XDECREF(pair);
    }
    if (taken != NULL && counts != NULL) {
        memset(counts, 0, HDR_BUCKETS * sizeof(uint64_t));
    }
    return taken;
}

static PyMethodDef sampler_methods[] = {
    {"arm", sampler_arm, METH_O, arm_doc},
    {"take", sampler_take, METH_NOARGS, take_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(sampler_doc,
"Sampler(clock, hz, period=0)\n--\n\n"
"Times every turn of a loop `for _ in sampler.arm(turns)`, by one read of a clock each.\n\n"
"clock: \"rdtscp\" or \"clock_gettime\" (ValueError for another, or where there is none), of `hz`\n"
"ticks a second. A turn's value is None or, with a period, whether it is the last of so many turns.\n"
"For one thread at a time.");

static PyType_Slot sampler_slots[] = {
    {Py_tp_doc, (void *)sampler_doc},
    {Py_tp_new, sampler_new},
    {Py_tp_traverse, sampler_traverse},
    {Py_tp_dealloc, sampler_dealloc},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, sampler_next},
    {Py_tp_methods, sampler_methods},
    {0, NULL},
};

PyType_Spec sampler_spec = {
    .name = "stress._probe.Sampler",
    .basicsize = sizeof(sampler),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = sampler_slots,
};

/* The shortest and the longest calibration, in seconds. */
static const double LEAST_SPAN_S = 1e-3, MOST_SPAN_S = 10;

PyObject *probe_tsc_hz(PyObject *Py_UNUSED(module), PyObject *argument)
{
    double span_s = PyFloat_AsDouble(argument);
    if (span_s == -1 && PyErr_Occurred()) {
        return NULL;
    }
    if (!(span_s >= LEAST_SPAN_S && span_s <= MOST_SPAN_S)) {
        PyErr_SetString(PyExc_ValueError, "a calibration takes from 0.001 to 10 seconds");
        return NULL;
    }
    if (!ticks_have_tsc()) {
        Py_RETURN_NONE;
    }
    return PyFloat_FromDouble(ticks_calibrated_hz((uint64_t)(span_s * 1e9)));
}
