/* A build of the core whose calls run out of memory when a test says so: gcc -include faults.h.
 *
 * Each call in the core of a function that is listed at the end is a site. A site calls the function or,
 * when its turn has come, what stands for the function's failure: a pointer chosen at run time, so that
 * the lines of the core get no branch that gcov would count. The sites lie in a section of their own,
 * which is how a test knows all there are. A test reaches what is exported here by ctypes. */
#ifndef SCOPES_TESTS_FAULTS_H
#define SCOPES_TESTS_FAULTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>
#include <sys/mman.h>

typedef void (*fault_function)(void); /* any function: it is called by its own type only */

typedef struct {
    const char *file;
    const char *function; /* that is called */
    long line;
    long calls;
    long failures;
} fault_site;

/* Calls to come before one fails, and how many fail from there on; below 0: none. */
static _Atomic long fault_before = -1;
static _Atomic long fault_failures = 0;
static _Atomic int fault_lasts = 0;
static fault_site *_Atomic fault_last = NULL; /* that failed */
/* A function that fails in each call, and with which errno; NULL: none does. */
static const char *_Atomic fault_function_name = NULL;
static _Atomic int fault_code = ENOMEM;
/* What the core has of the C library and the system: blocks, and bytes of address space. */
static _Atomic long fault_blocks = 0;
static _Atomic long fault_mapped = 0;

static int fault_is_due(const fault_site *site)
{
    if (fault_function_name != NULL)
        return strcmp(fault_function_name, site->function) == 0;
    if (fault_before < 0)
        return 0;
    if (fault_before > 0) {
        fault_before--;
        return 0;
    }
    if (!fault_lasts)
        fault_before = -1;
    return 1;
}

static fault_function fault_choose(fault_site *site, fault_function real, fault_function failing)
{
    __atomic_fetch_add(&site->calls, 1, __ATOMIC_RELAXED);
    if (!fault_is_due(site))
        return real;
    fault_failures++;
    fault_last = site;
    __atomic_fetch_add(&site->failures, 1, __ATOMIC_RELAXED);
    return failing;
}

/* ---- what a test calls; weak, since the header may come into several files of a program -------- */

#define FAULT_API __attribute__((visibility("default"), weak, used))

/* The call after `before` others fails, and all after it if lasts. */
FAULT_API void faults_begin(long before, int lasts)
{
    fault_lasts = lasts;
    fault_failures = 0;
    fault_before = before;
}

/* Each call of the function fails, with that errno where it sets one; NULL ends it. */
FAULT_API void faults_in(const char *function, int code)
{
    fault_code = code;
    fault_function_name = function;
}

/* How many calls have failed since. */
FAULT_API long faults_end(void)
{
    fault_before = -1;
    return fault_failures;
}

/* Where and what the call was that failed last: "file.c:line function". */
FAULT_API const char *faults_last(void)
{
    static char text[160];
    const fault_site *site = fault_last;
    if (site == NULL)
        return "";
    const char *slash = strrchr(site->file, '/');
    snprintf(text, sizeof(text), "%s:%ld %s", slash != NULL ? slash + 1 : site->file, site->line,
             site->function);
    return text;
}

FAULT_API long faults_blocks(void)
{
    return fault_blocks;
}

FAULT_API long faults_mapped(void)
{
    return fault_mapped;
}

extern fault_site *__start_fault_sites[] __attribute__((weak, visibility("hidden")));
extern fault_site *__stop_fault_sites[] __attribute__((weak, visibility("hidden")));

FAULT_API fault_site **faults_sites(long *count)
{
    *count = __stop_fault_sites - __start_fault_sites;
    return __start_fault_sites;
}

/* Writes what gcov counts, for a process that ends by _exit. */
extern void __gcov_dump(void) __attribute__((weak, visibility("hidden")));

FAULT_API void faults_dump_coverage(void)
{
    if (__gcov_dump != NULL)
        __gcov_dump();
}

/* ---- how functions fail ----------------------------------------------------------------------- */

static __attribute__((unused)) PyObject *fault_object(void)
{
    return PyErr_NoMemory();
}

/* For int as well: it is what the lower half of the register holds. */
static __attribute__((unused)) long long fault_negative(void)
{
    PyErr_NoMemory();
    return -1;
}

static __attribute__((unused)) void fault_append(PyObject **left, PyObject *right)
{
    Py_CLEAR(*left);
    Py_XDECREF(right);
    PyErr_NoMemory();
}

