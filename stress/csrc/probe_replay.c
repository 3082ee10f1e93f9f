/* ScopeReplay: executes the steps of a plan through the Python types of `scopes`, in one thread with the
 * GIL. What stress._native is to malloc this is to them: the loop is in C, so that little of the time is
 * its own.
 *
 * entry point    guarded by
 *   all          the caller: one thread at a time
 */
#include "probe_replay.h"

#include "probe_hdr.h"
#include "probe_ticks.h"

#include <unistd.h>

PyDoc_STRVAR(run_doc,
"run($self, steps, /)\n--\n\n"
"Execute a buffer of steps and return the time in ns.\n\n"
"ValueError for steps that no plan would make; an exception of a call has a note that names the step.");

static PyObject *run(PyObject *op, PyObject *argument)
{
    scope_replay *self = (scope_replay *)op;
    Py_buffer view;
    if (PyObject_GetBuffer(argument, &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if (view.len % (Py_ssize_t)sizeof(replay_step) != 0 || (uintptr_t)view.buf % _Alignof(replay_step) != 0) {
        PyErr_Format(PyExc_ValueError, "expected steps of %zu bytes each, found %zd bytes", sizeof(replay_step),
                     view.len);
        PyBuffer_Release(&view);
        return NULL;
    }
    self->run_ns = ticks_of_kernel();
    int status = scope_replay_execute(self, view.buf, (size_t)view.len / sizeof(replay_step));
    uint64_t duration = ticks_of_kernel() - self->run_ns;
    self->elapsed_ns += duration;
    PyBuffer_Release(&view);
    return status < 0 ? NULL : PyLong_FromUnsignedLongLong(duration);
}

/* ---- what is left ----------------------------------------------------------------------------------- */

/* All of it goes, also where some scope can't be closed here; the first exception is left set. */
static int drop_all(scope_replay *self)
{
    PyObject *first = NULL;
    for (uint32_t i = 0; self->objects != NULL && i < self->object_count; i++) {
        while (self->objects[i].exports != NULL) {
            scope_replay_unexport_object(self, &self->objects[i]);
        }
        Py_CLEAR(self->objects[i].segment);
    }
    for (uint32_t i = 0; self->scopes != NULL && i < self->scope_count; i++) {
        if (self->scopes[i].scope != NULL && scope_replay_close_scope(self, i) < 0) {
            PyObject *error = take_exception();
            if (first == NULL) {
                first = error;
            }
            else {
                Py_DECREF(error);
            }
        }
        scope_replay_drop_scope(&self->scopes[i]);
    }
    self->elapsed_ns = 0;
    set_exception_again(first);
    return first == NULL ? 0 : -1;
}

PyDoc_STRVAR(release_doc,
"release($self, /)\n--\n\n"
"Drop what the steps left, and close what is open, to begin with the recording again.");

static PyObject *release(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    scope_replay *self = (scope_replay *)op;
    self->differing = 0;
    if (drop_all(self) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(open_scopes_doc,
"open_scopes($self, /)\n--\n\n"
"The scopes that are open, each as (scope, how many segments were allocated in it).");

static PyObject *open_scopes(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    scope_replay *self = (scope_replay *)op;
    PyObject *found = PyList_New(0);
    for (uint32_t i = 0; found != NULL && i < self->scope_count; i++) {
        if (!scope_replay_is_open(self, i)) {
            continue;
        }
        PyObject *pair =
            Py_BuildValue("(OK)", self->scopes[i].scope, (unsigned long long)self->scopes[i].allocated);
        if (pair == NULL || PyList_Append(found, pair) < 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(pair);
    }
    return found;
}

PyDoc_STRVAR(count_differing_doc,
"count_differing($self, /)\n--\n\n"
"Bytes that were not what had been written, since the last release; of a checked replay. Those that\n"
"are live are read now.");

static PyObject *count_differing(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    scope_replay *self = (scope_replay *)op;
    for (uint32_t i = 0; self->checked && i < self->object_count; i++) {
        const held_object *object = &self->objects[i];
        if (object->segment != NULL && !object->adopted && scope_replay_is_open(self, object->scope) && scope_replay_check(self, i) < 0) {
            return NULL;
        }
    }
    return PyLong_FromUnsignedLongLong(self->differing);
}

PyDoc_STRVAR(take_doc,
"take($self, /)\n--\n\n"
"The single steps so far as (seconds, how many took that), as Sampler.take(); none are left.");

static PyObject *take(PyObject *op, PyObject *Py_UNUSED(ignored))
{
    scope_replay *self = (scope_replay *)op;
    return probe_take_buckets(self->samples, self->hz);
}

/* ---- life ------------------------------------------------------------------------------------------- */

static int scope_replay_traverse(PyObject *op, visitproc visit, void *arg)
{
    scope_replay *self = (scope_replay *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->holder);
    for (int i = 0; i < KINDS; i++) {
        Py_VISIT(self->opens[i]);
    }
    for (uint32_t i = 0; self->objects != NULL && i < self->object_count; i++) {
        Py_VISIT(self->objects[i].segment);
    }
    for (uint32_t i = 0; self->scopes != NULL && i < self->scope_count; i++) {
        Py_VISIT(self->scopes[i].scope);
        Py_VISIT(self->scopes[i].holder);
    }
    return 0;
}

static int scope_replay_clear(PyObject *op)
{
    scope_replay *self = (scope_replay *)op;
    PyObject *raised = take_exception(); /* through the frame that this replay ends with */
    if (drop_all(self) < 0) {
        PyErr_WriteUnraisable((PyObject *)Py_TYPE(op)); /* op itself may be on its way out */
    }
    set_exception_again(raised);
    Py_CLEAR(self->holder);
    for (int i = 0; i < KINDS; i++) {
        Py_CLEAR(self->opens[i]);
    }
    return 0;
}

static void scope_replay_dealloc(PyObject *op)
{
    scope_replay *self = (scope_replay *)op;
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    scope_replay_clear(op);
    for (int i = 0; i < SIZES; i++) {
        Py_CLEAR(self->sizes[i]);
    }
    PyObject *names[] = {self->defers, self->defer,      self->aligned,     self->allocate, self->adopt,
                         self->close,  self->scope_name, self->myself_name};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        Py_XDECREF(names[i]);
    }
    while (self->unused != NULL) {
        export *next = self->unused->next;
        PyMem_Free(self->unused);
        self->unused = next;
    }
    PyMem_Free(self->objects);
    PyMem_Free(self->scopes);
    PyMem_Free(self->samples);
    PyMem_RawFree(self->foreign);
    type->tp_free(op);
    Py_DECREF(type);
}

static int make_names(scope_replay *self)
{
    self->defers = Py_BuildValue("(s)", "exports");
    self->defer = PyUnicode_InternFromString("defer");
    self->aligned = Py_BuildValue("(s)", "align");
    self->allocate = PyUnicode_InternFromString("allocate");
    self->adopt = PyUnicode_InternFromString("adopt");
    self->close = PyUnicode_InternFromString("close");
    self->scope_name = PyUnicode_InternFromString("scope");
    self->myself_name = PyUnicode_InternFromString("myself");
    return self->defers != NULL && self->defer != NULL && self->aligned != NULL && self->allocate != NULL &&
                   self->adopt != NULL && self->close != NULL && self->scope_name != NULL &&
                   self->myself_name != NULL
               ? 0
               : -1;
}

static int make_tables(scope_replay *self, bool sampled)
{
    size_t objects = ((size_t)self->object_count + 1) * sizeof(held_object);
    self->objects = PyMem_Malloc(objects);
    self->scopes = PyMem_Calloc((size_t)self->scope_count + 1, sizeof(held_scope));
    self->foreign = PyMem_RawCalloc(self->foreign_size + 1, 1);
    if (sampled) {
        self->samples = PyMem_Calloc(HDR_BUCKETS, sizeof(uint64_t));
    }
    if (self->objects == NULL || self->scopes == NULL || self->foreign == NULL ||
        (sampled && self->samples == NULL)) {
        PyErr_NoMemory();
        PyMem_Free(self->objects);
        self->objects = NULL;
        return -1;
    }
    memset(self->objects, 0, objects); /* by which it is resident, and not by a step */
    return 0;
}

/* ((callable, whether it has to be closed), ...) by recorded kind, or None. */
static int take_opens(scope_replay *self, PyObject *opens)
{
    if (opens == Py_None) {
        return 0;
    }
    if (!PyTuple_Check(opens) || PyTuple_GET_SIZE(opens) != KINDS) {
        PyErr_Format(PyExc_TypeError, "opens must be None or a tuple of %d pairs, found %R", KINDS, opens);
        return -1;
    }
    for (int i = 0; i < KINDS; i++) {
        PyObject *call;
        int closes;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(opens, i), "Op:opens", &call, &closes)) {
            return -1;
        }
        self->opens[i] = Py_NewRef(call);
        self->closes[i] = closes != 0;
    }
    return 0;
}

static PyObject *scope_replay_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *const keywords[] = {"opens", "objects", "scopes", "holder", "defer", "adopted",
                                     "touch", "checked", "clock",  "hz",     NULL};
    PyObject *opens, *holder = Py_None;
    unsigned int objects, scopes;
    int defer = 0, touch = TOUCH_NONE, checked = 0;
    Py_ssize_t adopted = 0;
    const char *clock = NULL;
    double hz = 1e9;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OII|$Opnipzd:ScopeReplay", (char **)keywords, &opens,
                                     &objects, &scopes, &holder, &defer, &adopted, &touch, &checked, &clock,
                                     &hz)) {
        return NULL;
    }
    if (touch < TOUCH_NONE || touch > TOUCH_ALL || adopted < 0) {
        return PyErr_Format(PyExc_ValueError, "expected touch of 0 to 2 and adopted of 0 or more, found %d, %zd",
                            touch, adopted);
    }
    scope_replay *self = (scope_replay *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->object_count = objects;
    self->scope_count = scopes;
    self->is_deferring = defer != 0;
    self->checked = checked != 0;
    self->touch = (uint8_t)touch;
    self->foreign_size = (size_t)adopted;
    self->by_tsc = clock != NULL && strcmp(clock, "rdtscp") == 0 && ticks_have_tsc();
    self->hz = hz;
    self->page = (size_t)sysconf(_SC_PAGESIZE);
    self->holder = holder == Py_None ? NULL : Py_NewRef(holder);
    if (make_names(self) < 0 || make_tables(self, clock != NULL) < 0 || take_opens(self, opens) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyMethodDef scope_replay_methods[] = {
    {"run", run, METH_O, run_doc},
    {"release", release, METH_NOARGS, release_doc},
    {"open_scopes", open_scopes, METH_NOARGS, open_scopes_doc},
    {"count_differing", count_differing, METH_NOARGS, count_differing_doc},
    {"take", take, METH_NOARGS, take_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(scope_replay_doc,
"ScopeReplay(opens, objects, scopes, *, holder=None, defer=False, adopted=0, touch=0, checked=False,\n"
"            clock=None, hz=1e9)\n--\n\n"
"Executes steps of plans with recorded scopes through the Python types of `scopes`.\n\n"
"opens: for each recorded kind (unknown, confined, shared, implicit) what opens a scope and whether\n"
"that has to be closed; None executes the same steps on nothing, for the time that the replay itself\n"
"takes. objects, scopes: sizes of the tables. holder: a type with the attributes scope and myself, of\n"
"which one is put in a cycle with each scope that is not closed, so that only the collector frees it.\n"
"defer: scopes are closed while something is exported. adopted: the most bytes that are adopted at\n"
"once. touch: 0, nothing is written, 1, a byte a page, 2, all bytes. checked: all bytes are written,\n"
"and read before they go. clock: times single steps, as Sampler.");

static PyType_Slot scope_replay_slots[] = {
    {Py_tp_doc, (void *)scope_replay_doc},
    {Py_tp_new, scope_replay_new},
    {Py_tp_traverse, scope_replay_traverse},
    {Py_tp_clear, scope_replay_clear},
    {Py_tp_dealloc, scope_replay_dealloc},
    {Py_tp_methods, scope_replay_methods},
    {0, NULL},
};

PyType_Spec scope_replay_spec = {
    .name = "stress._probe.ScopeReplay",
    .basicsize = sizeof(scope_replay),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = scope_replay_slots,
};
