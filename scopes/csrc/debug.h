/* Debugging help: where scopes were opened and exports taken, and poison over memory that is given back.
 *
 * While it is on, an origin is kept of each scope that is opened and each export that is taken. Off, every
 * hook is one branch: on core_state.debugging, or on the pointer to an origin, since those that are there
 * are taken off the books either way. An origin keeps nothing of the program alive.
 *
 *   scope_origin   made when the scope is opened, or with the first export of it that has one; freed with
 *                  the scope object, since a closed scope may still have exports. In the module's list, the
 *                  oldest first, unless the scope was inherited through fork.
 *   export_origin  in the list of its scope's origin; held by who has the export, in Py_buffer.internal or
 *                  in a pin, and handed back to end it: so exactly the one that is released goes.
 *
 * Guarded without the GIL: the module's list by the lock of the process; the list of a scope's exports by
 * the lock of the scope; places never change. */
#ifndef SCOPES_DEBUG_H
#define SCOPES_DEBUG_H

#include "place.h"
#include "segment.h"

/* What memory is overwritten with when it goes back; CPython's debug allocator marks dead bytes with it,
 * too. */
#define POISON 0xDD

struct scope_origin {
    origin_link link;
    scope_object *scope;  /* borrowed; frees this before it dies */
    PyObject *reference;  /* owned: a weak one to the scope, for other threads */
    origin_link exports;  /* ends of the list of export_origin */
    int was_seen;         /* 0: the scope was opened while this was off, and the place is empty */
    place opened;
};

struct export_origin {
    origin_link link;
    segment_object *segment; /* borrowed; the export keeps it alive */
    place taken;
};

static inline int debug_is_on(core_state *state)
{
    return counter_get(&state->debugging) != 0;
}

/* Starts the module's list, empty, in a new process as well. */
void debug_start(core_state *state);

/* Keeps the origin of a scope that is being opened. May run Python code. -1 with an exception set. */
SCOPES_RARE int debug_opened(core_state *state, scope_object *scope);
SCOPES_RARE void debug_forget(core_state *state, scope_object *scope);
/* ", opened at app.py:3 in main", or "" where that is not known. NULL with an exception set. */
PyObject *debug_opening_text(const scope_object *scope);

/* The origin of an export that is about to be taken. May run Python code. NULL with an exception set.
 * Once the export is counted it is linked; after that, ended. */
export_origin *debug_new_export(core_state *state, segment_object *segment);
void debug_link_export_lock_held(export_origin *origin);
SCOPES_RARE void debug_end_export_lock_held(export_origin *origin);
void debug_free_export(export_origin *origin);

/* Appends ", taken at app.py:12 in read and ..." to the text about a segment's exports; nothing where
 * nothing is known and this is off. The text becomes NULL, with an exception set, on failure. */
void debug_append_origins_lock_held(PyObject **text, segment_object *segment, int64_t exports);

/* Overwrites what was handed out of a block. */
SCOPES_RARE void debug_poison(block *b);
/* The same of those in the list of a scope's blocks that have no exports. Lock of the scope held. */
SCOPES_RARE void debug_poison_list(block *b);

/* snapshot.c */
PyObject *core_snapshot(PyObject *module, PyObject *unused);

#endif
