/* The segment type: life, exports, buffer protocol. */
#include "segment.h"

#include "debug.h"
#include "errors.h"
#include "python_part.h"
#include "record.h"

/* ---- life ------------------------------------------------------------------------------------ */

static segment_object *take_segment(core_state *state)
{
#if SCOPES_FREELISTS
    if (state->free_segment_count > 0) {
        PyObject *dead = state->free_segments[--state->free_segment_count];
        return (segment_object *)revive(dead, state->segment_type);
    }
#endif
    if (state->segment_type == NULL)
        return (segment_object *)state_is_gone();
    return PyObject_GC_New(segment_object, state->segment_type);
}

static void free_segment(core_state *state, segment_object *segment)
{
    PyTypeObject *type = Py_TYPE(segment);
#if SCOPES_FREELISTS
    if (state->free_segment_count < FREE_SEGMENTS && !state->closing) {
        Py_SET_TYPE(segment, &PyList_Type);
        state->free_segments[state->free_segment_count++] = (PyObject *)segment;
    }
    else
        PyObject_GC_Del(segment);
#else
    (void)state;
    PyObject_GC_Del(segment);
#endif
    Py_DECREF(type);
}

segment_object *segment_new(core_state *state)
{
    segment_object *segment = take_segment(state);
    if (SCOPES_UNLIKELY(segment == NULL))
        return NULL;
    segment->core = state;
    segment->scope = NULL; /* not part of one yet */
    segment->adoption = NULL;
    segment->prev = segment->next = NULL;
    segment->weakrefs = NULL;
    counter_set(&segment->exports, 0);
    return segment;
}

static void put_into_scope(segment_object *segment, scope_object *scope)
{
    SCOPE_LOCK(scope);
    segment->next = scope->segments;
    if (segment->next != NULL)
        segment->next->prev = segment;
    scope->segments = segment;
    SCOPE_UNLOCK();
}

void segment_set(segment_object *segment, scope_object *scope, block *from, PyObject *adoption,
                 char *address, Py_ssize_t nbytes, int readonly)
{
    segment->scope = (scope_object *)Py_NewRef(scope);
    segment->block = from;
    segment->adoption = Py_XNewRef(adoption);
    segment->address = address;
    segment->nbytes = nbytes;
    segment->readonly = (uint8_t)readonly;
    if (SCOPES_LIKELY(scope_has_list(scope))) /* untaken: with a GIL, always */
        put_into_scope(segment, scope);
    if (SCOPES_UNLIKELY(scope->tracked))
        PyObject_GC_Track(segment);
}

static void take_out_of_scope(segment_object *segment)
{
    scope_object *scope = segment->scope;
    SCOPE_LOCK(scope);
    if (segment->prev != NULL)
        segment->prev->next = segment->next;
    else
        scope->segments = segment->next;
    if (segment->next != NULL)
        segment->next->prev = segment->prev;
    SCOPE_UNLOCK();
}

