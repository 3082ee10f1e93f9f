/* How a scope carves segments out of the blocks it leases, and gives the blocks back. */
#include "collect.h"
#include "debug.h"
#include "errors.h"
#include "scope.h"

/* What came of an attempt to carve; the last two are worth a collection and another attempt. */
enum carved { CARVED, RAISED, PAST_CAP, NO_MEMORY };

typedef struct {
    enum carved result;
    int64_t live; /* PAST_CAP: live bytes found */
    int error;    /* NO_MEMORY: errno */
} attempt;

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
    block *b;
    size_t offset;
    int error = carver_find(&scope->carver, state->arena, taken, align, &b, &offset);
    if (SCOPES_UNLIKELY(error != 0)) {
        arena_credit(state->arena, nbytes);
        return (attempt){.result = NO_MEMORY, .error = error};
    }
    arena_confirm(state->arena);
    if (scope->kind == KIND_IMPLICIT)
        budget_add(&state->implicit_budget, (int64_t)nbytes);
    counter_set(&scope->live, counter_get(&scope->live) + (int64_t)nbytes);
    *from = b;
    *address = carver_take(&scope->carver, b, offset, taken, zeroed);
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
    int64_t live = counter_exchange(&scope->live, 0);
    arena_credit(a, (size_t)live);
    if (scope->kind == KIND_IMPLICIT)
        budget_subtract(&state->implicit_budget, live);
    if (SCOPES_UNLIKELY(debug_is_on(state)))
        debug_poison_list(scope->carver.blocks);
    carver_give_back(&scope->carver, a);
}
