/* What threads without a GIL would contend for: the reference counts of our types and their methods. */
#ifndef SCOPES_CONTENTION_H
#define SCOPES_CONTENTION_H

#include "state.h"

/* Takes the reference counts of the types, and of what is in them, out of the way. After all types are
 * made. Does nothing where there is a GIL. */
void contention_avoid(core_state *state);

#endif
