/* Reading and writing the bytes of a segment.
 *
 * Arguments are converted first, since that may run Python code which closes the scope; only then is
 * the state checked and the memory touched, with no Python code in between. */
#include "arguments.h"
#include "errors.h"
#include "record.h"
#include "segment.h"

#include <string.h>

Py_ssize_t segment_length(PyObject *self)
{
    return ((segment_object *)self)->nbytes;
}

/* given is what the user wrote. */
static int check_index(segment_object *segment, Py_ssize_t given, Py_ssize_t index)
{
    if (index >= 0 && index < segment->nbytes)
        return 0;
    PyErr_Format(PyExc_IndexError, "index %zd is out of range for a segment of %zd bytes", given,
                 segment->nbytes);
    return -1;
}

static Py_ssize_t from_end(segment_object *segment, Py_ssize_t index)
{
    return index < 0 ? index + segment->nbytes : index;
}

static PyObject *load(segment_object *segment, Py_ssize_t given, Py_ssize_t index)
{
    int byte = -1;
    ACCESS_LOCK(segment);
    if (segment_check(segment) == 0 && check_index(segment, given, index) == 0)
        byte = (unsigned char)segment->address[index];
    ACCESS_UNLOCK();
    return SCOPES_LIKELY(byte >= 0) ? PyLong_FromLong(byte) : NULL;
}

PyObject *segment_item(PyObject *self, Py_ssize_t index)
{
    return load((segment_object *)self, index, index);
}

