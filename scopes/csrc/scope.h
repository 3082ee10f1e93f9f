/* Scopes and their state.
 *
 * One atomic word holds the state and the number of exports and pins:
 *
 *                exports = 0                     exports > 0
 *   open         allocate, export, close         the same; close raises unless exports are deferred
 *   closing      callbacks run; no allocate,     only where exports are deferred
 *                callback or export any more
 *   closed       blocks given back or retired    blocks with exports stay, each until its last export
 *
 * open -> closing happens once, in close(), by the thread that wins. Every entry point that depends on
 * the state reads it after all arguments have been converted, since converting may run Python code.
 *
 * Entry point                       made safe without the GIL by
 *   constructors                      nothing: nobody else has the object
 *   allocate, adopt, callback,
 *   zeros, empty, array               the lock of the scope
 *   close, __exit__                   the lock of the scope for both transitions; callbacks run unlocked
 *   __enter__                         atomic
 *   statistics                        the lock of the scope
 *   closed, kind                      the atomic word; immutable
 *   owner                             immutable, or the lock of the scope
 *   owner's death, account's end      the lock of the process: of calls of a watch the first counts
 *   segment: export, unexport (buffer
 *   protocol, pin, cdata, __array__)  the lock of the scope; a pin's own mark is atomic
 *   segment: slices, toreadonly       an atomic count of the block; the lock of the scope, for its list
 *   segment: element access, fill,
 *   copy_from, ==, iteration          nothing: a covered block is never unmapped or reused. Adopted memory
 *                                     can go: the lock of the adoption, which its release takes first
 *   segment: len, nbytes, scope,
 *   readonly                          immutable
 *   statistics(), trim(), set_*       the arena's, see arena.h; the budget is atomic
 *   account()                         the lock of the process, for the list
 *   debug()                           atomic
 *   dump()                            the lock of the process, for the list; the lock of each scope on it
 *
 * A forked child may find the lock of an inherited scope taken by a thread that it does not have, and its
 * lists of segments and of exports half changed: there none is used any more, see SCOPE_LOCK and
 * scope_has_list.
 */
#ifndef SCOPES_SCOPE_H
#define SCOPES_SCOPE_H

#include "carver.h"
#include "state.h"

enum scope_kind { KIND_CONFINED, KIND_SHARED, KIND_IMPLICIT };

#define STATE_OPEN UINT64_C(0)
#define STATE_CLOSING UINT64_C(1)
#define STATE_CLOSED UINT64_C(2)
#define STATE_MASK UINT64_C(3)
#define ONE_EXPORT UINT64_C(4)

struct segment_object;
typedef struct scope_origin scope_origin;

typedef struct scope_object {
    PyObject_HEAD
    vectorcallfunc call;             /* what the with statement calls, see context.c */
    core_state *core;                /* never freed, see state.h */
    word state;                      /* STATE_* + ONE_EXPORT x exports */
    uint64_t token;                  /* confined: of the thread it belongs to, else 0 */
    uint64_t generation;             /* of the process that opened it */
    carver carver;                   /* of what it allocates */
    struct segment_object *segments; /* alive, borrowed; they take themselves out */
    counter live;                    /* bytes handed out */
    int64_t limit;                   /* of live; ARENA_NO_CAP */
    PyObject *callbacks;             /* stack (call, (call, ... None)), or NULL; tuples, since the
                                      * collector shows its objects to anyone who asks */
    PyObject *adoptions;             /* the same of adoption objects */
    PyObject *owner;                 /* implicit: weak reference to the owner, or NULL */
    PyObject *weakrefs;
    counter entered;                 /* 1: its with statement has begun */
    scope_origin *origin;            /* owned: for debugging, or NULL; see debug.h */
    unsigned long thread;            /* confined: threading.get_ident() of its thread, for messages */
    uint8_t kind;
    uint8_t defers;                  /* 1: exports="defer" */
    uint8_t tracked;                 /* 1: it and its segments are known to the collector */
    uint8_t finalized;               /* 1: its finalizer has run, which happens once to an object */
} scope_object;

