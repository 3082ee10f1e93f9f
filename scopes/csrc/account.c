/* Foreign memory that counts towards the byte budget until its object dies.
 *
 * An account is a weak reference to the object whose callback, bound to the account, ends it. A list of
 * the module owns it until then; the collector is not shown the list. */
#include "arguments.h"
#include "collect.h"

struct account_object {
    PyObject_HEAD
    core_state *core;    /* never freed, see state.h */
    PyObject *reference; /* owned: to the object */
    int64_t nbytes;
    uint64_t generation; /* of the process that opened it: a child counts its own */
    struct account_object *prev; /* in core->accounts */
    struct account_object *next;
};

typedef struct account_object account_object;

static PyObject *account_end(PyObject *self, PyObject *Py_UNUSED(reference))
{
    account_object *account = (account_object *)self;
    core_state *state = account->core;
    if (account->generation == fork_generation())
        budget_subtract(&state->implicit_budget, account->nbytes);
    process_lock();
    if (account->prev != NULL)
        account->prev->next = account->next;
    else
        state->accounts = account->next;
    if (account->next != NULL)
        account->next->prev = account->prev;
    process_unlock();
    Py_CLEAR(account->reference); /* it holds this function, and with it the account */
    Py_DECREF(account);
    Py_RETURN_NONE;
}

static PyMethodDef account_end_method = {"account_end", account_end, METH_O, NULL};

static account_object *open_account(core_state *state, PyObject *object, size_t nbytes)
{
    account_object *account = PyObject_New(account_object, state->account_type);
    if (account == NULL)
        return NULL;
    account->core = state;
    account->nbytes = (int64_t)nbytes;
    account->generation = fork_generation();
    account->prev = account->next = NULL;
    PyObject *end = PyCFunction_New(&account_end_method, (PyObject *)account);
    account->reference = end != NULL ? PyWeakref_NewRef(object, end) : NULL;
    Py_XDECREF(end);
    if (account->reference == NULL)
        Py_CLEAR(account);
    return account;
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
    if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(found[0]))) {
        PyErr_Format(PyExc_TypeError, "obj must support weak references, and a '%s' does not",
                     Py_TYPE(found[0])->tp_name);
        return NULL;
    }
    if (budget_is_over(&state->implicit_budget, (int64_t)nbytes))
        collect_for_budget(state, nbytes);
    if (state->account_type == NULL)
        return state_is_gone();
    account_object *account = open_account(state, found[0], nbytes);
    if (account == NULL)
        return NULL;
    process_lock();
    account->next = state->accounts;
    if (account->next != NULL)
        account->next->prev = account;
    state->accounts = account;
    process_unlock();
    budget_add(&state->implicit_budget, account->nbytes);
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

static void account_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((account_object *)self)->reference);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot account_slots[] = {{Py_tp_dealloc, account_dealloc}, {0, NULL}};

static PyType_Spec account_spec = {
    .name = "scopes._core.Account",
    .basicsize = sizeof(account_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = account_slots,
};

int account_add_type(PyObject *module, core_state *state)
{
    state->account_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &account_spec, NULL);
    return state->account_type != NULL ? 0 : -1;
}