static int segment_traverse(PyObject *self, visitproc visit, void *arg)
{
    segment_object *segment = (segment_object *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(segment->scope);
    Py_VISIT(segment->adoption);
    return 0;
}

/* No tp_clear: each cycle through a segment goes on through its scope or adoption, which have one. */
static void segment_dealloc(PyObject *self)
{
    segment_object *segment = (segment_object *)self;
    core_state *state = segment->core;
    scope_object *scope = segment->scope;
    if (SCOPES_LIKELY(scope != NULL)) {
        if (SCOPES_UNLIKELY(scope->tracked))
            PyObject_GC_UnTrack(self);
        if (SCOPES_LIKELY(scope_has_list(scope))) /* untaken: with a GIL, always */
            take_out_of_scope(segment);
    }
    if (segment->weakrefs != NULL)
        PyObject_ClearWeakRefs(self);
    if (SCOPES_LIKELY(scope != NULL)) {
        EVENT(state, EVENT_DROP, segment, NULL, segment->nbytes);
        if (segment->adoption == NULL && !scope_is_inherited(scope))
            arena_drop(state->arena, segment->block);
        Py_XDECREF(segment->adoption);
        Py_DECREF(scope);
        if (SCOPES_UNLIKELY(arena_has_pending(state->arena)))
            state_unmap_pending(state, 0);
    }
    free_segment(state, segment);
}

/* ---- exports --------------------------------------------------------------------------------- */

/* True once adopted memory may be gone: while the scope is closing, or before the collector closes it. */
static inline int is_released(segment_object *segment)
{
    return segment->adoption != NULL && adoption_is_released(segment->adoption);
}

static inline int export_lock_held(segment_object *segment)
{
    scope_object *scope = segment->scope;
    uint64_t found = word_get(&scope->state);
    if (SCOPES_UNLIKELY(is_released(segment)))
        return -1;
    do {
        if ((found & STATE_MASK) != STATE_OPEN)
            return -1;
        /* untaken: under the GIL nobody comes between */
    } while (!word_replace(&scope->state, &found, found + ONE_EXPORT));
    counter_add(&segment->block->exports, 1);
    counter_add(&segment->exports, 1);
    return 0;
}

/* segment_export while debugging. */
static SCOPES_RARE int export_with_origin(core_state *state, segment_object *segment,
                                          export_origin **origin)
{
    scope_object *scope = segment->scope;
    int result;
    export_origin *made = debug_new_export(state, segment);
    if (made == NULL)
        return -1;
    SCOPE_LOCK(scope);
    result = export_lock_held(segment);
    if (result == 0)
        debug_link_export_lock_held(made);
    SCOPE_UNLOCK();
    if (result < 0) {
        debug_free_export(made);
        return raise_closed(state, scope);
    }
    *origin = made;
    return 0;
}

int segment_export(core_state *state, segment_object *segment, export_origin **origin)
{
    scope_object *scope = segment->scope;
    int result;
    *origin = NULL;
    if (SCOPES_UNLIKELY(scope_wrong_thread(scope)))
        return raise_wrong_thread(state, scope);
    /* untaken: with a GIL, the list is always kept */
    if (SCOPES_UNLIKELY(debug_is_on(state)) && scope_has_list(scope))
        return export_with_origin(state, segment, origin);
    SCOPE_LOCK(scope);
    result = export_lock_held(segment);
    SCOPE_UNLOCK();
    if (SCOPES_UNLIKELY(result < 0))
        return raise_closed(state, scope);
    EVENT_AND_RETURN(state, EVENT_EXPORT, segment, NULL, segment->nbytes);
}

static inline void unexport(core_state *state, segment_object *segment, export_origin *origin)
{
    scope_object *scope = segment->scope;
    block *b = segment->block;
    SCOPE_LOCK(scope);
    uint64_t now = word_add(&scope->state, (uint64_t)0 - ONE_EXPORT);
    counter_add(&segment->exports, -1);
    int64_t exports = counter_add(&b->exports, -1);
    int deferred = (now & STATE_MASK) == STATE_CLOSED && segment->adoption == NULL;
    if (deferred && exports == 0 && !scope_is_inherited(scope)) {
        arena_defer(state->arena, -(int64_t)b->size);
        if (debug_is_on(state))
            debug_poison(b);
        arena_retire(state->arena, b);
    }
    if (SCOPES_UNLIKELY(origin != NULL))
        debug_end_export_lock_held(origin);
    SCOPE_UNLOCK();
}

static __attribute__((cold, noinline)) void unexport_recorded(core_state *state, segment_object *segment,
                                                              export_origin *origin)
{
    record_event(state, EVENT_UNEXPORT, segment, NULL, (uint64_t)segment->nbytes);
    unexport(state, segment, origin);
}

void segment_unexport(core_state *state, segment_object *segment, export_origin *origin)
{
    if (RECORDS_EVENTS(state))
        unexport_recorded(state, segment, origin);
    else
        unexport(state, segment, origin);
}

int segment_check(segment_object *segment)
{
    scope_object *scope = segment->scope;
    if (SCOPES_UNLIKELY(scope_wrong_thread(scope)))
        return raise_wrong_thread(segment->core, scope);
    if (SCOPES_UNLIKELY(scope_state(scope) == STATE_CLOSED || is_released(segment)))
        return raise_closed(segment->core, scope);
    return 0;
}

static int segment_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    segment_object *segment = (segment_object *)self;
    core_state *state = segment->core;
    export_origin *origin;
    if (segment_export(state, segment, &origin) < 0) {
        view->obj = NULL;
        return -1;
    }
    if (PyBuffer_FillInfo(view, self, segment->address, segment->nbytes, segment->readonly, flags) < 0) {
        segment_unexport(state, segment, origin);
        return -1;
    }
    view->internal = origin;
    if (segment->adoption != NULL)
        adoption_mark_exported(segment->adoption);
    return 0;
}

