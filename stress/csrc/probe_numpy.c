/* Counters around the memory of NumPy's arrays, which comes from no domain of Python's.
 *
 * NumPy asks a handler for it (NEP 49). A handler of our own, set by PyDataMem_SetHandler, would hold in
 * one context only: each thread starts with an empty one, and so with the default handler, and what
 * threads allocate is the point. So the default handler itself gets our functions, which pass every call
 * on to its old ones, as in probe_hooks.c. Arrays of a handler that a program sets itself are not seen.
 *
 * NumPy's headers are not needed: an ABI that has not changed since NumPy 1.22 is spelled out below, and
 * what can be checked is.
 */
#include "probe_alloc.h"
#include "probe_counts.h"

#include <stdatomic.h>
#include <stdint.h>

enum { API_DEFAULT_HANDLER = 306, KNOWN_VERSION = 1 };

typedef struct {
    char name[127];
    uint8_t version;
    struct {
        void *context;
        void *(*malloc)(void *context, size_t size);
        void *(*calloc)(void *context, size_t count, size_t size);
        void *(*realloc)(void *context, void *memory, size_t size);
        void (*free)(void *context, void *memory, size_t size);
    } allocator;
} numpy_handler;

/* What the default handler was. One a process, for NumPy can be loaded once in one. */
static numpy_handler inner;
static atomic_bool claimed; /* by the thread that puts our functions in place */

static void *numpy_malloc(void *context, size_t size)
{
    counts_thread *own = counts_enter(0);
    void *memory = inner.allocator.malloc(context, size);
    if (own != NULL) {
        counts_leave(own, memory, size);
    }
    return memory;
}

static void *numpy_calloc(void *context, size_t count, size_t size)
{
    counts_thread *own = counts_enter(0);
    void *memory = inner.allocator.calloc(context, count, size);
    if (own != NULL) {
        counts_leave(own, memory, count * size); /* no overflow: there is memory of that size */
    }
    return memory;
}

static void *numpy_realloc(void *context, void *old, size_t size)
{
    counts_thread *own = counts_enter(0);
    void *memory = inner.allocator.realloc(context, old, size);
    if (own != NULL) {
        counts_leave(own, memory, size);
    }
    return memory;
}

/* A new reference to the loaded module with NumPy's C API; NULL without one, or with an error set. */
static PyObject *loaded_numpy(void)
{
    static const char *const names[] = {"numpy._core._multiarray_umath", "numpy.core._multiarray_umath"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        PyObject *module = name ? PyImport_GetModule(name) : NULL;
        Py_XDECREF(name);
        if (module != NULL || PyErr_Occurred()) {
            return module;
        }
    }
    return NULL;
}

/* The default handler, borrowed from a module that lives as long as the process; NULL with an error. */
static numpy_handler *default_handler(PyObject *module)
{
    PyObject *capsule = PyObject_GetAttrString(module, "_ARRAY_API");
    if (capsule == NULL) {
        return NULL;
    }
    void **api = PyCapsule_GetPointer(capsule, NULL);
    Py_DECREF(capsule);
    return api ? PyCapsule_GetPointer(*(PyObject **)api[API_DEFAULT_HANDLER], "mem_handler") : NULL;
}

/* -1 with an error set. */
static int wrap(numpy_handler *handler)
{
    if (handler->version != KNOWN_VERSION) {
        PyErr_Format(PyExc_RuntimeError,
                     "NumPy's memory handler is expected to be of version %d; found %d",
                     (int)KNOWN_VERSION, (int)handler->version);
        return -1;
    }
    if (atomic_exchange(&claimed, true)) {
        return 0;
    }
    inner = *handler;
    /* Without the GIL another thread may be about to call one of them. */
    __atomic_store_n(&handler->allocator.malloc, numpy_malloc, __ATOMIC_RELEASE);
    __atomic_store_n(&handler->allocator.calloc, numpy_calloc, __ATOMIC_RELEASE);
    __atomic_store_n(&handler->allocator.realloc, numpy_realloc, __ATOMIC_RELEASE);
    return 0;
}

int numpy_put_in_place(void)
{
    if (atomic_load(&claimed)) {
        return 0;
    }
    PyObject *module = loaded_numpy();
    if (module == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    numpy_handler *handler = default_handler(module);
    Py_DECREF(module);
    return handler != NULL ? wrap(handler) : -1;
}
