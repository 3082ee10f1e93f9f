/* What the parts of stress._probe share: the module's state, and the types and functions each adds.
 */
#ifndef STRESS_PROBE_H
#define STRESS_PROBE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Fields in the order in which module_traverse and module_clear list them. */
typedef struct {
    PyObject *generation_key; /* the interned str "generation" */
    PyObject *gc_callbacks;   /* the list gc.callbacks, the one that the collector reads */
    PyObject *gc_recorder_type;
    PyObject *sampler_type;
    PyObject *alloc_recorder_type;
    PyObject *scope_replay_type;
} probe_state;

/* The type spec of GCRecorder (probe_gc.c). */
extern PyType_Spec gc_recorder_spec;

/* The type spec of Sampler, and tsc_hz(span), METH_O (probe_sampler.c). */
extern PyType_Spec sampler_spec;
PyObject *probe_tsc_hz(PyObject *module, PyObject *argument);
/* HDR_BUCKETS counts of ticks, or NULL, as a list of (seconds, count); sets them to 0. */
PyObject *probe_take_buckets(uint64_t *counts, double hz);

/* The type spec of ScopeReplay (probe_replay.c). */
extern PyType_Spec scope_replay_spec;

/* thread_user_time_ns() and thread_user_time_by_id_ns(), both METH_NOARGS (probe_cpu.c). */
PyObject *probe_thread_user_time_ns(PyObject *module, PyObject *ignored);
PyObject *probe_thread_user_time_by_id_ns(PyObject *module, PyObject *ignored);

/* The type spec of AllocRecorder, and functions, all METH_NOARGS (probe_alloc.c). */
extern PyType_Spec alloc_recorder_spec;
PyObject *probe_total_allocated_bytes(PyObject *module, PyObject *ignored);
PyObject *probe_total_allocations(PyObject *module, PyObject *ignored);
PyObject *probe_thread_allocated_bytes(PyObject *module, PyObject *ignored);
PyObject *probe_thread_allocations(PyObject *module, PyObject *ignored);
PyObject *probe_exclude_thread(PyObject *module, PyObject *ignored);
PyObject *probe_listed_threads(PyObject *module, PyObject *ignored);

/* read_held(path) and write_held(path, data), both METH_VARARGS (probe_proc.c). */
PyObject *probe_read_held(PyObject *module, PyObject *args);
PyObject *probe_write_held(PyObject *module, PyObject *args);

/* Without the GIL an object's fields are guarded by its own lock; with it the GIL is that lock. */
#ifdef Py_GIL_DISABLED
#define PROBE_LOCK(object) Py_BEGIN_CRITICAL_SECTION(object)
#define PROBE_UNLOCK() Py_END_CRITICAL_SECTION()
#else
#define PROBE_LOCK(object) {
#define PROBE_UNLOCK() }
#endif

#endif
