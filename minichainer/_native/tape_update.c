/* Updates parameters of one group, which a compiled kernel updates one after another.
   Twin: optimizer/grouped.py, `GroupedUpdate._add` and what runs the group. */
#include "tape.h"

/* What the parameters of the group have in common; `t` is the number of this update, `last` ends each kernel's call. */
typedef struct {
    PyObject *parameter, *hyperparameter, *attributes, *rule_class, *values, *token, *dtype, *names, *kernel, *last;
    Py_ssize_t t;
} Group;

enum { MOST_ARGUMENTS = 24 };

static PyObject *slot(PyObject *leaf, Py_ssize_t offset) { return *(PyObject **)((char *)leaf + offset); }

/* Whether a rule has no attributes but those of its class's formula, with the values that allow a group. */
static int is_plain(PyObject *rule, PyObject *own, const Group *group) {
    PyObject *name, *value;
    Py_ssize_t place = 0;
    while (PyDict_Next(own, &place, &name, &value))
        if (PySet_Contains(group->attributes, name) != 1) return 0;
    PyObject *t = PyDict_GetItemWithError(own, tape_names[NAME_T]);
    if (t == NULL || !PyLong_CheckExact(t) || PyLong_AsSsize_t(t) != group->t - 1) return 0;
    if (PyDict_GetItemWithError(own, tape_names[NAME_ENABLED]) != Py_True ||
        PyDict_GetItemWithError(own, tape_names[NAME_HOOKS]) != Py_None ||
        PyDict_GetItemWithError(own, tape_names[NAME_FP32]) != Py_False)
        return 0;
    PyObject *token = PyObject_GetAttr(rule, tape_names[NAME_TOKEN]);
    int same = token != NULL && PyObject_RichCompareBool(token, group->token, Py_EQ) == 1;
    Py_XDECREF(token);
    return same;
}

/* Whether the values of a rule are those of its optimizer, without any of its own. */
static int has_common_values(PyObject *own, const Group *group) {
    PyObject *values = PyDict_GetItemWithError(own, tape_names[NAME_HYPERPARAM]);
    if (values == NULL || (PyObject *)Py_TYPE(values) != group->hyperparameter) return 0;
    PyObject *named = PyObject_GetAttr(values, tape_names[NAME_DICT]);
    PyObject *parent = PyObject_GetAttr(values, tape_names[NAME_PARENT]);
    int common = named && parent && PyDict_GET_SIZE(named) == 0 && parent == group->values;
    Py_XDECREF(named);
    Py_XDECREF(parent);
    return common;
}

/* Calls the kernel with gradient, array and states, all held; 1 if it has computed. */
static int computes(PyObject *own, PyObject *leaf, Place *param, const Group *group) {
    PyObject *args[MOST_ARGUMENTS], *grad = slot(leaf, tape.grad_value), *array = param->data;
    PyObject *states = PyDict_GetItemWithError(own, tape_names[NAME_STATE]);
    Py_ssize_t count = PyList_GET_SIZE(group->names), more = PyTuple_GET_SIZE(group->last), held = 0;
    if (array == NULL || grad == NULL || states == NULL || !PyDict_CheckExact(states)) return 0;
    if (2 + count + more > MOST_ARGUMENTS) return 0;
    if (slot(leaf, tape.loss_scale) != Py_None || Py_TYPE(array) != &PyArray_Type || Py_TYPE(grad) != &PyArray_Type)
        return 0;
    PyArrayObject *x = (PyArrayObject *)array, *gx = (PyArrayObject *)grad;
    if ((PyObject *)PyArray_DESCR(x) != group->dtype || PyArray_DESCR(gx) != PyArray_DESCR(x))
        return 0; /* the kernel compares the shapes */
    args[held++] = Py_NewRef(grad);
    args[held++] = Py_NewRef(array);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *state = PyDict_GetItemWithError(states, PyList_GET_ITEM(group->names, i));
        if (state == NULL || Py_TYPE(state) != &PyArray_Type) break;
        args[held++] = Py_NewRef(state);
    }
    PyObject *done = NULL;
    if (held == 2 + count) {
        for (Py_ssize_t i = 0; i < more; i++) args[held + i] = PyTuple_GET_ITEM(group->last, i);
        done = PyObject_Vectorcall(group->kernel, args, held + more, NULL);
    }
    while (held--) Py_DECREF(args[held]);
    Py_XDECREF(done);
    return done == Py_True;
}

/* Counts the update, of the rule and of the leaf that was written to; twin: _inplace.wrote. */
static int counted(PyObject *own, PyObject *leaf, const Group *group) {
    PyObject *t = PyLong_FromSsize_t(group->t), *now = PyNumber_Add(PyList_GET_ITEM(tape.clock, 0), Py_True);
    int done = t != NULL && now != NULL && PyDict_SetItem(own, tape_names[NAME_T], t) == 0;
    if (done && PyLong_CheckExact(slot(leaf, tape.guard))) {
        Py_SETREF(*(PyObject **)((char *)leaf + tape.guard), Py_NewRef(now));
        done = PyList_SetItem(tape.clock, 0, Py_NewRef(now)) == 0;
    }
    Py_XDECREF(t);
    Py_XDECREF(now);
    return done;
}

/* Updates a parameter of the group; 0, and nothing is done, to leave it to the twin; -1 after an error. */
static int update(PyObject *param, Group *group) {
    if ((PyObject *)Py_TYPE(param) != group->parameter) return 0;
    PyObject *named = PyObject_GenericGetDict(param, NULL), *own = NULL, *leaf = Py_XNewRef(((Place *)param)->node);
    PyObject *rule = named ? Py_XNewRef(PyDict_GetItemWithError(named, tape_names[NAME_UPDATE_RULE])) : NULL;
    int fits = rule && leaf && Py_TYPE(leaf) == tape.leaf && (PyObject *)Py_TYPE(rule) == group->rule_class &&
               PyDict_Contains(named, tape_names[NAME_UPDATE]) == 0 && (own = PyObject_GenericGetDict(rule, NULL)) != NULL;
    int done = fits && is_plain(rule, own, group) && has_common_values(own, group);
    if (done) done = computes(own, leaf, (Place *)param, group);
    if (done == 1 && !counted(own, leaf, group)) done = -1;
    Py_XDECREF(named);
    Py_XDECREF(own);
    Py_XDECREF(leaf);
    Py_XDECREF(rule);
    return done;
}

/* update(params, group): how many of the first parameters are updated; the next one is left to the twin. */
PyObject *tape_update(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    Group g;
    Py_ssize_t k = 0;
    int done = 1;
    if (count != 2 || !PyList_CheckExact(args[0])) return PyErr_Format(PyExc_TypeError, "list, tuple expected");
    if (!PyArg_ParseTuple(args[1], "OOO!OOnOOO!OO!", &g.parameter, &g.hyperparameter, &PyFrozenSet_Type, &g.attributes,
                          &g.rule_class, &g.values, &g.t, &g.token, &g.dtype, &PyList_Type, &g.names, &g.kernel,
                          &PyTuple_Type, &g.last))
        return NULL;
    for (; k < PyList_GET_SIZE(args[0]); k++) {
        PyObject *param = Py_NewRef(PyList_GET_ITEM(args[0], k));
        done = update(param, &g);
        Py_DECREF(param);
        if (done != 1) break;
    }
    if (done < 0 || tape_fails()) return NULL;
    return PyLong_FromSsize_t(k);
}
