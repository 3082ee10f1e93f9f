#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "os_memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* A process may hold a few maps less than vm.max_map_count before the kernel refuses. */
#define MAP_COUNT_SLACK 16

/* Pages that mincore is asked of in one call. */
#define RESIDENT_AT_ONCE 4096

size_t os_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

int os_map(size_t nbytes, size_t align, void **address)
{
    size_t page = os_page_size();
    size_t extra = align > page ? align - page : 0;
    if (nbytes > PTRDIFF_MAX - extra)
        return ENOMEM;
    char *found =
        mmap(NULL, nbytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED)
        return errno;
    size_t head = (size_t)(-(uintptr_t)found & (align - 1));
    size_t kept = nbytes + extra;
    int error = os_unmap(found + head + nbytes, extra - head);
    if (error == 0) {
        kept = head + nbytes;
        error = os_unmap(found, head);
    }
    if (error != 0) {
        os_unmap(found, kept); /* failing again, it costs addresses alone: no page was touched */
        return error;
    }
    *address = found + head;
    return 0;
}

int os_unmap(void *address, size_t nbytes)
{
    return nbytes == 0 || munmap(address, nbytes) == 0 ? 0 : errno;
}

void os_decommit(void *address, size_t nbytes)
{
    madvise(address, nbytes, MADV_DONTNEED);
}

void os_fill_resident(void *address, size_t nbytes, unsigned char byte)
{
    unsigned char resident[RESIDENT_AT_ONCE];
    size_t page = os_page_size();
    for (size_t done = 0; done < nbytes; done += sizeof(resident) * page) {
        char *begin = (char *)address + done;
        size_t left = nbytes - done < sizeof(resident) * page ? nbytes - done : sizeof(resident) * page;
        if (mincore(begin, left, resident) != 0)
            memset(resident, 1, sizeof(resident));
        for (size_t at = 0; at < left; at += page)
            if ((resident[at / page] & 1) != 0)
                memset(begin + at, byte, left - at < page ? left - at : page);
    }
}

static long count_lines(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    long lines = 0;
    for (int c = getc(file); c != EOF; c = getc(file))
        lines += c == '\n';
    fclose(file);
    return lines;
}

static long read_number(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    long number = -1;
    if (fscanf(file, "%ld", &number) != 1)
        number = -1;
    fclose(file);
    return number;
}

void os_explain_enomem(char *text, size_t size)
{
    long maps = count_lines("/proc/self/maps");
    long most = read_number("/proc/sys/vm/max_map_count");
    struct rlimit space = {.rlim_cur = RLIM_INFINITY};
    getrlimit(RLIMIT_AS, &space);
    if (maps >= 0 && most > 0 && maps + MAP_COUNT_SLACK >= most)
        snprintf(text, size, "the process holds %ld maps of the %ld that vm.max_map_count allows", maps,
                 most);
    else if (space.rlim_cur != RLIM_INFINITY)
        snprintf(text, size, "the address space of the process is limited to %llu bytes (RLIMIT_AS)",
                 (unsigned long long)space.rlim_cur);
    else
        snprintf(text, size, "the system has no memory left to map");
}
