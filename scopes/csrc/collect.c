#include "collect.h"

#ifdef Py_GIL_DISABLED
#define YOUNGEST (BUDGET_GENERATIONS - 1) /* each collection is a full one */
#else
#define YOUNGEST 0
#endif

/* gc.get_stats()[generation]["collections"]; -1 with an exception set. */
static long long collections(PyObject *gc, int generation)
{
    long long count = -1;
    PyObject *all = PyObject_CallMethod(gc, "get_stats", NULL);
    PyObject *one = all != NULL ? PySequence_GetItem(all, generation) : NULL;
    PyObject *found = one != NULL ? PyMapping_GetItemString(one, "collections") : NULL;
    if (found != NULL)
        count = PyLong_AsLongLong(found);
    Py_XDECREF(found);
    Py_XDECREF(one);
    Py_XDECREF(all);
    return count;
}

/* True if the collector ran: inside of a collection, as in its finalizers, it does not. */
static int collect(PyObject *gc, int generation)
{
    long long before = collections(gc, generation);
    PyObject *result = before >= 0 ? PyObject_CallMethod(gc, "collect", "i", generation) : NULL;
    Py_XDECREF(result);
    int ran = result != NULL && collections(gc, generation) > before;
    PyErr_Clear(); /* what is asked for here is memory; without an answer there is none */
    return ran;
}

static int may_collect(const core_state *state)
{
    return PyGC_IsEnabled() || state->collects_when_disabled;
}

static int ask_generations(core_state *state, PyObject *gc, int64_t before)
{
    budget *b = &state->implicit_budget;
    int ran = 0;
    for (int generation = YOUNGEST; generation < BUDGET_GENERATIONS; generation++) {
        if (!collect(gc, generation))
            break;
        ran = 1;
        counter_add(&b->forced[generation], 1);
        if (budget_is_enough(before, counter_get(&b->bytes)))
            break;
    }
    return ran;
}

void collect_for_budget(core_state *state, size_t nbytes)
{
    budget *b = &state->implicit_budget;
    if (!may_collect(state) || !budget_begin(b))
        return;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    int64_t before = counter_get(&b->bytes);
    PyObject *gc = PyImport_ImportModule("gc");
    int ran = gc != NULL && ask_generations(state, gc, before);
    Py_XDECREF(gc);
    budget_end(b, before, (int64_t)nbytes, ran);
    PyErr_Restore(type, value, trace);
}

int64_t collect_for_memory(core_state *state)
{
    arena_figures before, after;
    arena_read(state->arena, &before);
    if (may_collect(state)) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyObject *gc = PyImport_ImportModule("gc");
        if (gc != NULL)
            collect(gc, BUDGET_GENERATIONS - 1);
        Py_XDECREF(gc);
        PyErr_Restore(type, value, trace);
    }
    arena_trim(state->arena);
    state_unmap_pending(state, 0);
    arena_read(state->arena, &after);
    return before.live > after.live ? before.live - after.live : 0;
}