static __attribute__((unused)) void *fault_null(void)
{
    errno = ENOMEM;
    return NULL;
}

static __attribute__((unused)) void *fault_mmap(void)
{
    errno = fault_code;
    return MAP_FAILED;
}

static __attribute__((unused)) int fault_errno(void)
{
    return ENOMEM;
}

/* For int as well, as above. */
static __attribute__((unused)) long long fault_minus(void)
{
    errno = ENOMEM;
    return -1;
}

/* ---- what counts blocks and maps --------------------------------------------------------------- */

static __attribute__((unused)) void *counted_calloc(size_t count, size_t size)
{
    void *found = calloc(count, size);
    fault_blocks += found != NULL;
    return found;
}

static __attribute__((unused)) void counted_free(void *block)
{
    fault_blocks -= block != NULL;
    free(block);
}

static __attribute__((unused)) void *counted_mmap(void *address, size_t n, int protection, int flags, int fd,
                                                  off_t offset)
{
    void *found = mmap(address, n, protection, flags, fd, offset);
    fault_mapped += found != MAP_FAILED ? (long)n : 0;
    return found;
}

static __attribute__((unused)) int counted_munmap(void *address, size_t n)
{
    int result = munmap(address, n);
    fault_mapped -= result == 0 ? (long)n : 0;
    return result;
}

/* ---- sites ------------------------------------------------------------------------------------- */

#define FAULT_SITE(function, real, failing)                                                            \
    ((__typeof__(&(real)))fault_choose(                                                                \
        ({                                                                                             \
            static fault_site fault_here = {__FILE__, function, __LINE__, 0, 0};                             \
            static fault_site *fault_entry __attribute__((section("fault_sites"), used)) = &fault_here; \
            (void)fault_entry;                                                                         \
            &fault_here;                                                                               \
        }),                                                                                            \
        (fault_function)(real), (fault_function)(failing)))
#define FAULT(function, failing) FAULT_SITE(#function, function, failing)

#define calloc(...) FAULT_SITE("calloc", counted_calloc, fault_null)(__VA_ARGS__)
#define free(...) counted_free(__VA_ARGS__)
#define mmap(...) FAULT_SITE("mmap", counted_mmap, fault_mmap)(__VA_ARGS__)
#define munmap(...) FAULT_SITE("munmap", counted_munmap, fault_minus)(__VA_ARGS__)
#define madvise(...) FAULT(madvise, fault_minus)(__VA_ARGS__)
#define mincore(...) FAULT(mincore, fault_minus)(__VA_ARGS__)
#define fopen(...) FAULT(fopen, fault_null)(__VA_ARGS__)
#define fscanf(...) FAULT(fscanf, fault_minus)(__VA_ARGS__)
#define write(...) FAULT(write, fault_minus)(__VA_ARGS__)
#define ftruncate(...) FAULT(ftruncate, fault_minus)(__VA_ARGS__)
#define pthread_atfork(...) FAULT(pthread_atfork, fault_errno)(__VA_ARGS__)
#define pthread_key_create(...) FAULT(pthread_key_create, fault_errno)(__VA_ARGS__)
#define pthread_setspecific(...) FAULT(pthread_setspecific, fault_errno)(__VA_ARGS__)

