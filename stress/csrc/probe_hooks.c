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
    unsigned bit; /* tells the domain in counts_thread.passed; 0: not in place */
} hook;

/* The first hook of each domain has functions of its own, which know it without a context. So the
 * context stays that of the inner allocator, and its free stays the function that is called: a free
 * costs nothing, and who reads the allocator while it is exchanged finds old and new to fit. */
static hook first[DOMAINS];

static inline void *counted_malloc(const hook *self, size_t size)
{
    counts_thread *own = counts_enter(self->bit);
    void *memory = self->inner.malloc(self->inner.ctx, size);
    if (own != NULL) {
        counts_leave(own, memory, size);
    }
    return memory;
}

static inline void *counted_calloc(const hook *self, size_t count, size_t size)
{
    counts_thread *own = counts_enter(self->bit);
    void *memory = self->inner.calloc(self->inner.ctx, count, size);
    if (own != NULL) {
        counts_leave(own, memory, count * size); /* no overflow: there is memory of that size */
    }
    return memory;
}

static inline void *counted_realloc(const hook *self, void *old, size_t size)
{
    counts_thread *own = counts_enter(self->bit);
    void *memory = self->inner.realloc(self->inner.ctx, old, size);
    if (own != NULL) {
        counts_leave(own, memory, size);
    }
    return memory;
}

/* Functions for an allocator whose hook is `self`, an expression that may use `context`. */
#define HOOK_FUNCTIONS(name, self)                                            \
    static void *name##_malloc(void *context, size_t size)                    \
    {                                                                         \
        (void)context;                                                        \
        return counted_malloc(self, size);                                    \
    }                                                                         \
    static void *name##_calloc(void *context, size_t count, size_t size)      \
    {                                                                         \
        (void)context;                                                        \
        return counted_calloc(self, count, size);                             \
    }                                                                         \
    static void *name##_realloc(void *context, void *old, size_t size)        \
    {                                                                         \
        (void)context;                                                        \
        return counted_realloc(self, old, size);                              \
    }

HOOK_FUNCTIONS(raw, &first[0])
HOOK_FUNCTIONS(mem, &first[1])
HOOK_FUNCTIONS(obj, &first[2])
HOOK_FUNCTIONS(later, context)

static void later_free(void *context, void *memory)
{
    const hook *self = context;
    self->inner.free(self->inner.ctx, memory);
}

/* Without context and free, in the order of `domains`. */
static const PyMemAllocatorEx first_functions[DOMAINS] = {
    {.malloc = raw_malloc, .calloc = raw_calloc, .realloc = raw_realloc},
    {.malloc = mem_malloc, .calloc = mem_calloc, .realloc = mem_realloc},
    {.malloc = obj_malloc, .calloc = obj_calloc, .realloc = obj_realloc},
};

static unsigned bit_of(int index)
{
    return 1u << (unsigned)index;
}

static void put_first_hook(int index)
{
    hook *self = &first[index];
    PyMem_GetAllocator(domains[index], &self->inner);
    self->bit = bit_of(index);
    PyMemAllocatorEx allocator = first_functions[index];
    allocator.ctx = self->inner.ctx;
    allocator.free = self->inner.free;
    PyMem_SetAllocator(domains[index], &allocator);
}

/* -1 with MemoryError set. */
static int put_later_hook(int index)
{
    hook *self = malloc(sizeof(hook));
    if (self == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    PyMem_GetAllocator(domains[index], &self->inner);
    self->bit = bit_of(index);
    PyMemAllocatorEx allocator = {
        .ctx = self,
        .malloc = later_malloc,
        .calloc = later_calloc,
        .realloc = later_realloc,
        .free = later_free,
    };
    PyMem_SetAllocator(domains[index], &allocator);
    return 0;
}

/* Puts a hook on top of what the domain's allocator is now; -1 with MemoryError set. */
static int put_hook(int index)
{
    if (first[index].bit != 0) {
        return put_later_hook(index);
    }
    put_first_hook(index);
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
        if (!(passed & bit_of(i))) {
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
        if (passed & bit_of(i)) {
            continue;
        }
        if (check_alone() < 0 || put_hook(i) < 0) {
            return -1;
        }
    }
    return 0;
}
