/* Places in Python code, for messages: "app.py:12 in read". */
#ifndef SCOPES_PLACE_H
#define SCOPES_PLACE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* A call and three of its callers: enough to tell the users of a helper function apart. */
#define PLACE_FRAMES 4

typedef struct {
    PyObject *file;     /* owned str */
    PyObject *function; /* owned str: the qualified name */
    int line;
} place_frame;

/* Holds strings alone, hence keeps nothing of the program alive. */
typedef struct {
    int depth;                        /* of frames; 0 where no Python code was running */
    place_frame frames[PLACE_FRAMES]; /* the innermost first */
} place;

/* Where the calling thread is, from the innermost frame on that is not of a module in between. May run
 * Python code. Never fails: where memory is short, the place is less deep. */
void place_take(place *here);
void place_release(place *from);

/* True if the innermost frames are at the same line. */
int place_is_same_line(const place *a, const place *b);

/* What stands between a line and the one it was called from. */
#define PLACE_CALLED_FROM ", called from "

/* "at app.py:12 in read, called from app.py:30 in main", of at most `most` frames, with what is to stand
 * between them. NULL with an exception set. */
PyObject *place_text(const place *from, int most, const char *separator);

#endif
