/* How a scope carves segments out of the blocks it leases, and gives the blocks back. */
#include "collect.h"
#include "debug.h"
#include "errors.h"
#include "scope.h"

#include <string.h>

static inline size_t align_up(const block *b, size_t offset, size_t align)
{
    uintptr_t address = (uintptr_t)b->base + offset;
    return offset + (size_t)(-address & (align - 1));
}

/* Where nbytes fit into the current block; SIZE_MAX if nowhere. */
static inline size_t place_in_current(const scope_object *scope, size_t nbytes, size_t align)
{
    const block *b = scope->current;
    if (b == NULL || nbytes > ARENA_SMALL_MOST)
        return SIZE_MAX;
    size_t offset = align_up(b, scope->used, align);
    return offset <= b->size && nbytes <= b->size - offset ? offset : SIZE_MAX;
}

/* What came of an attempt to carve; the last two are worth a collection and another attempt. */
enum carved { CARVED, RAISED, PAST_CAP, NO_MEMORY };

typedef struct {
    enum carved result;
    int64_t live; /* PAST_CAP: live bytes found */
    int error;    /* NO_MEMORY: errno */
} attempt;

/* Leases a block for nbytes. The first small segment gets one that just fits, so that scopes with a
 * single segment cost no more than it; the next one shows that there will be many. */
static int lease_for(core_state *state, scope_object *scope, size_t nbytes, size_t align, block **leased)
{
    block *b = NULL;
    int small = nbytes <= ARENA_SMALL_MOST && align <= ARENA_SMALL_ALIGN_MOST;
    int many = small && scope->current != NULL;
    int error = arena_lease(state->arena, many ? ARENA_RUN_BYTES : nbytes, align, &b);
    if (error != 0)
        return error;
    b->next = scope->blocks;
    scope->blocks = b;
    if (small)
        scope->current = b;
    *leased = b;
    return 0;
}

static attempt charge(core_state *state, scope_object *scope, size_t nbytes)
{
    if (SCOPES_UNLIKELY(nbytes > ARENA_MOST)) {
        raise_too_large(state, nbytes);
        return (attempt){.result = RAISED};
    }
    if (SCOPES_UNLIKELY(counter_get(&scope->live) > scope->limit - (int64_t)nbytes)) {
        raise_scope_limit(state, scope, nbytes);
        return (attempt){.result = RAISED};
    }
    int64_t found = arena_charge(state->arena, nbytes);
    if (SCOPES_UNLIKELY(found >= 0))
        return (attempt){.result = PAST_CAP, .live = found};
    return (attempt){.result = CARVED};
}

static attempt carve_lock_held(core_state *state, scope_object *scope, size_t nbytes, size_t align,
                               int zeroed, block **from, char **address)
{
    if (scope_check_open(state, scope) < 0)
        return (attempt){.result = RAISED};
    attempt charged = charge(state, scope, nbytes);
    if (SCOPES_UNLIKELY(charged.result != CARVED))
        return charged;
    size_t taken = nbytes > 0 ? nbytes : 1; /* so that each segment has an address of its own */
    block *b = scope->current;
    size_t offset = place_in_current(scope, taken, align);
    if (offset == SIZE_MAX) {
        int error = lease_for(state, scope, taken, align, &b);
        if (SCOPES_UNLIKELY(error != 0)) {
            arena_credit(state->arena, nbytes);
            return (attempt){.result = NO_MEMORY, .error = error};
        }
        offset = 0;
    }
    arena_confirm(state->arena);
    if (scope->kind == KIND_IMPLICIT)
        budget_add(&state->implicit_budget, (int64_t)nbytes);
    size_t end = offset + taken;
    if (zeroed && offset < b->dirty)
        memset(b->base + offset, 0, (end < b->dirty ? end : b->dirty) - offset);
    if (end > b->dirty)
        b->dirty = end;
    if (b == scope->current)
        scope->used = end;
    counter_set(&scope->live, counter_get(&scope->live) + (int64_t)nbytes);
    counter_add(&b->refs, 1);
    *from = b;
    *address = b->base + offset;
    return charged;
}

int scope_carve(core_state *state, scope_object *scope, size_t nbytes, size_t align, int zeroed,
                block **from, char **address)
{
    attempt made;
    int64_t reclaimed = -1; /* no collection has been tried */
    if (state_ready(state) < 0)
        return -1;
    for (;;) {
        SCOPE_LOCK(scope);
        made = carve_lock_held(state, scope, nbytes, align, zeroed, from, address);
        SCOPE_UNLOCK();
        if (SCOPES_LIKELY(made.result == CARVED))
            return 0;
        if (made.result == RAISED)
            return -1;
        if (reclaimed >= 0)
            break;
        reclaimed = collect_for_memory(state);
    }
    return made.result == PAST_CAP ? raise_process_limit(state, nbytes, made.live, reclaimed)
                                   : raise_no_memory(state, nbytes, made.error, reclaimed);
}

void scope_give_back_lock_held(core_state *state, scope_object *scope)
{
    arena *a = state->arena;
    block *b = scope->blocks;
    scope->blocks = scope->current = NULL;
    scope->used = 0;
    int64_t live = counter_exchange(&scope->live, 0);
    arena_credit(a, (size_t)live);
    if (scope->kind == KIND_IMPLICIT)
        budget_subtract(&state->implicit_budget, live);
    if (SCOPES_UNLIKELY(debug_is_on(state)))
        debug_poison_list(b);
    while (b != NULL) {
        block *next = b->next;
        if (SCOPES_UNLIKELY(counter_get(&b->refs) > 1)) {
            if (counter_get(&b->exports) > 0)
                arena_defer(a, (int64_t)b->size);
            else
                arena_retire(a, b);
        }
        arena_drop(a, b);
        b = next;
    }
}
