#include "place.h"

/* Modules by which exports are taken for their callers: they are never the place that a user looks for. */
static const char *const between[] = {"scopes._", "cffi.", "contextlib"};

static int starts_with(PyObject *text, const char *start)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    Py_ssize_t i = 0;
    while (start[i] != '\0' && i < length && PyUnicode_READ_CHAR(text, i) == (Py_UCS4)start[i])
        i++;
    return start[i] == '\0';
}

static int is_between(PyFrameObject *frame)
{
    PyObject *globals = PyFrame_GetGlobals(frame);
    PyObject *name = PyMapping_GetItemString(globals, "__name__");
    int found = 0;
    if (name == NULL)
        PyErr_Clear();
    else if (PyUnicode_Check(name)) {
        for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++)
            found |= starts_with(name, between[i]);
    }
    Py_XDECREF(name);
    Py_DECREF(globals);
    return found;
}

static PyFrameObject *step_out(PyFrameObject *frame)
{
    PyFrameObject *caller = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    return caller;
}

static place_frame describe(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    place_frame described = {
        .file = Py_NewRef(code->co_filename),
        .function = Py_NewRef(code->co_qualname),
        .line = PyFrame_GetLineNumber(frame),
    };
    Py_DECREF(code);
    return described;
}

void place_take(place *here)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    while (frame != NULL && is_between(frame))
        frame = step_out(frame);
    here->depth = 0;
    while (frame != NULL && here->depth < PLACE_FRAMES) {
        here->frames[here->depth++] = describe(frame);
        frame = step_out(frame);
    }
    Py_XDECREF(frame);
}

void place_release(place *from)
{
    while (from->depth > 0) {
        place_frame *frame = &from->frames[--from->depth];
        Py_DECREF(frame->file);
        Py_DECREF(frame->function);
    }
}

int place_is_same_line(const place *a, const place *b)
{
    if (a->depth == 0 || b->depth == 0)
        return a->depth == b->depth;
    const place_frame *one = &a->frames[0], *other = &b->frames[0];
    return one->line == other->line && PyUnicode_Compare(one->file, other->file) == 0 &&
           PyUnicode_Compare(one->function, other->function) == 0;
}

PyObject *place_text(const place *from, int most, const char *separator)
{
    if (from->depth == 0)
        return PyUnicode_FromString("outside of Python code");
    PyObject *text = PyUnicode_FromString("");
    for (int i = 0; text != NULL && i < from->depth && i < most; i++) {
        const place_frame *frame = &from->frames[i];
        PyUnicode_AppendAndDel(&text, PyUnicode_FromFormat("%s%U:%d in %U", i > 0 ? separator : "at ",
                                                           frame->file, frame->line, frame->function));
    }
    return text;
}
