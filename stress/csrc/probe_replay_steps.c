/* The steps of a ScopeReplay, one by one. */
#include "probe_replay.h"

#include "probe_hdr.h"
#include "probe_ticks.h"
#include "replay_pattern.h"

#include <errno.h>

enum { USUAL_ALIGN = 4 };     /* 16 bytes */
enum { SPIN_NS = 50 * 1000 }; /* of a wait: what waking up may take */

/* ---- numbers and memory ---------------------------------------------------------------------------- */

/* A borrowed number. */
static PyObject *number(scope_replay *self, uint64_t value)
{
    size_t at = (size_t)(value * UINT64_C(0x9E3779B97F4A7C15) >> 58);
    if (self->sizes[at] == NULL || self->size_values[at] != value) {
        PyObject *made = PyLong_FromUnsignedLongLong(value);
        if (made == NULL) {
            return NULL;
        }
        Py_XSETREF(self->sizes[at], made);
        self->size_values[at] = value;
    }
    return self->sizes[at];
}

/* Writes what is asked for to new memory. */
static int fill(scope_replay *self, uint32_t object)
{
    Py_buffer view;
    if (PyObject_GetBuffer(self->objects[object].segment, &view, PyBUF_WRITABLE) < 0) {
        return -1;
    }
    if (self->checked) {
        replay_write_pattern(object, view.buf, (size_t)view.len);
    }
    else if (self->touch == TOUCH_ALL) {
        memset(view.buf, 1, (size_t)view.len);
    }
    else {
        replay_touch_pages(view.buf, 0, (size_t)view.len, self->page);
    }
    PyBuffer_Release(&view);
    return 0;
}