static inline uint64_t scope_state(scope_object *scope)
{
    return word_get(&scope->state) & STATE_MASK;
}

static inline int64_t scope_exports(scope_object *scope)
{
    return (int64_t)(word_get(&scope->state) / ONE_EXPORT);
}

static inline int scope_is_inherited(const scope_object *scope)
{
    return SCOPES_UNLIKELY(scope->generation != fork_generation());
}

/* The lock of a scope's fields. */
#define SCOPE_LOCK(scope) OBJECT_LOCK_IF(!scope_is_inherited(scope), scope)
#define SCOPE_UNLOCK() OBJECT_UNLOCK()

/* Whether the scope's lists, of segments and of exports, are kept. */
static inline int scope_has_list(const scope_object *scope)
{
    return !SCOPES_CONCURRENT || !scope_is_inherited(scope);
}

/* The first of its segments; lock held. */
static inline struct segment_object *scope_segments(const scope_object *scope)
{
    return scope_has_list(scope) ? scope->segments : NULL; /* untaken: with a GIL, always */
}

static inline int scope_wrong_thread(const scope_object *scope)
{
    return scope->kind == KIND_CONFINED && SCOPES_UNLIKELY(scope->token != thread_token());
}

/* The module's state, without the calls that PyType_GetModuleState takes. */
static inline core_state *scope_core(PyObject *scope)
{
    return ((scope_object *)scope)->core;
}

const char *scope_kind_name(const scope_object *scope);
const char *scope_state_name(scope_object *scope);

/* Makes the scope and its segments known to the collector: from now on they can be in a cycle. Lock held,
 * or nobody else has the scope. */
void scope_track(scope_object *scope);

/* Raises unless the calling thread may allocate, export and register. 0, or -1 with an exception. */
int scope_check_open(core_state *state, scope_object *scope);

/* scope_memory.c: carves nbytes (aligned, zeroed if asked) out of the scope's blocks. The block comes
 * with a reference for the segment. Returns 0, or -1 with an exception set. */
int scope_carve(core_state *state, scope_object *scope, size_t nbytes, size_t align, int zeroed,
                block **from, char **address);
/* Gives all blocks back, deferring or retiring those that are still needed. Lock held. */
void scope_give_back_lock_held(core_state *state, scope_object *scope);

/* scope_close.c */
/* Puts the item on scope->callbacks or scope->adoptions. -1 with an exception set. */
int scope_register(core_state *state, scope_object *scope, PyObject **stack, PyObject *item);
/* How many callbacks are registered. */
Py_ssize_t scope_callbacks_lock_held(const scope_object *scope);
enum close_how { CLOSE_AS_SET, CLOSE_DEFERRING };
int scope_close(core_state *state, scope_object *scope, enum close_how how);
PyObject *scope_callback(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
PyObject *scope_close_method(PyObject *self, PyObject *unused);
PyObject *scope_enter(core_state *state, scope_object *scope);
PyObject *scope_exit(core_state *state, scope_object *scope, PyObject *const *exception);
void scope_finalize(PyObject *self);
/* Closes without a thread check; what callbacks raise goes to sys.unraisablehook. */
void scope_end_unraised(core_state *state, scope_object *scope);

/* scope_owner.c */
int scope_set_owner(core_state *state, scope_object *scope, PyObject *owner);
PyObject *scope_owner(PyObject *self, void *unused);

/* scope_new.c: the three constructors as vectorcalls, and the dead scope's way to the free list. */
void scope_set_constructors(core_state *state);
void scope_free(core_state *state, scope_object *scope);

/* scope.c */
PyObject *scope_allocate_segment(PyObject *self, size_t nbytes, size_t align, int zeroed);
int scope_add_types(PyObject *module, core_state *state);

/* context.c: __enter__ and __exit__ of the explicit scopes. */
int context_add_type(PyObject *module, core_state *state);
int context_install(core_state *state, PyTypeObject *type);
PyObject *context_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names);

#endif