static void segment_release_buffer(PyObject *self, Py_buffer *view)
{
    segment_unexport(((segment_object *)self)->core, (segment_object *)self, view->internal);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static PyObject *segment_nbytes(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromSsize_t(((segment_object *)self)->nbytes);
}

static PyObject *segment_scope(PyObject *self, void *Py_UNUSED(closure))
{
    return Py_NewRef(((segment_object *)self)->scope);
}

static PyObject *segment_readonly(PyObject *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(((segment_object *)self)->readonly);
}

static PyObject *segment_repr(PyObject *self)
{
    segment_object *segment = (segment_object *)self;
    return PyUnicode_FromFormat("<Segment of a %s scope, %s, %zd bytes%s, at %p>",
                                scope_kind_name(segment->scope), scope_state_name(segment->scope),
                                segment->nbytes, segment->readonly ? ", readonly" : "",
                                (void *)segment->address);
}

/* ---- tables ---------------------------------------------------------------------------------- */

PyDoc_STRVAR(fill_doc,
"fill($self, byte, /)\n--\n\n"
"Sets every byte to the given value, 0 to 255.\n\n"
">>> with ConfinedScope() as scope:\n"
"...     segment = scope.allocate(3)\n"
"...     segment.fill(7)\n"
"...     list(segment)\n"
"[7, 7, 7]");
PyDoc_STRVAR(copy_from_doc,
"copy_from($self, buffer, offset=0)\n--\n\n"
"Copies all bytes of a contiguous buffer to the given offset of the segment.\n\n"
"Raises ValueError if they don't fit. Takes no export.\n\n"
">>> with ConfinedScope() as scope:\n"
"...     segment = scope.allocate(4)\n"
"...     segment.copy_from(b'ab', offset=1)\n"
"...     bytes(segment)\n"
"b'\\x00ab\\x00'");
PyDoc_STRVAR(to_readonly_doc,
"toreadonly($self, /)\n--\n\n"
"The same bytes as a segment that refuses to be written to.\n\n"
">>> with ConfinedScope() as scope:\n"
"...     scope.allocate(4).toreadonly().readonly\n"
"True");
PyDoc_STRVAR(pin_doc,
"pin($self, /)\n--\n\n"
"A context manager that gives the address as an int; a counted export while it is entered.\n\n"
"The address is valid within the with statement, whoever closes the scope meanwhile.\n\n"
">>> with ConfinedScope() as scope:\n"
"...     with scope.allocate(64, align=64).pin() as address:\n"
"...         address % 64\n"
"0");
PyDoc_STRVAR(cdata_doc,
"cdata($self, ctype, ffi=None)\n--\n\n"
"The memory as a cffi object, such as \"double[]\"; a counted export until that object is dead.\n\n"
"ffi is the cffi.FFI that knows ctype, where it is not a type of C itself.\n\n"
">>> with ConfinedScope(exports='defer') as scope:\n"
"...     len(scope.allocate(16).cdata('double[]'))\n"
"2");
PyDoc_STRVAR(as_array_doc,
"__array__($self, dtype=None, copy=None)\n--\n\n"
"For NumPy, which takes the buffer of an open segment; a closed one raises ScopeClosedError here.");
PyDoc_STRVAR(segment_doc,
"A run of native memory in a scope: a mutable buffer of bytes, usable until the scope is closed.\n\n"
"len(), [i], [i:j] (a segment of the same memory; no step), ==, by content, iteration, and the buffer\n"
"protocol. memoryview, np.frombuffer, np.asarray, ctypes from_buffer and cdata() hold a counted\n"
"export, for which close() raises ScopeInUseError. np.ndarray(buffer=segment) holds none: after close\n"
"such an array reads its old bytes or zeros, never those of another scope.\n\n"
">>> with ConfinedScope() as scope:\n"
"...     segment = scope.allocate(8)\n"
"...     segment[2:4] = b'hi'\n"
"...     bytes(segment[1:5])\n"
"b'\\x00hi\\x00'");

static PyMethodDef segment_methods[] = {
    {"fill", segment_fill, METH_O, fill_doc},
    {"copy_from", (PyCFunction)(void (*)(void))segment_copy_from, METH_FASTCALL | METH_KEYWORDS,
     copy_from_doc},
    {"toreadonly", segment_to_readonly, METH_NOARGS, to_readonly_doc},
    {"pin", segment_pin, METH_NOARGS, pin_doc},
    {"cdata", (PyCFunction)(void (*)(void))python_cdata, METH_FASTCALL | METH_KEYWORDS, cdata_doc},
    {"__array__", (PyCFunction)(void (*)(void))python_as_array, METH_FASTCALL | METH_KEYWORDS, as_array_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef segment_getset[] = {
    {"nbytes", segment_nbytes, NULL, "Length in bytes.", NULL},
    {"scope", segment_scope, NULL, "The scope it lives in.", NULL},
    {"readonly", segment_readonly, NULL, "True if it can't be written to.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef segment_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(segment_object, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot segment_slots[] = {
    {Py_tp_doc, (void *)segment_doc},
    {Py_tp_dealloc, segment_dealloc},
    {Py_tp_traverse, segment_traverse},
    {Py_tp_repr, segment_repr},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_richcompare, segment_compare},
    {Py_tp_methods, segment_methods},
    {Py_tp_getset, segment_getset},
    {Py_tp_members, segment_members},
    {Py_mp_length, segment_length},
    {Py_mp_subscript, segment_subscript},
    {Py_mp_ass_subscript, segment_assign},
    {Py_sq_length, segment_length},
    {Py_sq_item, segment_item},
    {Py_bf_getbuffer, segment_get_buffer},
    {Py_bf_releasebuffer, segment_release_buffer},
    {0, NULL},
};

static PyType_Spec segment_spec = {
    .name = "scopes.Segment",
    .basicsize = sizeof(segment_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = segment_slots,
};

int segment_add_type(PyObject *module, core_state *state)
{
    state->segment_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &segment_spec, NULL);
    return state->segment_type != NULL ? PyModule_AddType(module, state->segment_type) : -1;
}
