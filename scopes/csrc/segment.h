/* Segments: bounds-checked views of the memory of a scope, and what exports them. */
#ifndef SCOPES_SEGMENT_H
#define SCOPES_SEGMENT_H

#include "scope.h"

typedef struct export_origin export_origin;

typedef struct segment_object {
    PyObject_HEAD
    core_state *core;            /* never freed, see state.h */
    scope_object *scope;         /* owned */
    char *address;               /* first byte, within block */
    Py_ssize_t nbytes;
    block *block;                /* holds one reference; adoption's own where that is set */
    PyObject *adoption;          /* owned: foreign memory, else NULL */
    struct segment_object *prev; /* in scope->segments */
    struct segment_object *next;
    PyObject *weakrefs;
    counter exports;             /* of this very segment, for messages */
    uint8_t readonly;
} segment_object;

/* A new segment of memory that has been carved or adopted; takes over the reference to the block. */
segment_object *segment_new(core_state *state);
void segment_set(segment_object *segment, scope_object *scope, block *from, PyObject *adoption,
                 char *address, Py_ssize_t nbytes, int readonly);

/* Counts an export of the segment. -1 with an exception set where that is not allowed. The origin, NULL
 * unless debugging is on, is given back with the export. */
int segment_export(core_state *state, segment_object *segment, export_origin **origin);
void segment_unexport(core_state *state, segment_object *segment, export_origin *origin);

/* Raises unless the calling thread may read and write the bytes now; between ACCESS_LOCK and the access. */
int segment_check(segment_object *segment);

/* Keeps adopted memory from being released by another thread; other memory stays where it is. */
#define ACCESS_LOCK(segment)                                                                           \
    OBJECT_LOCK_IF((segment)->adoption != NULL && !scope_is_inherited((segment)->scope), (segment)->adoption)
#define ACCESS_UNLOCK() OBJECT_UNLOCK()

/* segment.c */
int segment_add_type(PyObject *module, core_state *state);

/* segment_access.c: methods and slots that read and write bytes. */
Py_ssize_t segment_length(PyObject *self);
PyObject *segment_item(PyObject *self, Py_ssize_t index);
PyObject *segment_subscript(PyObject *self, PyObject *key);
int segment_assign(PyObject *self, PyObject *key, PyObject *value);
PyObject *segment_compare(PyObject *self, PyObject *other, int op);
PyObject *segment_fill(PyObject *self, PyObject *value);
PyObject *segment_copy_from(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
PyObject *segment_to_readonly(PyObject *self, PyObject *unused);

/* pin.c */
int pin_add_type(PyObject *module, core_state *state);
PyObject *segment_pin(PyObject *self, PyObject *unused);

/* adoption.c */
int adoption_add_type(PyObject *module, core_state *state);
PyObject *scope_adopt(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
/* Calls the release function, unless something that is not counted may still hold the memory: then the
 * last segment does. -1 with an exception set when the function raised. */
int adoption_release_at_close(PyObject *adoption);
void adoption_mark_exported(PyObject *adoption);
/* True once the memory may be gone, which happens while the scope is still closing. */
int adoption_is_released(PyObject *adoption);

/* statistics.c */
int statistics_add_types(PyObject *module, core_state *state);
PyObject *scope_statistics(PyObject *self, PyObject *unused);
PyObject *core_statistics(PyObject *module, PyObject *unused);

#endif
