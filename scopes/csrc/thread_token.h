/* A thread's identity that is never used again, unlike a pthread id. */
#ifndef SCOPES_THREAD_TOKEN_H
#define SCOPES_THREAD_TOKEN_H

#include <stdint.h>

/* One word of static thread storage: initial-exec makes it one instruction instead of a call. */
#define THREAD_TOKEN_STORAGE __attribute__((visibility("hidden"), tls_model("initial-exec")))
extern _Thread_local uint64_t thread_token_value THREAD_TOKEN_STORAGE;

uint64_t thread_token_new(void);

/* The calling thread's token, 1 or more. */
static inline uint64_t thread_token(void)
{
    uint64_t token = thread_token_value;
    return token != 0 ? token : thread_token_new();
}

#endif
