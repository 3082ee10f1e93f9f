/* The only part that asks the operating system for memory.
 *
 * Contract: sizes are multiples of os_page_size(); memory is private, anonymous, readable, writable and
 * zero when new or decommitted. Failures are returned as errno values (0 is success), never printed and
 * never retried here. Every function may be called from any thread, with or without the GIL. */
#ifndef SCOPES_OS_MEMORY_H
#define SCOPES_OS_MEMORY_H

#include <stddef.h>

/* Bytes in a page of memory. */
size_t os_page_size(void);

/* Maps nbytes aligned to align (a power of two); *address is set on success only. */
int os_map(size_t nbytes, size_t align, void **address);

/* Gives a mapping, or the part of one, back. The system refuses with ENOMEM where that cuts a map in two
 * and the process may not have one more. */
int os_unmap(void *address, size_t nbytes);

/* Drops the pages but keeps the addresses: they read as zeros from now on. */
void os_decommit(void *address, size_t nbytes);

/* Sets bytes from the start of a page on, as far as their pages are resident: those never touched take no
 * memory by it, and those swapped out stay as they are. nbytes may be any number. */
void os_fill_resident(void *address, size_t nbytes, unsigned char byte);

/* Says in words which limit an os_map that failed with ENOMEM has hit. */
void os_explain_enomem(char *text, size_t size);

#endif
