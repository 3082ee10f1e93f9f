#include "thread_token.h"

#include <stdatomic.h>

_Thread_local uint64_t thread_token_value THREAD_TOKEN_STORAGE = 0;

uint64_t thread_token_new(void)
{
    static _Atomic uint64_t last = 0;
    thread_token_value = atomic_fetch_add(&last, 1) + 1;
    return thread_token_value;
}
