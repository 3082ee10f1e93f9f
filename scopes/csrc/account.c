/* Foreign memory that counts towards the byte budget until its object dies. */
#include "arguments.h"
#include "collect.h"
#include "watch.h"

static void account_end(watch_object *watch)
{
    core_state *state = watch->core;
    if (watch->generation != fork_generation())
        return;
    budget_subtract(&state->implicit_budget, watch->nbytes);
    counter_add(&state->accounts, -1);
    counter_add(&state->accounted, -watch->nbytes);
}

PyObject *core_account(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    static const char *const keywords[] = {"obj", "nbytes", NULL};
    core_state *state = module_core(module);
    PyObject *found[2];
    size_t nbytes;
    if (state == NULL ||
        parse_arguments("account", keywords, 2, 2, args, nargs, names, found) < 0 ||
        convert_nbytes(found[1], "nbytes", &nbytes) < 0 || state_ready(state) < 0)
        return NULL;
    if (nbytes > ARENA_MOST) {
        PyErr_Format(PyExc_ValueError, "nbytes must be at most %zu, found %zu", ARENA_MOST, nbytes);
        return NULL;
    }
    if (watch_check(found[0], "obj") < 0)
        return NULL;
    if (budget_is_over(&state->implicit_budget, (int64_t)nbytes))
        collect_for_budget(state, nbytes);
    PyObject *reference = watch_open(state, found[0], account_end, NULL, (int64_t)nbytes);
    if (reference == NULL)
        return NULL;
    Py_DECREF(reference);
    budget_add(&state->implicit_budget, (int64_t)nbytes);
    counter_add(&state->accounts, 1);
    counter_add(&state->accounted, (int64_t)nbytes);
    Py_RETURN_NONE;
}

PyObject *core_set_implicit_budget(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                                   PyObject *names)
{
    static const char *const keywords[] = {"nbytes", "when_gc_disabled", NULL};
    core_state *state = module_core(module);
    PyObject *found[2];
    size_t nbytes = 0;
    if (state == NULL ||
        parse_arguments("set_implicit_budget", keywords, 1, 1, args, nargs, names, found) < 0 ||
        (found[0] != Py_None && convert_nbytes(found[0], "nbytes", &nbytes) < 0))
        return NULL;
    int when_disabled = found[1] != NULL ? PyObject_IsTrue(found[1]) : 0;
    if (when_disabled < 0)
        return NULL;
    budget_set(&state->implicit_budget, found[0] != Py_None ? (int64_t)nbytes : BUDGET_NONE);
    state->collects_when_disabled = when_disabled;
    Py_RETURN_NONE;
}
