/* Pins: an address that stays valid within a with statement. */
#include "debug.h"
#include "errors.h"

typedef struct {
    PyObject_HEAD
    segment_object *segment; /* owned */
    word held;               /* 0: no export; else one, as mark_of */
} pin_object;

/* Stands for an export without an origin, which is no address of one. */
#define WITHOUT_ORIGIN 1

static uint64_t mark_of(export_origin *origin)
{
    return origin != NULL ? (uint64_t)(uintptr_t)origin : WITHOUT_ORIGIN;
}

static export_origin *origin_of(uint64_t held)
{
    return held != WITHOUT_ORIGIN ? (export_origin *)(uintptr_t)held : NULL;
}

PyObject *segment_pin(PyObject *self, PyObject *Py_UNUSED(unused))
{
    core_state *state = ((segment_object *)self)->core;
    if (state->pin_type == NULL)
        return state_is_gone();
    pin_object *pin = PyObject_GC_New(pin_object, state->pin_type);
    if (pin == NULL)
        return NULL;
    pin->segment = (segment_object *)Py_NewRef(self);
    pin->held = 0;
    PyObject_GC_Track(pin);
    return (PyObject *)pin;
}

static void leave(pin_object *pin)
{
    uint64_t held = word_exchange(&pin->held, 0);
    if (held != 0)
        segment_unexport(pin->segment->core, pin->segment, origin_of(held));
}

static PyObject *pin_enter(PyObject *self, PyObject *Py_UNUSED(unused))
{
    pin_object *pin = (pin_object *)self;
    core_state *state = pin->segment->core;
    export_origin *origin;
    PyObject *address = PyLong_FromVoidPtr(pin->segment->address);
    if (address == NULL)
        return NULL;
    if (segment_export(state, pin->segment, &origin) < 0) {
        Py_DECREF(address);
        return NULL;
    }
    uint64_t held = 0;
    while (held == 0 && !word_replace(&pin->held, &held, mark_of(origin))) {
    }
    if (held != 0) {
        Py_DECREF(address);
        segment_unexport(state, pin->segment, origin);
        PyErr_SetString(error_class(state->scope_error),
                        "this pin is already in a with statement: take one for each with pin()");
        return NULL;
    }
    return address;
}

static PyObject *pin_exit(PyObject *self, PyObject *const *Py_UNUSED(args), Py_ssize_t Py_UNUSED(nargs))
{
    leave((pin_object *)self);
    Py_RETURN_FALSE;
}

static int pin_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((pin_object *)self)->segment);
    return 0;
}

/* No tp_clear: a cycle through a pin goes on through its segment's scope, which has one. */
static void pin_dealloc(PyObject *self)
{
    pin_object *pin = (pin_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    leave(pin);
    Py_DECREF(pin->segment);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMethodDef pin_methods[] = {
    {"__enter__", pin_enter, METH_NOARGS, PyDoc_STR("__enter__($self, /)\n--\n\nThe address.")},
    {"__exit__", (PyCFunction)(void (*)(void))pin_exit, METH_FASTCALL,
     PyDoc_STR("__exit__($self, /, *exception)\n--\n\nEnds the export.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot pin_slots[] = {
    {Py_tp_doc, (void *)"The address of a segment, valid within a with statement; see Segment.pin()."},
    {Py_tp_dealloc, pin_dealloc},
    {Py_tp_traverse, pin_traverse},
    {Py_tp_methods, pin_methods},
    {0, NULL},
};

static PyType_Spec pin_spec = {
    .name = "scopes._core.Pin",
    .basicsize = sizeof(pin_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = pin_slots,
};

int pin_add_type(PyObject *module, core_state *state)
{
    state->pin_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &pin_spec, NULL);
    return state->pin_type != NULL ? 0 : -1;
}
