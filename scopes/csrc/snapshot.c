/* What is open, as scopes.dump() says it in words: the facts, each scope's taken at one moment. */
#include "debug.h"

/* The facts of a scope are made into objects while its lock is held. CPython 3.11 alone may collect while
 * an object is made, and finalizers would change the lists that are being read. */
#if PY_VERSION_HEX < 0x030C0000
#define BEGIN_NO_COLLECTION                                                                            \
    {                                                                                                  \
        int collects = PyGC_Disable();
#define END_NO_COLLECTION                                                                              \
    if (collects)                                                                                      \
        PyGC_Enable();                                                                                 \
    }
#else
#define BEGIN_NO_COLLECTION {
#define END_NO_COLLECTION }
#endif

/* Takes over the item, which may be NULL after a failure; the list, which is none yet, becomes NULL then. */
static void append(PyObject **list, PyObject *item)
{
    if (item == NULL || PyList_Append(*list, item) < 0)
        Py_CLEAR(*list);
    Py_XDECREF(item);
}

/* The same for an item of a dict. */
static void put(PyObject **dict, const char *name, PyObject *item)
{
    if (*dict != NULL && (item == NULL || PyDict_SetItemString(*dict, name, item) < 0))
        Py_CLEAR(*dict);
    Py_XDECREF(item);
}

static unsigned long long address_of(const void *object)
{
    return (unsigned long long)(uintptr_t)object;
}

/* [(id, nbytes, address, exports)] of the segments with exports. */
static PyObject *exported_lock_held(scope_object *scope)
{
    PyObject *list = PyList_New(0);
    for (segment_object *s = scope_segments(scope); s != NULL && list != NULL; s = s->next) {
        int64_t exports = counter_get(&s->exports);
        if (exports > 0)
            append(&list, Py_BuildValue("(KnKL)", address_of(s), s->nbytes, address_of(s->address),
                                        (long long)exports));
    }
    return list;
}

/* [(id of the segment, where)] of the exports that have an origin, the oldest first. */
static PyObject *taken_lock_held(const scope_object *scope)
{
    PyObject *list = PyList_New(0);
    const origin_link *ends = &scope->origin->exports;
    for (origin_link *at = ends->next; at != ends && list != NULL; at = at->next) {
        export_origin *origin = (export_origin *)at;
        PyObject *where = place_text(&origin->taken, PLACE_FRAMES, "\n");
        append(&list, where ? Py_BuildValue("(KO)", address_of(origin->segment), where) : NULL);
        Py_XDECREF(where);
    }
    return list;
}

static PyObject *facts_lock_held(scope_object *scope, PyObject *owner)
{
    const scope_origin *origin = scope->origin;
    PyObject *limit =
        scope->limit == ARENA_NO_CAP ? Py_NewRef(Py_None) : PyLong_FromLongLong(scope->limit);
    PyObject *thread =
        scope->kind == KIND_CONFINED ? PyLong_FromUnsignedLong(scope->thread) : Py_NewRef(Py_None);
    PyObject *opened =
        origin->was_seen ? place_text(&origin->opened, PLACE_FRAMES, "\n") : Py_NewRef(Py_None);
    PyObject *found = Py_BuildValue("{sssssKsLsnsO}", "kind", scope_kind_name(scope), "state",
                                    scope_state_name(scope), "address", address_of(scope), "live_bytes",
                                    (long long)counter_get(&scope->live), "callbacks",
                                    scope_callbacks_lock_held(scope), "owner", owner);
    put(&found, "limit", limit);
    put(&found, "thread", thread);
    put(&found, "opened", opened);
    put(&found, "exported", exported_lock_held(scope));
    put(&found, "taken", taken_lock_held(scope));
    return found;
}

/* "Thing at 0x...", or None. Its own repr might do anything. */
static PyObject *owner_text(scope_object *scope)
{
    if (scope->kind != KIND_IMPLICIT)
        return Py_NewRef(Py_None);
    PyObject *owner = scope_owner((PyObject *)scope, NULL);
    if (owner == NULL || owner == Py_None)
        return owner;
    PyObject *text = PyUnicode_FromFormat("%s at %p", Py_TYPE(owner)->tp_name, (void *)owner);
    Py_DECREF(owner);
    return text;
}

/* The facts of a scope; None where it is closed and nothing holds its memory. */
static PyObject *facts(scope_object *scope)
{
    PyObject *found = NULL;
    PyObject *owner = owner_text(scope);
    if (owner == NULL)
        return NULL;
    BEGIN_NO_COLLECTION
    SCOPE_LOCK(scope);
    if (scope_state(scope) == STATE_CLOSED && scope_exports(scope) == 0)
        found = Py_NewRef(Py_None);
    else
        found = facts_lock_held(scope, owner);
    SCOPE_UNLOCK();
    END_NO_COLLECTION
    Py_DECREF(owner);
    return found;
}

static Py_ssize_t count_origins(core_state *state)
{
    Py_ssize_t count = 0;
    process_lock();
    for (origin_link *at = state->origins.next; at != &state->origins; at = at->next)
        count++;
    process_unlock();
    return count;
}

/* Weak references to the scopes on the module's list, the oldest first; and how many of all on it are open.
 * A scope that is put on it meanwhile is not asked for. */
static PyObject *listed(core_state *state, int64_t *open)
{
    Py_ssize_t room = count_origins(state);
    Py_ssize_t filled = 0;
    PyObject *list = PyList_New(room);
    *open = 0;
    if (list == NULL)
        return NULL;
    process_lock();
    for (origin_link *at = state->origins.next; at != &state->origins; at = at->next) {
        scope_origin *origin = (scope_origin *)at;
        *open += scope_state(origin->scope) != STATE_CLOSED;
        if (filled < room) /* by chance: another thread or a finalizer has opened one just now */
            PyList_SET_ITEM(list, filled++, Py_NewRef(origin->reference));
    }
    process_unlock();
    Py_SET_SIZE(list, filled);
    return list;
}

static PyObject *all_facts(PyObject *references)
{
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list != NULL && i < PyList_GET_SIZE(references); i++) {
        PyObject *scope = PyObject_CallNoArgs(PyList_GET_ITEM(references, i));
        PyObject *found = NULL;
        if (scope != NULL)
            found = scope != Py_None ? facts((scope_object *)scope) : Py_NewRef(Py_None);
        Py_XDECREF(scope);
        if (found == Py_None)
            Py_DECREF(found);
        else
            append(&list, found);
    }
    return list;
}

PyObject *core_snapshot(PyObject *module, PyObject *Py_UNUSED(unused))
{
    core_state *state = module_core(module);
    int64_t open;
    arena_figures figures;
    if (state == NULL || state_ready(state) < 0)
        return NULL;
    PyObject *references = listed(state, &open);
    PyObject *scopes = references != NULL ? all_facts(references) : NULL;
    Py_XDECREF(references);
    if (scopes == NULL)
        return NULL;
    arena_read(state->arena, &figures);
    int64_t unlisted = figures.scopes > open ? figures.scopes - open : 0;
    PyObject *found = Py_BuildValue("{sOsLsLsL}", "debug", debug_is_on(state) ? Py_True : Py_False,
                                    "unlisted", (long long)unlisted, "accounts",
                                    (long long)counter_get(&state->accounts), "accounted_bytes",
                                    (long long)counter_get(&state->accounted));
    put(&found, "scopes", scopes);
    return found;
}