/* Reads it again. */
int scope_replay_check(scope_replay *self, uint32_t object)
{
    Py_buffer view;
    if (PyObject_GetBuffer(self->objects[object].segment, &view, PyBUF_SIMPLE) < 0) {
        return -1;
    }
    self->differing += replay_count_differing(object, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return 0;
}

/* ---- objects ---------------------------------------------------------------------------------------- */

static int allocate_object(scope_replay *self, const replay_step *step)
{
    held_object *object = &self->objects[step->object];
    held_scope *scope = &self->scopes[step->scope];
    PyObject *size = number(self, step->size);
    if (size == NULL) {
        return -1;
    }
    PyObject *segment;
    if (step->align <= USUAL_ALIGN) {
        PyObject *arguments[] = {scope->scope, size};
        segment = PyObject_VectorcallMethod(self->allocate, arguments, 2, NULL);
    }
    else {
        PyObject *align = PyLong_FromUnsignedLongLong(UINT64_C(1) << step->align);
        if (align == NULL) {
            return -1;
        }
        PyObject *arguments[] = {scope->scope, size, align};
        segment = PyObject_VectorcallMethod(self->allocate, arguments, 2, self->aligned);
        Py_DECREF(align);
    }
    if (segment == NULL) {
        return -1;
    }
    *object = (held_object){.segment = segment, .scope = step->scope};
    scope->allocated++;
    return self->touch != TOUCH_NONE || self->checked ? fill(self, step->object) : 0;
}

static int adopt_object(scope_replay *self, const replay_step *step)
{
    if (step->size > self->foreign_size) {
        PyErr_Format(PyExc_ValueError, "expected adopted memory of at most %zu bytes, found %llu",
                     self->foreign_size, (unsigned long long)step->size);
        return -1;
    }
    PyObject *size = number(self, step->size);
    PyObject *address = size == NULL ? NULL : PyLong_FromVoidPtr(self->foreign);
    if (address == NULL) {
        return -1;
    }
    PyObject *arguments[] = {self->scopes[step->scope].scope, address, size};
    PyObject *segment = PyObject_VectorcallMethod(self->adopt, arguments, 3, NULL);
    Py_DECREF(address);
    if (segment == NULL) {
        return -1;
    }
    self->objects[step->object] = (held_object){.segment = segment, .scope = step->scope, .adopted = true};
    return 0;
}

static int export_object(scope_replay *self, const replay_step *step)
{
    held_object *object = &self->objects[step->object];
    export *taken = self->unused;
    if (taken != NULL) {
        self->unused = taken->next;
    }
    else {
        taken = PyMem_Malloc(sizeof(export));
        if (taken == NULL) {
            PyErr_NoMemory();
            return -1;
        }
    }
    if (PyObject_GetBuffer(object->segment, &taken->view, PyBUF_SIMPLE) < 0) {
        taken->next = self->unused;
        self->unused = taken;
        return -1;
    }
    taken->next = object->exports;
    object->exports = taken;
    return 0;
}

void scope_replay_unexport_object(scope_replay *self, held_object *object)
{
    export *taken = object->exports;
    if (taken != NULL) {
        object->exports = taken->next;
        PyBuffer_Release(&taken->view);
        taken->next = self->unused;
        self->unused = taken;
    }
}

int scope_replay_is_open(scope_replay *self, uint32_t scope)
{
    return self->scopes[scope].scope != NULL && !self->scopes[scope].closed;
}

static int drop_object(scope_replay *self, const replay_step *step)
{
    held_object *object = &self->objects[step->object];
    if (self->checked && !object->adopted && scope_replay_is_open(self, object->scope) && scope_replay_check(self, step->object) < 0) {
        return -1;
    }
    while (object->exports != NULL) {
        scope_replay_unexport_object(self, object);
    }
    Py_CLEAR(object->segment);
    return 0;
}

/* ---- scopes ----------------------------------------------------------------------------------------- */

/* A new reference to something that is in a cycle with itself and has the scope. */
static PyObject *hold(scope_replay *self, PyObject *scope)
{
    PyObject *holder = PyObject_CallNoArgs(self->holder);
    if (holder != NULL && (PyObject_SetAttr(holder, self->scope_name, scope) < 0 ||
                           PyObject_SetAttr(holder, self->myself_name, holder) < 0)) {
        Py_CLEAR(holder);
    }
    return holder;
}

static int open_scope(scope_replay *self, const replay_step *step)
{
    held_scope *held = &self->scopes[step->scope];
    uint8_t kind = step->kind < KINDS ? step->kind : 0;
    bool closes = self->closes[kind];
    PyObject *scope;
    if (closes && self->is_deferring) {
        scope = PyObject_Vectorcall(self->opens[kind], &self->defer, 0, self->defers);
    }
    else {
        scope = PyObject_CallNoArgs(self->opens[kind]);
    }
    if (scope == NULL) {
        return -1;
    }
    PyObject *holder = NULL;
    if (!closes && self->holder != NULL) {
        holder = hold(self, scope);
        if (holder == NULL) {
            Py_DECREF(scope);
            return -1;
        }
    }
    *held = (held_scope){.scope = scope, .holder = holder, .closes = closes};
    return 0;
}

static int check_scope(scope_replay *self, uint32_t scope)
{
    for (uint32_t i = 0; i < self->object_count; i++) {
        const held_object *object = &self->objects[i];
        if (object->segment != NULL && !object->adopted && object->scope == scope && scope_replay_check(self, i) < 0) {
            return -1;
        }
    }
    return 0;
}

int scope_replay_close_scope(scope_replay *self, uint32_t scope)
{
    held_scope *held = &self->scopes[scope];
    if (!held->closes || held->closed) {
        return 0;
    }
    if (self->checked && check_scope(self, scope) < 0) {
        return -1;
    }
    PyObject *done = PyObject_VectorcallMethod(self->close, &held->scope, 1, NULL);
    if (done == NULL) {
        return -1;
    }
    Py_DECREF(done);
    held->closed = true;
    return 0;
}

void scope_replay_drop_scope(held_scope *held)
{
    Py_CLEAR(held->scope);
    Py_CLEAR(held->holder);
}

/* ---- steps ------------------------------------------------------------------------------------------ */

static void think(scope_replay *self, uint64_t until_ns)
{
    uint64_t until = self->run_ns - self->elapsed_ns + until_ns; /* may wrap around and back */
    if ((int64_t)(until - ticks_of_kernel()) > SPIN_NS) {
        uint64_t wake = until - SPIN_NS;
        struct timespec at = {.tv_sec = (time_t)(wake / 1000000000u), .tv_nsec = (long)(wake % 1000000000u)};
        Py_BEGIN_ALLOW_THREADS
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
        }
        Py_END_ALLOW_THREADS
    }
    while ((int64_t)(until - ticks_of_kernel()) > 0) {
    }
}

