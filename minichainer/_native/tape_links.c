/* The parameters of a tree of links, and their gradients set to None before each backward pass.
   Twins: link/parameters.py, `ParameterTree.params` and `cleargrads`. */
#include "tape.h"

static PyTypeObject *parameter;
static PyObject *ours[NAMES]; /* methods of ParameterTree */

/* Whether a link has a method of ParameterTree's own, and not one of its class or its object. */
static int is_ours(PyObject *link, PyObject *own, int name) {
    PyObject *method = PyObject_GetAttr((PyObject *)Py_TYPE(link), tape_names[name]);
    int same = method != NULL && method == ours[name] && PyDict_Contains(own, tape_names[name]) == 0;
    Py_XDECREF(method);
    return same;
}

static int gather_own(PyObject *own, PyObject *found) {
    PyObject *names = PyDict_GetItemWithError(own, tape_names[NAME_PARAMS_OF_LINK]);
    if (names == NULL || !PyAnySet_Check(names) || (names = PySequence_List(names)) == NULL) return 0;
    int done = PyList_Sort(names) == 0;
    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(names); i++) {
        PyObject *param = PyDict_GetItemWithError(own, PyList_GET_ITEM(names, i));
        done = param != NULL && PyList_Append(found, param) == 0;
    }
    Py_DECREF(names);
    return done;
}

/* Appends the parameters of a link and its descendants, if each of them has the method; 0 to leave that to the twin. */
static int gather(PyObject *link, int method, PyObject *found) {
    PyObject *own = PyObject_GenericGetDict(link, NULL), *children = NULL;
    int done = own != NULL && Py_EnterRecursiveCall("") == 0;
    if (!done) goto end;
    done = is_ours(link, own, NAME_PARAMS) && is_ours(link, own, method) && gather_own(own, found);
    if (done) children = PyObject_CallMethodNoArgs(link, tape_names[NAME_CHILDREN]);
    if (children != NULL) Py_SETREF(children, PySequence_Tuple(children));
    done = children != NULL;
    for (Py_ssize_t i = 0; done && i < PyTuple_GET_SIZE(children); i++) {
        PyObject *pair = PyTuple_GET_ITEM(children, i); /* of name and link */
        done = PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2 && gather(PyTuple_GET_ITEM(pair, 1), method, found);
    }
    Py_LeaveRecursiveCall();
end:
    Py_XDECREF(own);
    Py_XDECREF(children);
    return done;
}

/* Of a Parameter that needs nothing else; 0 to leave it to its method. */
static int clear(PyObject *param) {
    PyObject *leaf = ((Place *)param)->node, *own = PyObject_GenericGetDict(param, NULL);
    PyObject *initializer = own ? PyDict_GetItemWithError(own, tape_names[NAME_INITIALIZER]) : NULL;
    int plain = own && (initializer == NULL || initializer == Py_None) && leaf && Py_TYPE(leaf) == tape.leaf &&
                PyDict_Contains(own, tape_names[NAME_CLEARGRAD]) == 0;
    Py_XDECREF(own);
    if (plain) Py_XSETREF(*(PyObject **)((char *)leaf + tape.grad_value), Py_NewRef(Py_None));
    return plain;
}

/* params(link): a list, or None if the twin has to find them. */
PyObject *tape_params(PyObject *module, PyObject *link) {
    PyObject *found = PyList_New(0);
    if (found != NULL && gather(link, NAME_PARAMS, found)) return found;
    Py_XDECREF(found);
    return tape_fails() ? NULL : Py_NewRef(Py_None);
}

/* cleargrads(link): True, or None, and nothing is done, if the twin has to find the parameters. */
PyObject *tape_cleargrads(PyObject *module, PyObject *link) {
    PyObject *found = PyList_New(0), *done = Py_True;
    if (found == NULL || !gather(link, NAME_CLEARGRADS, found)) done = tape_fails() ? NULL : Py_None;
    for (Py_ssize_t i = 0; done == Py_True && i < PyList_GET_SIZE(found); i++) {
        PyObject *param = PyList_GET_ITEM(found, i);
        if (Py_TYPE(param) == parameter && clear(param)) continue;
        PyObject *cleared = PyObject_CallMethodNoArgs(param, tape_names[NAME_CLEARGRAD]);
        if (cleared == NULL) done = NULL;
        Py_XDECREF(cleared);
    }
    Py_XDECREF(found);
    return Py_XNewRef(done);
}

/* install_links(ParameterTree, Parameter) */
PyObject *tape_install_links(PyObject *module, PyObject *args) {
    PyObject *base;
    if (!PyArg_ParseTuple(args, "OO!", &base, &PyType_Type, &parameter)) return NULL;
    Py_INCREF(parameter);
    ours[NAME_PARAMS] = PyObject_GetAttr(base, tape_names[NAME_PARAMS]);
    ours[NAME_CLEARGRADS] = PyObject_GetAttr(base, tape_names[NAME_CLEARGRADS]);
    return ours[NAME_PARAMS] && ours[NAME_CLEARGRADS] ? Py_NewRef(Py_None) : NULL;
}
