/* The module stress._probe: multi-phase init, all state in the module object. */
#include "probe.h"

/* A new reference to the list gc.callbacks. */
static PyObject *gc_callbacks(void)
{
    PyObject *gc = PyImport_ImportModule("gc");
    if (gc == NULL) {
        return NULL;
    }
    PyObject *callbacks = PyObject_GetAttrString(gc, "callbacks");
    Py_DECREF(gc);
    if (callbacks != NULL && !PyList_Check(callbacks)) {
        PyErr_Format(PyExc_TypeError, "gc.callbacks must be a list, found %s",
                     Py_TYPE(callbacks)->tp_name);
        Py_CLEAR(callbacks);
    }
    return callbacks;
}

/* Makes a type of the module; a new reference to it goes to `type`. */
static int add_type(PyObject *module, PyType_Spec *spec, PyObject **type)
{
    *type = PyType_FromModuleAndSpec(module, spec, NULL);
    return *type == NULL ? -1 : PyModule_AddType(module, (PyTypeObject *)*type);
}

static int module_exec(PyObject *module)
{
    probe_state *state = PyModule_GetState(module);

    state->generation_key = PyUnicode_InternFromString("generation");
    if (state->generation_key == NULL) {
        return -1;
    }
    state->gc_callbacks = gc_callbacks();
    if (state->gc_callbacks == NULL) {
        return -1;
    }
    if (add_type(module, &gc_recorder_spec, &state->gc_recorder_type) < 0
        || add_type(module, &sampler_spec, &state->sampler_type) < 0) {
        return -1;
    }
    if (add_type(module, &scope_replay_spec, &state->scope_replay_type) < 0) {
        return -1;
    }
    return add_type(module, &alloc_recorder_spec, &state->alloc_recorder_type);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    probe_state *state = PyModule_GetState(module);
    Py_VISIT(state->generation_key);
    Py_VISIT(state->gc_callbacks);
    Py_VISIT(state->gc_recorder_type);
    Py_VISIT(state->sampler_type);
    Py_VISIT(state->alloc_recorder_type);
    Py_VISIT(state->scope_replay_type);
    return 0;
}

static int module_clear(PyObject *module)
{
    probe_state *state = PyModule_GetState(module);
    Py_CLEAR(state->generation_key);
    Py_CLEAR(state->gc_callbacks);
    Py_CLEAR(state->gc_recorder_type);
    Py_CLEAR(state->sampler_type);
    Py_CLEAR(state->alloc_recorder_type);
    Py_CLEAR(state->scope_replay_type);
    return 0;
}

static void module_free(void *module)
{
    (void)module_clear(module);
}

PyDoc_STRVAR(read_held_doc,
"read_held($module, path, /)\n--\n\n"
"The first 16 KiB of a file in /proc, read without giving up the GIL. OSError names the file.");

PyDoc_STRVAR(write_held_doc,
"write_held($module, path, data, /)\n--\n\n"
"Write bytes to a file in /proc in one call, without giving up the GIL. OSError names the file.");

PyDoc_STRVAR(tsc_hz_doc,
"tsc_hz($module, span, /)\n--\n\n"
"Ticks a second of the processor's counter, held against CLOCK_MONOTONIC for `span` seconds (0.001\n"
"to 10, else ValueError); None where there is no rdtscp or the rate is not constant.");

PyDoc_STRVAR(thread_user_time_ns_doc,
"thread_user_time_ns($module, /)\n--\n\n"
"Nanoseconds that the calling thread has spent in user mode, by the kernel's shortest way.");

PyDoc_STRVAR(thread_user_time_by_id_ns_doc,
"thread_user_time_by_id_ns($module, /)\n--\n\n"
"Nanoseconds that the calling thread has spent in user mode, by the clock under the thread's own id.");

PyDoc_STRVAR(total_allocated_bytes_doc,
"total_allocated_bytes($module, /)\n--\n\n"
"Bytes handed out to all threads so far, ended ones included, excluded ones not. Never decreases.\n\n"
"RuntimeError when no AllocRecorder was ever started.");

PyDoc_STRVAR(total_allocations_doc,
"total_allocations($module, /)\n--\n\n"
"The number of allocations behind total_allocated_bytes().");

PyDoc_STRVAR(thread_allocated_bytes_doc,
"thread_allocated_bytes($module, /)\n--\n\n"
"Bytes handed out to the calling thread so far. RuntimeError as total_allocated_bytes().");

PyDoc_STRVAR(thread_allocations_doc,
"thread_allocations($module, /)\n--\n\n"
"The number of allocations behind thread_allocated_bytes().");

PyDoc_STRVAR(exclude_thread_doc,
"exclude_thread($module, /)\n--\n\n"
"What the calling thread allocates from now on is in no total, and it is no listed thread.");

PyDoc_STRVAR(listed_threads_doc,
"listed_threads($module, /)\n--\n\n"
"(number, ident, bytes) of each thread that has allocated and not ended: a number that no other\n"
"thread ever gets, threading's ident, and what it was handed so far.");

static PyMethodDef module_methods[] = {
    {"read_held", probe_read_held, METH_VARARGS, read_held_doc},
    {"thread_user_time_ns", probe_thread_user_time_ns, METH_NOARGS, thread_user_time_ns_doc},
    {"thread_user_time_by_id_ns", probe_thread_user_time_by_id_ns, METH_NOARGS,
     thread_user_time_by_id_ns_doc},
    {"tsc_hz", probe_tsc_hz, METH_O, tsc_hz_doc},
    {"write_held", probe_write_held, METH_VARARGS, write_held_doc},
    {"total_allocated_bytes", probe_total_allocated_bytes, METH_NOARGS, total_allocated_bytes_doc},
    {"total_allocations", probe_total_allocations, METH_NOARGS, total_allocations_doc},
    {"thread_allocated_bytes", probe_thread_allocated_bytes, METH_NOARGS, thread_allocated_bytes_doc},
    {"thread_allocations", probe_thread_allocations, METH_NOARGS, thread_allocations_doc},
    {"exclude_thread", probe_exclude_thread, METH_NOARGS, exclude_thread_doc},
    {"listed_threads", probe_listed_threads, METH_NOARGS, listed_threads_doc},
    {NULL, NULL, 0, NULL},
};

/* The slots take a function as an object pointer, which is all that CPython's own table offers. */
static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)module_exec},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030d0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef probe_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "stress._probe",
    .m_doc = "Probes that have to live inside the interpreter or at the clock.",
    .m_size = sizeof(probe_state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__probe(void)
{
    return PyModuleDef_Init(&probe_module);
}