/* Whether the step is one that can be executed now: a plan has no others. */
static bool fits(const scope_replay *self, const replay_step *step)
{
    bool object = step->object < self->object_count, scope = step->scope < self->scope_count;
    switch (step->code) {
    case REPLAY_ALLOCATE:
    case REPLAY_ADOPT:
        return object && scope && self->objects[step->object].segment == NULL &&
               self->scopes[step->scope].scope != NULL;
    case REPLAY_EXPORT:
    case REPLAY_UNEXPORT:
    case REPLAY_DROP:
        return object && self->objects[step->object].segment != NULL;
    case REPLAY_OPEN:
        return scope && self->scopes[step->scope].scope == NULL;
    case REPLAY_CLOSE:
    case REPLAY_DROP_SCOPE:
        return scope && self->scopes[step->scope].scope != NULL;
    default:
        return step->code == REPLAY_THINK;
    }
}

static int act(scope_replay *self, const replay_step *step)
{
    switch (step->code) {
    case REPLAY_ALLOCATE:
        return allocate_object(self, step);
    case REPLAY_ADOPT:
        return adopt_object(self, step);
    case REPLAY_EXPORT:
        return export_object(self, step);
    case REPLAY_UNEXPORT:
        scope_replay_unexport_object(self, &self->objects[step->object]);
        return 0;
    case REPLAY_DROP:
        return drop_object(self, step);
    case REPLAY_OPEN:
        return open_scope(self, step);
    case REPLAY_CLOSE:
        return scope_replay_close_scope(self, step->scope);
    default:
        scope_replay_drop_scope(&self->scopes[step->scope]);
        return 0;
    }
}

/* The same tables, and nothing in them. */
static void act_on_nothing(scope_replay *self, const replay_step *step)
{
    switch (step->code) {
    case REPLAY_ALLOCATE:
    case REPLAY_ADOPT:
        self->objects[step->object] = (held_object){.segment = Py_NewRef(Py_None), .scope = step->scope};
        break;
    case REPLAY_DROP:
        Py_CLEAR(self->objects[step->object].segment);
        break;
    case REPLAY_OPEN:
        self->scopes[step->scope] = (held_scope){.scope = Py_NewRef(Py_None)};
        break;
    case REPLAY_DROP_SCOPE:
        Py_CLEAR(self->scopes[step->scope].scope);
        break;
    default:
        break;
    }
}

static void note_step(const replay_step *step, size_t index)
{
    PyObject *error = take_exception();
    PyObject *note = PyUnicode_FromFormat("in the replay, at step %zu: code %d, object %lu, scope %lu, %llu bytes",
                                          index, step->code, (unsigned long)step->object,
                                          (unsigned long)step->scope, (unsigned long long)step->size);
    PyObject *done = note == NULL ? NULL : PyObject_CallMethod(error, "add_note", "O", note);
    if (done == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(done);
    Py_XDECREF(note);
    set_exception_again(error);
}

/* Executes the steps; 0, or -1 with an exception. */
int scope_replay_execute(scope_replay *self, const replay_step *steps, size_t count)
{
    bool is_nothing = self->opens[0] == NULL;
    for (size_t i = 0; i < count; i++) {
        const replay_step *step = &steps[i];
        if (!fits(self, step)) {
            PyErr_Format(PyExc_ValueError, "step %zu can't be executed: code %d, object %lu, scope %lu", i,
                         step->code, (unsigned long)step->object, (unsigned long)step->scope);
            return -1;
        }
        if (step->code == REPLAY_THINK) {
            think(self, step->size);
            continue;
        }
        uint64_t before = self->samples != NULL ? ticks_now(self->by_tsc) : 0;
        if (is_nothing) {
            act_on_nothing(self, step);
        }
        else if (act(self, step) < 0) {
            note_step(step, i);
            return -1;
        }
        if (self->samples != NULL) {
            uint64_t after = ticks_now(self->by_tsc);
            self->samples[hdr_bucket(after > before ? after - before : 0)]++;
        }
    }
    return 0;
}
