/* What scopes and the process report of themselves, as records that can't be changed. */
#include "segment.h"

static PyStructSequence_Field process_fields[] = {
    {"live_bytes", "Handed out in segments of open scopes."},
    {"peak_bytes", "The highest live_bytes has been."},
    {"peak_exact", "True if peak_bytes is exact; else it may be off by 64 KiB a thread."},
    {"deferred_bytes", "In blocks of closed scopes that wait for their last export."},
    {"retired_bytes", "In blocks of closed scopes that a segment still covers: not reused before it is gone."},
    {"cached_bytes", "Mapped and free for the next scope."},
    {"mapped_bytes", "Of address space mapped for all of this."},
    {"open_scopes", "Scopes that are not closed."},
    {"pinned_slabs", "Blocks that make up retired_bytes."},
    {"implicit_bytes", "Unreleased, of implicit scopes and accounted: what the budget counts."},
    {"implicit_budget", "Where the next of them asks for a collection; None if never."},
    {"forced_collections", "Collections asked for, by generation: a tuple, the youngest first."},
    {"unproductive_collections", "Times that all generations together freed less than an eighth."},
    {"forced_freed_bytes", "Of implicit_bytes, freed by collections that were asked for."},
    {NULL, NULL},
};

static PyStructSequence_Desc process_record = {
    .name = "scopes.Statistics",
    .doc = "Native memory of the process, in bytes; see scopes.statistics().",
    .fields = process_fields,
    .n_in_sequence = 14,
};

static PyStructSequence_Field scope_fields[] = {
    {"live_bytes", "Handed out in segments; 0 once closed."},
    {"segments", "Segment objects alive, parts of segments included."},
    {"exports", "Buffers and pins alive."},
    {"callbacks", "Callbacks registered and not yet run."},
    {"limit", "The cap of live_bytes, or None."},
    {NULL, NULL},
};

static PyStructSequence_Desc scope_record = {
    .name = "scopes.ScopeStatistics",
    .doc = "One scope's state, in bytes and counts; see Scope.statistics().",
    .fields = scope_fields,
    .n_in_sequence = 5,
};

/* A record of the values, which are taken over; NULL where one is missing. */
static PyObject *make_record(PyTypeObject *type, PyObject *const *values, int count)
{
    PyObject *record = type != NULL ? PyStructSequence_New(type) : state_is_gone();
    for (int i = 0; i < count; i++) {
        if (record == NULL || values[i] == NULL) {
            for (; i < count; i++)
                Py_XDECREF(values[i]);
            Py_XDECREF(record);
            return NULL;
        }
        PyStructSequence_SetItem(record, i, values[i]);
    }
    return record;
}

PyObject *core_statistics(PyObject *module, PyObject *Py_UNUSED(unused))
{
    core_state *state = module_core(module);
    arena_figures figures;
    if (state == NULL || state_ready(state) < 0)
        return NULL;
    budget *b = &state->implicit_budget;
    arena_read(state->arena, &figures);
    int exact = !SCOPES_CONCURRENT || arena_cap(state->arena) != ARENA_NO_CAP;
    PyObject *values[] = {
        PyLong_FromLongLong(figures.live),       PyLong_FromLongLong(figures.peak),
        PyBool_FromLong(exact),                  PyLong_FromLongLong(figures.deferred),
        PyLong_FromSize_t(figures.retired),      PyLong_FromSize_t(figures.cached),
        PyLong_FromSize_t(figures.mapped),       PyLong_FromLongLong(figures.scopes),
        PyLong_FromSize_t(figures.retired_blocks),
        PyLong_FromLongLong(counter_get(&b->bytes)),
        counter_get(&b->base) == BUDGET_NONE ? Py_NewRef(Py_None)
                                             : PyLong_FromLongLong(counter_get(&b->threshold)),
        Py_BuildValue("(LLL)", (long long)counter_get(&b->forced[0]), (long long)counter_get(&b->forced[1]),
                      (long long)counter_get(&b->forced[2])),
        PyLong_FromLongLong(counter_get(&b->unproductive)),
        PyLong_FromLongLong(counter_get(&b->freed)),
    };
    return make_record(state->statistics_type, values, 14);
}

PyObject *scope_statistics(PyObject *self, PyObject *Py_UNUSED(unused))
{
    core_state *state = scope_core(self);
    scope_object *scope = (scope_object *)self;
    Py_ssize_t segments = 0, callbacks;
    int64_t live;
    SCOPE_LOCK(scope);
    for (segment_object *s = scope_segments(scope); s != NULL; s = s->next)
        segments++;
    callbacks = scope_callbacks_lock_held(scope);
    live = counter_get(&scope->live);
    SCOPE_UNLOCK();
    PyObject *values[] = {
        PyLong_FromLongLong(live),
        PyLong_FromSsize_t(segments),
        PyLong_FromLongLong(scope_exports(scope)),
        PyLong_FromSsize_t(callbacks),
        scope->limit == ARENA_NO_CAP ? Py_NewRef(Py_None) : PyLong_FromLongLong(scope->limit),
    };
    return make_record(state->scope_statistics_type, values, 5);
}

static PyTypeObject *add_record(PyObject *module, PyStructSequence_Desc *description)
{
    PyTypeObject *type = PyStructSequence_NewType(description);
    if (type != NULL && PyModule_AddType(module, type) < 0)
        Py_CLEAR(type);
    return type;
}

int statistics_add_types(PyObject *module, core_state *state)
{
    state->statistics_type = add_record(module, &process_record);
    state->scope_statistics_type = add_record(module, &scope_record);
    return state->statistics_type != NULL && state->scope_statistics_type != NULL ? 0 : -1;
}
