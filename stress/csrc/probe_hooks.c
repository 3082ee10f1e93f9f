/* Counters around Python's allocators: the domains raw, mem and object.
 *
 * A hook passes every call on to the allocator it found, and puts nothing into the memory: blocks of
 * before and after its installation can be freed by either way. So it is never taken out, which would
 * cut off whoever has wrapped it meanwhile, and is switched by counts_switch.
 *
 * Domains call each other (pymalloc asks the raw domain for what is large), and only the outermost call
 * is counted. Others may wrap us, or be wrapped, and may drop us: tracemalloc.stop() puts back what it
 * found when it started. Hence hooks_are_met, and a further hook where one is not.
 *
 * A reallocation counts as an allocation of its new size, moved or not: nobody can be asked for the old
 * one. A free counts nothing.
 */
#include "probe_alloc.h"
#include "probe_counts.h"

#include <stdlib.h>

enum { DOMAINS = 3 };

static const PyMemAllocatorDomain domains[DOMAINS] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM,
                                                      PYMEM_DOMAIN_OBJ};

/* Never changed and never freed once it is in place: any allocator above may hold on to it. */
typedef struct {
    PyMemAllocatorEx inner;
    unsigned bit; /* tells the domain in counts_thread.passed */
} hook;

static unsigned bit_of(PyMemAllocatorDomain domain)
{
    return 1u << (unsigned)domain;
}

static void *hook_malloc(void *context, size_t size)
{
    const hook *self = context;
    counts_thread *own = counts_enter(self->bit);
    void *memory = self->inner.malloc(self->inner.ctx, size);
    if (own != NULL) {
        counts_leave(own, memory, size);
    }
    return memory;
}

static void *hook_calloc(void *context, size_t count, size_t size)
{
    const hook *self = context;
    counts_thread *own = counts_enter(self->bit);
    void *memory = self->inner.calloc(self->inner.ctx, count, size);
    if (own != NULL) {
        counts_leave(own, memory, count * size); /* no overflow: there is memory of that size */
    }
    return memory;
}

static void *hook_realloc(void *context, void *old, size_t size)
{
    const hook *self = context;
    counts_thread *own = counts_enter(self->bit);
    void *memory = self->inner.realloc(self->inner.ctx, old, size);
    if (own != NULL) {
        counts_leave(own, memory, size);
    }
    return memory;
}

static void hook_free(void *context, void *memory)
{
    const hook *self = context;
    self->inner.free(self->inner.ctx, memory);
}

/* Puts a hook on top of what the domain's allocator is now; -1 with MemoryError set. */
static int put_hook(PyMemAllocatorDomain domain)
{
    hook *self = malloc(sizeof(hook));
    if (self == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->bit = bit_of(domain);
    PyMem_GetAllocator(domain, &self->inner);
    PyMemAllocatorEx allocator = {
        .ctx = self,
        .malloc = hook_malloc,
        .calloc = hook_calloc,
        .realloc = hook_realloc,
        .free = hook_free,
    };
    PyMem_SetAllocator(domain, &allocator);
    return 0;
}

/* Allocates and frees a byte in each domain. */
static void pass_all_domains(void)
{
    PyMem_RawFree(PyMem_RawMalloc(1));
    PyMem_Free(PyMem_Malloc(1));
    PyObject_Free(PyObject_Malloc(1));
}

/* The bits of the domains whose allocations come past a hook. */
static unsigned met(void)
{
    bool before = counts_hush();
    counts_own.passed = 0;
    pass_all_domains();
    unsigned passed = counts_own.passed;
    counts_unhush(before);
    return passed;
}

bool hooks_are_met(void)
{
    unsigned passed = met();
    for (int i = 0; i < DOMAINS; i++) {
        if (!(passed & bit_of(domains[i]))) {
            return false;
        }
    }
    return true;
}

/* Without the GIL other threads could be in an allocator that is just being exchanged. */
static int check_alone(void)
{
#ifdef Py_GIL_DISABLED
    PyObject *thread = PyImport_ImportModule("_thread");
    PyObject *count = thread ? PyObject_CallMethod(thread, "_count", NULL) : NULL;
    long threads = count ? PyLong_AsLong(count) : -1;
    Py_XDECREF(count);
    Py_XDECREF(thread);
    if (threads < 0) {
        return -1;
    }
    if (threads > 0) {
        PyErr_Format(PyExc_RuntimeError,
                     "without the GIL, allocation counters have to be put in place before the first"
                     " thread is started; found %ld threads",
                     threads);
        return -1;
    }
#endif
    return 0;
}

int hooks_put_in_place(void)
{
    unsigned passed = met();
    for (int i = 0; i < DOMAINS; i++) {
        if (passed & bit_of(domains[i])) {
            continue;
        }
        if (check_alone() < 0 || put_hook(domains[i]) < 0) {
            return -1;
        }
    }
    return 0;
}