#define PyDict_SetItemString(...) FAULT(PyDict_SetItemString, fault_negative)(__VA_ARGS__)
#define PyDict_Contains(...) FAULT(PyDict_Contains, fault_negative)(__VA_ARGS__)
#define PyDict_Copy(...) FAULT(PyDict_Copy, fault_object)(__VA_ARGS__)
#define PyDict_GetItemWithError(...) FAULT(PyDict_GetItemWithError, fault_object)(__VA_ARGS__)
#define PyDict_New(...) FAULT(PyDict_New, fault_object)(__VA_ARGS__)
#define PyDict_SetItem(...) FAULT(PyDict_SetItem, fault_negative)(__VA_ARGS__)
#define PyErr_Format(...) FAULT(PyErr_Format, fault_object)(__VA_ARGS__)
#define PyErr_NewExceptionWithDoc(...) FAULT(PyErr_NewExceptionWithDoc, fault_object)(__VA_ARGS__)
#define PyErr_ResourceWarning(...) FAULT(PyErr_ResourceWarning, fault_negative)(__VA_ARGS__)
#define PyErr_SetString(...) FAULT(PyErr_SetString, fault_object)(__VA_ARGS__)
#define PyFrame_GetBack(...) FAULT(PyFrame_GetBack, fault_null)(__VA_ARGS__)
#define PyImport_ImportModule(...) FAULT(PyImport_ImportModule, fault_object)(__VA_ARGS__)
#define PyList_Append(...) FAULT(PyList_Append, fault_negative)(__VA_ARGS__)
#define PyList_New(...) FAULT(PyList_New, fault_object)(__VA_ARGS__)
#define PyLong_FromLong(...) FAULT(PyLong_FromLong, fault_object)(__VA_ARGS__)
#define PyLong_FromLongLong(...) FAULT(PyLong_FromLongLong, fault_object)(__VA_ARGS__)
#define PyLong_FromSize_t(...) FAULT(PyLong_FromSize_t, fault_object)(__VA_ARGS__)
#define PyLong_FromSsize_t(...) FAULT(PyLong_FromSsize_t, fault_object)(__VA_ARGS__)
#define PyLong_FromUnsignedLong(...) FAULT(PyLong_FromUnsignedLong, fault_object)(__VA_ARGS__)
#define PyLong_FromUnsignedLongLong(...) FAULT(PyLong_FromUnsignedLongLong, fault_object)(__VA_ARGS__)
#define PyLong_FromVoidPtr(...) FAULT(PyLong_FromVoidPtr, fault_object)(__VA_ARGS__)
#define PyMapping_GetItemString(...) FAULT(PyMapping_GetItemString, fault_object)(__VA_ARGS__)
#define PyMem_Malloc(...) FAULT(PyMem_Malloc, fault_null)(__VA_ARGS__)
#define PyModule_AddObjectRef(...) FAULT(PyModule_AddObjectRef, fault_negative)(__VA_ARGS__)
#define PyModule_AddType(...) FAULT(PyModule_AddType, fault_negative)(__VA_ARGS__)
#define PyNumber_AsSsize_t(...) FAULT(PyNumber_AsSsize_t, fault_negative)(__VA_ARGS__)
#define PyNumber_Index(...) FAULT(PyNumber_Index, fault_object)(__VA_ARGS__)
#define PyObject_AsFileDescriptor(...) FAULT(PyObject_AsFileDescriptor, fault_negative)(__VA_ARGS__)
#define PyObject_CallNoArgs(...) FAULT(PyObject_CallNoArgs, fault_object)(__VA_ARGS__)
#define PyObject_CallOneArg(...) FAULT(PyObject_CallOneArg, fault_object)(__VA_ARGS__)
#define PyObject_GetAttrString(...) FAULT(PyObject_GetAttrString, fault_object)(__VA_ARGS__)
#define PyObject_GetBuffer(...) FAULT(PyObject_GetBuffer, fault_negative)(__VA_ARGS__)
#define PyObject_IsTrue(...) FAULT(PyObject_IsTrue, fault_negative)(__VA_ARGS__)
#define PyObject_SetAttrString(...) FAULT(PyObject_SetAttrString, fault_negative)(__VA_ARGS__)
#define PyObject_Vectorcall(...) FAULT(PyObject_Vectorcall, fault_object)(__VA_ARGS__)
#define PySequence_GetItem(...) FAULT(PySequence_GetItem, fault_object)(__VA_ARGS__)
#define PySlice_Unpack(...) FAULT(PySlice_Unpack, fault_negative)(__VA_ARGS__)
#define PyStructSequence_New(...) FAULT(PyStructSequence_New, fault_object)(__VA_ARGS__)
#define PyStructSequence_NewType(...) FAULT(PyStructSequence_NewType, fault_object)(__VA_ARGS__)
#define PyThreadState_GetFrame(...) FAULT(PyThreadState_GetFrame, fault_null)(__VA_ARGS__)
#define PyTuple_New(...) FAULT(PyTuple_New, fault_object)(__VA_ARGS__)
#define PyTuple_Pack(...) FAULT(PyTuple_Pack, fault_object)(__VA_ARGS__)
#define PyType_FromModuleAndSpec(...) FAULT(PyType_FromModuleAndSpec, fault_object)(__VA_ARGS__)
#define PyUnicode_AppendAndDel(...) FAULT(PyUnicode_AppendAndDel, fault_append)(__VA_ARGS__)
#define PyUnicode_FromFormat(...) FAULT(PyUnicode_FromFormat, fault_object)(__VA_ARGS__)
#define PyUnicode_FromString(...) FAULT(PyUnicode_FromString, fault_object)(__VA_ARGS__)
#define PyUnicode_InternFromString(...) FAULT(PyUnicode_InternFromString, fault_object)(__VA_ARGS__)
#define PyVectorcall_Call(...) FAULT(PyVectorcall_Call, fault_object)(__VA_ARGS__)
#define PyWeakref_NewRef(...) FAULT(PyWeakref_NewRef, fault_object)(__VA_ARGS__)
#define _PyObject_GC_New(...) FAULT(_PyObject_GC_New, fault_object)(__VA_ARGS__)
#define _PyObject_New(...) FAULT(_PyObject_New, fault_object)(__VA_ARGS__)
#if PY_VERSION_HEX < 0x030D0000 /* the plain names are macros for these */
#define _PyObject_CallMethod_SizeT(...) FAULT(_PyObject_CallMethod_SizeT, fault_object)(__VA_ARGS__)
#define _Py_BuildValue_SizeT(...) FAULT(_Py_BuildValue_SizeT, fault_object)(__VA_ARGS__)
#else
#define PyObject_CallMethod(...) FAULT(PyObject_CallMethod, fault_object)(__VA_ARGS__)
#define Py_BuildValue(...) FAULT(Py_BuildValue, fault_object)(__VA_ARGS__)
#endif

