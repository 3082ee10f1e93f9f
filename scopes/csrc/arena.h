/* The arena: leases blocks of native memory to scopes and keeps the ones given back warm, up to a bound.
 *
 * No Python in here. Entry points and what makes them safe without a GIL (SCOPES_CONCURRENT):
 *
 *   arena_lease            the calling thread's magazine (its own), else the lock
 *   arena_drop             atomic count; at zero the calling thread's magazine, else the lock
 *   arena_retire, _trim,
 *   arena_set_cache_limit,
 *   arena_set_cap,
 *   arena_window_peak,
 *   arena_take_back,
 *   arena_read, _pending   the lock
 *   arena_charge, _confirm,
 *   _credit                the calling thread's counter, folded into an atomic one; see counters below
 *   arena_count_scope      the calling thread's counter
 *   arena_defer, _cap      atomic
 *   arena_has_pending      atomic, a glance
 *   arena_unmap            nothing: works on ranges nobody else knows any more
 *   arena_inherit          the caller holds the lock
 *   arena_new, _delete,
 *   _abandon               no other thread may be in the arena
 *
 * The lock is that of the process (process.h), which is free and in order in a forked child.
 */
#ifndef SCOPES_ARENA_H
#define SCOPES_ARENA_H

#include "block.h"

typedef struct arena arena;

/* What a scope takes when a small segment is not its first. */
#define ARENA_RUN_BYTES ((size_t)64 * 1024)
/* Segments above this have a block of their own. */
#define ARENA_SMALL_MOST ((size_t)16 * 1024)
/* So have segments with an alignment above this: blocks start at a page at best. */
#define ARENA_SMALL_ALIGN_MOST ((size_t)4096)
/* Alignments up to this are possible: a huge page. */
#define ARENA_ALIGN_MOST ((size_t)2 * 1024 * 1024)
/* Free and retired bytes that stay warm, unless set otherwise. */
#define ARENA_CACHE_LIMIT ((size_t)64 * 1024 * 1024)

/* Figures of the whole arena, in bytes unless said. */
typedef struct {
    int64_t scopes;      /* open; a count */
    int64_t live;        /* handed out in segments of scopes that are open */
    int64_t peak;        /* the highest live has been */
    int64_t deferred;    /* in blocks of closed scopes whose exports are alive */
    size_t mapped;       /* of address space mapped */
    size_t cached;       /* of it, free for the next scope */
    size_t retired;      /* in blocks of closed scopes that a segment still covers */
    size_t retired_blocks; /* their count */
} arena_figures;

arena *arena_new(void);

/* Frees the arena with all its memory; leased blocks are invalid from then on. */
void arena_delete(arena *a);

/* Ends the use of an arena, some of whose leased or retired memory may still be read: what is free goes. */
void arena_abandon(arena *a);

/* In a forked child: takes the limits of the parent's arena over, and frees what was free in that one. Its
 * leased and retired blocks stay as they are; it is not used any more. */
void arena_inherit(arena *a, arena *parents);

/* Leases a block that holds at least nbytes at a multiple of align (a power of two up to
 * ARENA_ALIGN_MOST), with refs = 1 and exports = 0. Its first `dirty` bytes are not zero.
 * Returns 0 or the errno of the failure. */
int arena_lease(arena *a, size_t nbytes, size_t align, block **leased);

/* Gives one reference back; the last one frees the block. */
void arena_drop(arena *a, block *b);

/* Tells that the scope of the block is closed and its exports are gone, while segments still cover it.
 * Its pages stay warm within the cache limit and are dropped above it. */
void arena_retire(arena *a, block *b);

/* The bytes that have to be unmapped because of what was given back, as a list for arena_unmap:
 * a separate step, so that the caller may leave the GIL for a large one. NULL if there are none. */
block *arena_pending(arena *a, size_t *total);

/* Unmaps them. Returns, for arena_take_back, those that the system refuses to unmap: they are free ranges
 * again, without pages, and their turn comes again. */
block *arena_unmap(block *pending);
void arena_take_back(arena *a, block *refused);

/* True if arena_pending has something to give. A glance, without the lock. */
int arena_has_pending(arena *a);

/* Bound of free and retired warm bytes. Takes effect at once. */
void arena_set_cache_limit(arena *a, size_t nbytes);

/* Empties the calling thread's magazine and the cache, and drops the pages of retired blocks. Other
 * threads keep what is in their magazines (at most 256 KiB each) until their next call or their end. */
void arena_trim(arena *a);

/* Counters. Charging more than the cap allows changes nothing and returns the live bytes found (-1 is
 * success); once the memory is there, arena_confirm makes it count for the peaks. Without
 * SCOPES_CONCURRENT, or under a cap, live and peak are exact; else the peak is exact to threads x 64 KiB. */
/* More than an address space holds, and far from where sums of sizes overflow. */
#define ARENA_MOST ((size_t)1 << 48)
#define ARENA_NO_CAP INT64_MAX
int64_t arena_charge(arena *a, size_t nbytes);
void arena_confirm(arena *a);
void arena_credit(arena *a, size_t nbytes);
void arena_set_cap(arena *a, int64_t nbytes);
int64_t arena_cap(arena *a);
void arena_count_scope(arena *a, int n); /* opened: 1, closed: -1 */
void arena_defer(arena *a, int64_t nbytes); /* negative: no longer deferred */

/* The highest live bytes since the last call with reset != 0. */
int64_t arena_window_peak(arena *a, int reset);

void arena_read(arena *a, arena_figures *figures);

#if SCOPES_DEBUG
/* Walks the whole structure and aborts where it contradicts itself. */
void arena_check(arena *a);
#endif

#endif