static PyObject *part(segment_object *segment, Py_ssize_t start, Py_ssize_t nbytes, int readonly)
{
    core_state *state = segment->core;
    segment_object *made = segment_new(state);
    if (made == NULL)
        return NULL;
    if (segment_check(segment) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    if (segment->adoption == NULL)
        counter_add(&segment->block->refs, 1);
    segment_set(made, segment->scope, segment->block, segment->adoption, segment->address + start,
                nbytes, readonly);
    EVENT(state, EVENT_PART, made, segment, nbytes);
    return (PyObject *)made;
}

/* Bounds of a slice. Its own __index__ methods may run Python code. */
static int convert_slice(segment_object *segment, PyObject *slice, Py_ssize_t *start, Py_ssize_t *nbytes)
{
    Py_ssize_t stop, step;
    if (PySlice_Unpack(slice, start, &stop, &step) < 0)
        return -1;
    if (step != 1) {
        PyErr_Format(PyExc_ValueError, "a segment is sliced with step 1, found %zd", step);
        return -1;
    }
    *nbytes = PySlice_AdjustIndices(segment->nbytes, start, &stop, step);
    return 0;
}

static int raise_key(PyObject *key)
{
    PyErr_Format(PyExc_TypeError, "a segment is indexed by integers and slices, found '%s'",
                 Py_TYPE(key)->tp_name);
    return -1;
}

PyObject *segment_subscript(PyObject *self, PyObject *key)
{
    segment_object *segment = (segment_object *)self;
    Py_ssize_t start, nbytes;
    if (PyIndex_Check(key)) {
        start = PyNumber_AsSsize_t(key, PyExc_IndexError);
        if (start == -1 && PyErr_Occurred())
            return NULL;
        return load(segment, start, from_end(segment, start));
    }
    if (!PySlice_Check(key)) {
        raise_key(key);
        return NULL;
    }
    if (convert_slice(segment, key, &start, &nbytes) < 0)
        return NULL;
    return part(segment, start, nbytes, segment->readonly);
}

static int check_writable(segment_object *segment)
{
    if (segment_check(segment) < 0)
        return -1;
    if (segment->readonly) {
        PyErr_Format(PyExc_TypeError, "the segment of %zd bytes is readonly", segment->nbytes);
        return -1;
    }
    return 0;
}

static int convert_byte(PyObject *value, unsigned char *byte)
{
    Py_ssize_t found = PyNumber_AsSsize_t(value, PyExc_ValueError);
    if (found == -1 && PyErr_Occurred())
        return -1;
    if (found < 0 || found > 255) {
        PyErr_Format(PyExc_ValueError, "a byte must be 0 to 255, found %zd", found);
        return -1;
    }
    *byte = (unsigned char)found;
    return 0;
}

static int store(segment_object *segment, Py_ssize_t given, Py_ssize_t index, unsigned char byte)
{
    int result = -1;
    ACCESS_LOCK(segment);
    if (check_writable(segment) == 0 && check_index(segment, given, index) == 0) {
        segment->address[index] = (char)byte;
        result = 0;
    }
    ACCESS_UNLOCK();
    return result;
}

/* Raises unless nbytes can be copied to [start, start + room): exactly that many if exact, else at most. */
static int check_copy(segment_object *segment, Py_ssize_t start, Py_ssize_t room, int exact,
                      Py_ssize_t nbytes)
{
    if (check_writable(segment) < 0)
        return -1;
    if (room < 0) {
        PyErr_Format(PyExc_ValueError, "offset %zd is past the end of a segment of %zd bytes", start,
                     segment->nbytes);
        return -1;
    }
    if (exact ? nbytes != room : nbytes > room) {
        PyErr_Format(PyExc_ValueError, "%zd bytes don't fit into %zd bytes at offset %zd of a segment of %zd",
                     nbytes, room, start, segment->nbytes);
        return -1;
    }
    return 0;
}

static int copy_buffer(segment_object *segment, Py_ssize_t start, Py_ssize_t room, int exact,
                       PyObject *source)
{
    Py_buffer view;
    if (PyObject_GetBuffer(source, &view, PyBUF_SIMPLE) < 0)
        return -1;
    ACCESS_LOCK(segment);
    int result = check_copy(segment, start, room, exact, view.len);
    if (result == 0)
        memmove(segment->address + start, view.buf, (size_t)view.len);
    ACCESS_UNLOCK();
    PyBuffer_Release(&view);
    return result;
}

int segment_assign(PyObject *self, PyObject *key, PyObject *value)
{
    segment_object *segment = (segment_object *)self;
    Py_ssize_t start, nbytes;
    unsigned char byte;
    if (value == NULL) {
        PyErr_SetString(PyExc_TypeError, "the bytes of a segment can't be deleted");
        return -1;
    }
    if (PyIndex_Check(key)) {
        start = PyNumber_AsSsize_t(key, PyExc_IndexError);
        if (start == -1 && PyErr_Occurred())
            return -1;
        if (convert_byte(value, &byte) < 0)
            return -1;
        return store(segment, start, from_end(segment, start), byte);
    }
    if (!PySlice_Check(key))
        return raise_key(key);
    if (convert_slice(segment, key, &start, &nbytes) < 0)
        return -1;
    return copy_buffer(segment, start, nbytes, 1, value);
}

PyObject *segment_fill(PyObject *self, PyObject *value)
{
    segment_object *segment = (segment_object *)self;
    unsigned char byte;
    if (convert_byte(value, &byte) < 0)
        return NULL;
    ACCESS_LOCK(segment);
    int result = check_writable(segment);
    if (result == 0)
        memset(segment->address, byte, (size_t)segment->nbytes);
    ACCESS_UNLOCK();
    return result == 0 ? Py_NewRef(Py_None) : NULL;
}

PyObject *segment_copy_from(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    static const char *const keywords[] = {"buffer", "offset", NULL};
    segment_object *segment = (segment_object *)self;
    PyObject *found[2];
    size_t offset = 0;
    if (parse_arguments("copy_from", keywords, 2, 1, args, nargs, names, found) < 0)
        return NULL;
    if (found[1] != NULL && convert_nbytes(found[1], "offset", &offset) < 0)
        return NULL;
    Py_ssize_t start = (Py_ssize_t)offset;
    if (copy_buffer(segment, start, segment->nbytes - start, 0, found[0]) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyObject *segment_to_readonly(PyObject *self, PyObject *Py_UNUSED(unused))
{
    segment_object *segment = (segment_object *)self;
    return part(segment, 0, segment->nbytes, 1);
}

PyObject *segment_compare(PyObject *self, PyObject *other, int op)
{
    segment_object *segment = (segment_object *)self;
    Py_buffer view;
    if ((op != Py_EQ && op != Py_NE) || !PyObject_CheckBuffer(other))
        Py_RETURN_NOTIMPLEMENTED;
    if (PyObject_GetBuffer(other, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    int equal = 0;
    ACCESS_LOCK(segment);
    int result = segment_check(segment);
    if (result == 0)
        equal = view.len == segment->nbytes &&
                memcmp(view.buf, segment->address, (size_t)view.len) == 0;
    ACCESS_UNLOCK();
    PyBuffer_Release(&view);
    return result == 0 ? PyBool_FromLong(equal == (op == Py_EQ)) : NULL;
}
