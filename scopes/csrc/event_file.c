#include "event_file.h"

#include <errno.h>
#include <unistd.h>

int event_file_write(void *context, const event_record *records, size_t count)
{
    event_file *file = context;
    const char *at = (const char *)records;
    size_t left = count * sizeof(event_record);
    int error = 0;
    while (left > 0 && error == 0) {
        ssize_t n = write(file->fd, at, left);
        if (n >= 0) {
            at += n;
            left -= (size_t)n;
        }
        else if (errno != EINTR)
            error = errno;
    }
    file->records += (size_t)(at - (const char *)records) / sizeof(event_record);
    if (error != 0 && ftruncate(file->fd, (off_t)(file->records * sizeof(event_record))) != 0)
        return error; /* the reader leaves the part of a record out */
    return error;
}
