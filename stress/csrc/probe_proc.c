/* read_held and write_held: small files of /proc, with the GIL kept on purpose.
 *
 * Python's own file calls give the GIL up around every system call. Beside four Python spinners each
 * call then waits for some 20 ms to have it back, which made the opening of a window take 125 ms; the
 * calls themselves take microseconds, for nothing in /proc waits for a device.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

/* Bytes; /proc/self/status has about 1,500, and what is of interest stands in the first 1,000. */
enum { READ_LIMIT = 16 * 1024 };

/* Opens without inheritance by children; -1 with OSError set. */
static int open_path(const char *path, int flags)
{
    int fd;
    do {
        fd = open(path, flags | O_CLOEXEC);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
    }
    return fd;
}

/* Reads until the end or until the buffer is full; -1 with errno set. */
static Py_ssize_t read_fully(int fd, char *buffer, size_t size)
{
    size_t filled = 0;
    while (filled < size) {
        ssize_t got = read(fd, buffer + filled, size - filled);
        if (got < 0 && errno != EINTR) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        filled += got > 0 ? (size_t)got : 0;
    }
    return (Py_ssize_t)filled;
}

PyObject *probe_read_held(PyObject *Py_UNUSED(module), PyObject *args)
{
    char buffer[READ_LIMIT];
    const char *path;
    if (!PyArg_ParseTuple(args, "s:read_held", &path)) {
        return NULL;
    }
    int fd = open_path(path, O_RDONLY);
    if (fd < 0) {
        return NULL;
    }
    PyObject *text = NULL;
    Py_ssize_t size = read_fully(fd, buffer, sizeof(buffer));
    if (size < 0) {
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
    }
    else {
        text = PyBytes_FromStringAndSize(buffer, size);
    }
    close(fd);
    return text;
}

PyObject *probe_write_held(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *path;
    Py_buffer data;
    if (!PyArg_ParseTuple(args, "sy*:write_held", &path, &data)) {
        return NULL;
    }
    bool failed = true;
    int fd = open_path(path, O_WRONLY);
    if (fd >= 0) {
        ssize_t written;
        do {
            written = write(fd, data.buf, (size_t)data.len);
        } while (written < 0 && errno == EINTR);
        failed = written < 0;
        if (failed) {
            PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
        }
        close(fd);
    }
    PyBuffer_Release(&data);
    if (failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}
