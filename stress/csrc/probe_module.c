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
    state->gc_recorder_type = PyType_FromModuleAndSpec(module, &gc_recorder_spec, NULL);
    if (state->gc_recorder_type == NULL) {
        return -1;
    }
    if (PyModule_AddType(module, (PyTypeObject *)state->gc_recorder_type) < 0) {
        return -1;
    }
    state->sampler_type = PyType_FromModuleAndSpec(module, &sampler_spec, NULL);
    if (state->sampler_type == NULL) {
        return -1;
    }
    return PyModule_AddType(module, (PyTypeObject *)state->sampler_type);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    probe_state *state = PyModule_GetState(module);
    Py_VISIT(state->generation_key);
    Py_VISIT(state->gc_callbacks);
    Py_VISIT(state->gc_recorder_type);
    Py_VISIT(state->sampler_type);
    return 0;
}

static int module_clear(PyObject *module)
{
    probe_state *state = PyModule_GetState(module);
    Py_CLEAR(state->generation_key);
    Py_CLEAR(state->gc_callbacks);
    Py_CLEAR(state->gc_recorder_type);
    Py_CLEAR(state->sampler_type);
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

static PyMethodDef module_methods[] = {
    {"read_held", probe_read_held, METH_VARARGS, read_held_doc},
    {"thread_user_time_ns", probe_thread_user_time_ns, METH_NOARGS, thread_user_time_ns_doc},
    {"thread_user_time_by_id_ns", probe_thread_user_time_by_id_ns, METH_NOARGS,
     thread_user_time_by_id_ns_doc},
    {"tsc_hz", probe_tsc_hz, METH_O, tsc_hz_doc},
    {"write_held", probe_write_held, METH_VARARGS, write_held_doc},
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
