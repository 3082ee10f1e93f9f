/* A listener that writes events to a file, as they are, one after the other. */
#ifndef SCOPES_EVENT_FILE_H
#define SCOPES_EVENT_FILE_H

#include "events.h"

typedef struct {
    int fd;
    uint64_t records; /* written, by now */
} event_file;

/* The listener; context is an event_file. A record that did not fit into the file is taken out again. */
int event_file_write(void *context, const event_record *records, size_t count);

#endif