/* Not here, since they need no memory or can do without:
 * PyBool_FromLong PyBuffer_FillInfo PyBuffer_Release PyCallable_Check PyCriticalSection_Begin
 * PyCriticalSection_End PyDict_Check PyDict_Clear PyDict_Next PyErr_Clear PyErr_ExceptionMatches
 * PyErr_Fetch PyErr_GetHandledException PyErr_NoMemory PyErr_NormalizeException PyErr_Occurred
 * PyErr_Restore PyErr_WriteUnraisable PyException_GetContext PyException_GetTraceback
 * PyException_SetContext PyException_SetTraceback PyFrame_GetCode PyFrame_GetGlobals
 * PyFrame_GetLineNumber PyGC_Disable PyGC_Enable PyGC_IsEnabled PyIndex_Check PyInterpreterState_Get
 * PyInterpreterState_Main PyList_CheckExact PyList_GET_ITEM PyList_GET_SIZE PyList_SET_ITEM
 * PyLong_AsLongLong PyLong_AsSsize_t PyLong_AsUnsignedLong PyLong_AsVoidPtr PyLong_Check
 * PyLong_CheckExact PyMem_Free PyModuleDef_Init PyModule_GetState PyObject_CallFinalizerFromDealloc
 * PyObject_CheckBuffer PyObject_ClearWeakRefs PyObject_Free PyObject_GC_Del PyObject_GC_Track
 * PyObject_GC_UnTrack PyObject_TypeCheck PySlice_AdjustIndices PySlice_Check PyStructSequence_SetItem
 * PyThreadState_Get PyThread_get_thread_ident PyTuple_Check PyTuple_GET_ITEM PyTuple_GET_SIZE
 * PyTuple_SET_ITEM PyType_GetDict PyType_GetModuleState PyType_SUPPORTS_WEAKREFS PyUnicode_Check
 * PyUnicode_Compare PyUnicode_CompareWithASCIIString PyUnicode_GET_LENGTH PyUnicode_READ_CHAR
 * PyUnstable_Object_EnableDeferredRefcount PyVectorcall_NARGS Py_CLEAR Py_DECREF Py_IS_TYPE Py_NewRef
 * Py_SETREF Py_SET_REFCNT Py_SET_SIZE Py_SET_TYPE Py_TYPE Py_VISIT Py_XDECREF Py_XNewRef
 * _Py_NewReference __builtin_clzll __builtin_ctzll __builtin_expect __get_cpuid __rdtsc assert
 * atomic_compare_exchange_strong atomic_compare_exchange_weak_explicit atomic_exchange
 * atomic_exchange_explicit atomic_fetch_add atomic_fetch_add_explicit atomic_init atomic_load
 * atomic_load_explicit atomic_store atomic_store_explicit clock_gettime fclose getc getenv getrlimit
 * memcmp memmove memset pthread_getspecific pthread_key_delete pthread_mutex_init pthread_mutex_lock
 * pthread_mutex_unlock sched_yield snprintf strcmp strerror strrchr strtoll sysconf
 */

#endif
