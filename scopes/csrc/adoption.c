/* Foreign memory in a scope.
 *
 * An adoption is owned by the scope while that is open, and by each segment of the memory. Its release
 * function runs once: when the scope closes, unless the memory is pinned or its buffer was ever taken.
 * Then something that is not counted may still read it through a segment, so it runs with the last
 * segment, and not before: not even where the collector has found all of them unreachable, since their
 * finalizers may read, or revive them. So from then on the collector is not shown the function, which
 * keeps it whole; one that refers to a segment of its own memory keeps itself alive. */
#include "arguments.h"
#include "errors.h"
#include "record.h"
#include "segment.h"

typedef struct {
    PyObject_HEAD
    block block;       /* base, size and exports are used; never the arena's */
    PyObject *release; /* owned; NULL once called, or if there is none */
    PyObject *address; /* owned; what release is called with, made while failing is possible */
    uint64_t generation;
    _Atomic uint8_t exported; /* 1: the buffer has been taken */
    _Atomic uint8_t released; /* 1: the memory may be gone; set with the lock of this object held */
} adoption_object;

static int call_release(adoption_object *adoption)
{
    OBJECT_LOCK(adoption);
    PyObject *release = adoption->release;
    adoption->release = NULL;
    adoption->released = 1;
    OBJECT_UNLOCK();
    if (release == NULL)
        return 0;
    PyObject *result = PyObject_CallOneArg(release, adoption->address);
    Py_DECREF(release);
    Py_XDECREF(result);
    return result != NULL ? 0 : -1;
}

int adoption_release_at_close(PyObject *self)
{
    adoption_object *adoption = (adoption_object *)self;
    if (adoption->exported || counter_get(&adoption->block.exports) > 0) {
        adoption->exported = 1;
        return 0;
    }
    return call_release(adoption);
}

int adoption_is_released(PyObject *self)
{
    return ((adoption_object *)self)->released;
}

void adoption_mark_exported(PyObject *self)
{
    ((adoption_object *)self)->exported = 1;
}

/* Runs a release that nobody is left to run, once. */
static void release_unraised(adoption_object *adoption)
{
    if (adoption->release == NULL || adoption->generation != fork_generation())
        return;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *release = Py_NewRef(adoption->release);
    if (call_release(adoption) < 0)
        PyErr_WriteUnraisable(release);
    Py_DECREF(release);
    PyErr_Restore(type, value, trace);
}

static void adoption_finalize(PyObject *self)
{
    adoption_object *adoption = (adoption_object *)self;
    if (!adoption->exported && counter_get(&adoption->block.exports) == 0)
        release_unraised(adoption);
}

static int adoption_traverse(PyObject *self, visitproc visit, void *arg)
{
    adoption_object *adoption = (adoption_object *)self;
    Py_VISIT(Py_TYPE(self));
    if (!adoption->exported)
        Py_VISIT(adoption->release);
    return 0;
}

static int adoption_clear(PyObject *self)
{
    adoption_object *adoption = (adoption_object *)self;
    if (!adoption->exported)
        Py_CLEAR(adoption->release);
    return 0;
}

static void adoption_dealloc(PyObject *self)
{
    adoption_object *adoption = (adoption_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    release_unraised(adoption);
    Py_CLEAR(adoption->release);
    Py_CLEAR(adoption->address);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static adoption_object *new_adoption(core_state *state, char *address, size_t nbytes)
{
    PyObject *number = PyLong_FromVoidPtr(address);
    adoption_object *adoption =
        number != NULL ? PyObject_GC_New(adoption_object, state->adoption_type) : NULL;
    if (adoption == NULL) {
        Py_XDECREF(number);
        return NULL;
    }
    adoption->address = number;
    adoption->block = (block){.base = address, .size = nbytes};
    adoption->release = NULL; /* until it is part of a scope, failures must not call it */
    adoption->generation = fork_generation();
    adoption->exported = adoption->released = 0;
    PyObject_GC_Track(adoption);
    return adoption;
}

static int convert_address(PyObject *value, char **address)
{
    PyObject *number = PyNumber_Index(value);
    if (number == NULL)
        return -1;
    *address = PyLong_AsVoidPtr(number);
    Py_DECREF(number);
    if (PyErr_Occurred())
        return -1;
    if (*address == NULL) {
        PyErr_SetString(PyExc_ValueError, "address must not be 0");
        return -1;
    }
    return 0;
}

PyObject *scope_adopt(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    static const char *const keywords[] = {"address", "nbytes", "release", NULL};
    core_state *state = scope_core(self);
    scope_object *scope = (scope_object *)self;
    PyObject *found[3];
    size_t nbytes;
    char *address;
    int result;
    if (parse_arguments("adopt", keywords, 3, 2, args, nargs, names, found) < 0 ||
        convert_address(found[0], &address) < 0 || convert_nbytes(found[1], "nbytes", &nbytes) < 0)
        return NULL;
    PyObject *release = found[2] != Py_None ? found[2] : NULL;
    if (release != NULL && !PyCallable_Check(release)) {
        PyErr_Format(PyExc_TypeError, "release must be callable or None, found %R", release);
        return NULL;
    }
    if (nbytes > SIZE_MAX - (uintptr_t)address) {
        PyErr_Format(PyExc_ValueError, "%zu bytes at address %p pass the end of memory", nbytes, address);
        return NULL;
    }
    segment_object *segment = segment_new(state);
    adoption_object *adoption = segment ? new_adoption(state, address, nbytes) : NULL;
    if (adoption == NULL) {
        Py_XDECREF(segment);
        return NULL;
    }
    /* Before it is registered, since another thread may close the scope at once. */
    adoption->release = Py_XNewRef(release);
    result = scope_register(state, scope, &scope->adoptions, (PyObject *)adoption);
    if (result < 0)
        Py_CLEAR(adoption->release);
    if (result == 0) {
        segment_set(segment, scope, &adoption->block, (PyObject *)adoption, address,
                    (Py_ssize_t)nbytes, 0);
        EVENT(state, EVENT_ADOPT, segment, scope, nbytes);
    }
    else
        Py_CLEAR(segment);
    Py_DECREF(adoption);
    return (PyObject *)segment;
}

static PyType_Slot adoption_slots[] = {
    {Py_tp_dealloc, adoption_dealloc},   {Py_tp_traverse, adoption_traverse},
    {Py_tp_clear, adoption_clear},       {Py_tp_finalize, adoption_finalize},
    {0, NULL},
};

static PyType_Spec adoption_spec = {
    .name = "scopes._core.Adoption",
    .basicsize = sizeof(adoption_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = adoption_slots,
};

int adoption_add_type(PyObject *module, core_state *state)
{
    state->adoption_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &adoption_spec, NULL);
    return state->adoption_type != NULL ? 0 : -1;
}
