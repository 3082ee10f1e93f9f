/* Maps are aligned, private, zero when new and when decommitted; failures are numbers. */
#include "os_memory.h"

#include "bytes.h"
#include "expect.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void maps_are_aligned_and_zero(void)
{
    size_t page = os_page_size();
    for (size_t align = 1; align <= (size_t)2 * 1024 * 1024; align *= 2) {
        for (size_t pages = 1; pages <= 17; pages += 4) {
            void *address = NULL;
            EXPECT(os_map(pages * page, align, &address) == 0);
            EXPECT(((uintptr_t)address & (align - 1)) == 0);
            EXPECT(all_are(address, pages * page, 0));
            memset(address, 1, pages * page);
            os_unmap(address, pages * page);
        }
    }
}

static void decommitted_pages_are_zero_and_others_stay(void)
{
    size_t page = os_page_size();
    void *address = NULL;
    EXPECT(os_map(3 * page, 1, &address) == 0);
    char *bytes = address;
    memset(bytes, 7, 3 * page);
    os_decommit(bytes + page, page);
    EXPECT(all_are(bytes, page, 7));
    EXPECT(all_are(bytes + page, page, 0));
    EXPECT(all_are(bytes + 2 * page, page, 7));
    os_unmap(bytes, 3 * page);
}

static void resident_pages_are_filled_and_others_stay_away(void)
{
    size_t page = os_page_size();
    const size_t pages = 10000, touched[] = {0, 4095, 4096, 9999};
    void *address = NULL;
    unsigned char resident[10000];
    EXPECT(os_map(pages * page, 1, &address) == 0);
    char *bytes = address;
    for (size_t i = 0; i < 4; i++)
        bytes[touched[i] * page] = 7;
    os_fill_resident(address, pages * page - 1, 9);
    EXPECT(mincore(address, pages * page, resident) == 0);
    size_t found = 0;
    for (size_t i = 0; i < pages; i++)
        found += resident[i] & 1;
    EXPECT(found == 4);
    for (size_t i = 0; i < 4; i++)
        EXPECT(all_are(bytes + touched[i] * page, page - 1, 9));
    EXPECT(bytes[pages * page - 1] == 0);
    os_unmap(address, pages * page);
}

static void a_child_writes_to_its_own_copy(void)
{
    size_t page = os_page_size();
    void *address = NULL;
    EXPECT(os_map(page, 1, &address) == 0);
    pid_t child = fork();
    if (child == 0) {
        memset(address, 1, page);
        _exit(0);
    }
    EXPECT(waitpid(child, NULL, 0) == child);
    EXPECT(all_are(address, page, 0));
    os_unmap(address, page);
}

static void what_does_not_fit_is_no_memory(void)
{
    void *address = &address;
    EXPECT(os_map((size_t)1 << 60, 1, &address) == ENOMEM);
    EXPECT(os_map(PTRDIFF_MAX & ~(os_page_size() - 1), (size_t)2 * 1024 * 1024, &address) == ENOMEM);
    EXPECT(os_map(SIZE_MAX & ~(os_page_size() - 1), 1, &address) == ENOMEM);
    EXPECT(address == &address);
}

static void the_reason_is_told_and_fits(void)
{
    char text[160];
    memset(text, 'x', sizeof(text));
    os_explain_enomem(text, sizeof(text));
    EXPECT(strcmp(text, "the system has no memory left to map") == 0);
    char little[8];
    os_explain_enomem(little, sizeof(little));
    EXPECT(strlen(little) == sizeof(little) - 1);
}

int main(void)
{
    EXPECT((os_page_size() & (os_page_size() - 1)) == 0 && os_page_size() >= 4096);
    maps_are_aligned_and_zero();
    decommitted_pages_are_zero_and_others_stay();
    resident_pages_are_filled_and_others_stay_away();
    a_child_writes_to_its_own_copy();
    what_does_not_fit_is_no_memory();
    the_reason_is_told_and_fits();
    return 0;
}
