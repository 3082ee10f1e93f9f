#include "debug.h"

#include "os_memory.h"

#include <string.h>

/* ---- lists ----------------------------------------------------------------------------------- */

/* A list is a ring through its ends. */
static void list_start(origin_link *ends)
{
    ends->prev = ends->next = ends;
}

static void list_append(origin_link *ends, origin_link *link)
{
    link->prev = ends->prev;
    link->next = ends;
    ends->prev->next = link;
    ends->prev = link;
}

static void list_remove(origin_link *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
}

void debug_start(core_state *state)
{
    list_start(&state->origins);
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static void free_origin(scope_origin *origin)
{
    Py_DECREF(origin->reference);
    place_release(&origin->opened);
    PyMem_Free(origin);
}

static scope_origin *new_origin(scope_object *scope)
{
    scope_origin *origin = PyMem_Malloc(sizeof(scope_origin));
    if (origin == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    origin->scope = scope;
    origin->was_seen = 0;
    origin->opened.depth = 0;
    list_start(&origin->exports);
    origin->reference = PyWeakref_NewRef((PyObject *)scope, NULL);
    if (origin->reference == NULL) {
        PyMem_Free(origin);
        return NULL;
    }
    return origin;
}

/* Gives the scope the origin unless it has one. True if it took it over. */
static int attach(core_state *state, scope_object *scope, scope_origin *origin)
{
    int is_first;
    SCOPE_LOCK(scope);
    is_first = scope->origin == NULL;
    if (is_first) /* by chance: another thread or a finalizer took the first export just now */
        scope->origin = origin;
    SCOPE_UNLOCK();
    if (is_first && !scope_is_inherited(scope)) { /* by chance: the same */
        process_lock();
        list_append(&state->origins, &origin->link);
        process_unlock();
    }
    return is_first;
}

int debug_opened(core_state *state, scope_object *scope)
{
    scope_origin *origin = new_origin(scope);
    if (origin == NULL)
        return -1;
    origin->was_seen = 1;
    place_take(&origin->opened);
    attach(state, scope, origin);
    return 0;
}

void debug_forget(core_state *state, scope_object *scope)
{
    scope_origin *origin = scope->origin;
    scope->origin = NULL;
    if (!scope_is_inherited(scope)) {
        process_lock();
        list_remove(&origin->link);
        process_unlock();
    }
    free_origin(origin);
}

PyObject *debug_opening_text(const scope_object *scope)
{
    PyObject *text = PyUnicode_FromString("");
    if (scope->origin == NULL || !scope->origin->was_seen)
        return text;
    PyUnicode_AppendAndDel(&text, PyUnicode_FromString(", opened "));
    PyUnicode_AppendAndDel(&text, place_text(&scope->origin->opened, PLACE_FRAMES, PLACE_CALLED_FROM));
    return text;
}

/* A scope that was opened while this was off gets an origin without a place. */
static int ensure_origin(core_state *state, scope_object *scope)
{
    int has_one;
    SCOPE_LOCK(scope);
    has_one = scope->origin != NULL;
    SCOPE_UNLOCK();
    if (has_one)
        return 0;
    scope_origin *origin = new_origin(scope);
    if (origin == NULL)
        return -1;
    if (!attach(state, scope, origin)) /* by chance: the same */
        free_origin(origin);
    return 0;
}

/* ---- exports --------------------------------------------------------------------------------- */

export_origin *debug_new_export(core_state *state, segment_object *segment)
{
    if (ensure_origin(state, segment->scope) < 0)
        return NULL;
    export_origin *origin = PyMem_Malloc(sizeof(export_origin));
    if (origin == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    origin->segment = segment;
    place_take(&origin->taken);
    return origin;
}

void debug_link_export_lock_held(export_origin *origin)
{
    list_append(&origin->segment->scope->origin->exports, &origin->link);
}

void debug_end_export_lock_held(export_origin *origin)
{
    if (scope_has_list(origin->segment->scope)) /* untaken: with a GIL, always */
        list_remove(&origin->link);
    debug_free_export(origin);
}

void debug_free_export(export_origin *origin)
{
    place_release(&origin->taken);
    PyMem_Free(origin);
}

/* ---- in messages ----------------------------------------------------------------------------- */

/* Lines of code that a message names for one segment. */
#define NAMED_LINES 3

typedef struct {
    const place *place;
    int64_t exports;
} taker;

/* Adds the export to those of its line; false if that is one line too many. */
static int count_taker(taker *takers, const place *taken)
{
    for (int i = 0; i < NAMED_LINES; i++) {
        if (takers[i].place == NULL)
            takers[i].place = taken;
        if (place_is_same_line(takers[i].place, taken)) {
            takers[i].exports++;
            return 1;
        }
    }
    return 0;
}

/* Exports that were taken at a place or, where that is NULL, as the words say. */
static void append_taker(PyObject **text, const place *taken, const char *words, int64_t exports,
                         int *named)
{
    if (exports == 0 || *text == NULL)
        return;
    PyUnicode_AppendAndDel(text, PyUnicode_FromString((*named)++ == 0 ? ", taken " : " and "));
    PyUnicode_AppendAndDel(text, taken != NULL ? place_text(taken, 1, "") : PyUnicode_FromString(words));
    if (exports > 1)
        PyUnicode_AppendAndDel(text, PyUnicode_FromFormat(" (%lld times)", (long long)exports));
}

void debug_append_origins_lock_held(PyObject **text, segment_object *segment, int64_t exports)
{
    scope_origin *origin = segment->scope->origin;
    taker takers[NAMED_LINES] = {{NULL, 0}};
    int64_t elsewhere = 0;
    int named = 0;
    if (origin == NULL && !debug_is_on(segment->core))
        return;
    for (origin_link *at = origin ? origin->exports.next : NULL; at != NULL && at != &origin->exports;
         at = at->next) {
        const export_origin *export = (const export_origin *)at;
        if (export->segment != segment)
            continue;
        exports--;
        if (!count_taker(takers, &export->taken))
            elsewhere++;
    }
    for (int i = 0; i < NAMED_LINES && takers[i].place != NULL; i++)
        append_taker(text, takers[i].place, NULL, takers[i].exports, &named);
    append_taker(text, NULL, "elsewhere", elsewhere, &named);
    append_taker(text, NULL, "while debug was off", exports, &named);
}

/* ---- poison ---------------------------------------------------------------------------------- */

void debug_poison(block *b)
{
    if (b->slab != NULL)
        memset(b->base, POISON, b->dirty);
    else
        os_fill_resident(b->base, b->dirty, POISON);
}

void debug_poison_list(block *b)
{
    for (; b != NULL; b = b->next)
        if (counter_get(&b->exports) == 0)
            debug_poison(b);
}
