/* The module: the objects in memory, what the Python side installs, and small questions. */
#include "tape.h"

Installed tape;
PyObject *tape_names[NAMES];

/* --- objects --- */
static int place_traverse(Place *self, visitproc visit, void *arg) {
    Py_VISIT(self->data);
    Py_VISIT(self->node);
    Py_VISIT(self->view);
    return 0;
}

static int place_clear(Place *self) {
    Py_CLEAR(self->data);
    Py_CLEAR(self->node);
    Py_CLEAR(self->view);
    return 0;
}

static void place_dealloc(Place *self) {
    PyObject_GC_UnTrack(self);
    place_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Of several threads that make a node for one Variable, the first one's is taken. */
static PyObject *place_settle(Place *self, PyObject *node) {
    if (self->node == NULL || self->node == Py_None) Py_XSETREF(self->node, Py_NewRef(node));
    return Py_NewRef(self->node);
}

static PyMemberDef place_members[] = {
    {"_data", T_OBJECT_EX, offsetof(Place, data), 0, NULL},
    {"_node", T_OBJECT, offsetof(Place, node), 0, NULL},
    {"_view", T_OBJECT, offsetof(Place, view), 0, NULL},
    {NULL},
};
static PyMethodDef place_methods[] = {{"_settle", (PyCFunction)place_settle, METH_O, NULL}, {NULL}};

PyTypeObject PlaceType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minichainer._native._tape.Place",
    .tp_basicsize = sizeof(Place),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = (traverseproc)place_traverse,
    .tp_clear = (inquiry)place_clear,
    .tp_dealloc = (destructor)place_dealloc,
    .tp_members = place_members,
    .tp_methods = place_methods,
};

static int applied_traverse(Applied *self, visitproc visit, void *arg) {
    Py_VISIT(self->edges);
    Py_VISIT(self->shape);
    Py_VISIT(self->saved);
    Py_VISIT(self->fixed);
    Py_VISIT(self->prints);
    return 0;
}

static void applied_empty(Applied *self) {
    Py_CLEAR(self->edges);
    Py_CLEAR(self->shape);
    Py_CLEAR(self->dtype);
    Py_CLEAR(self->saved);
    Py_CLEAR(self->prints);
    self->level = 0;
    self->op = NULL;
}

static int applied_clear(Applied *self) {
    applied_empty(self);
    Py_CLEAR(self->fixed);
    return 0;
}

static void applied_dealloc(Applied *self) {
    PyObject_GC_UnTrack(self);
    applied_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *tuple_or_empty(Applied *self, void *offset) {
    PyObject *value = *(PyObject **)((char *)self + (Py_ssize_t)offset);
    return value == NULL ? PyTuple_New(0) : Py_NewRef(value);
}

static int set_tuple(Applied *self, PyObject *value, void *offset) {
    PyObject **place = (PyObject **)((char *)self + (Py_ssize_t)offset);
    Py_XSETREF(*place, Py_XNewRef(value));
    return 0;
}

static PyObject *applied_forget(Applied *self, PyObject *Py_UNUSED(none)) {
    applied_empty(self);
    Py_RETURN_NONE;
}

static PyMemberDef applied_members[] = {
    {"edges", T_OBJECT, offsetof(Applied, edges), 0, NULL},
    {"shape", T_OBJECT, offsetof(Applied, shape), 0, NULL},
    {"dtype", T_OBJECT, offsetof(Applied, dtype), 0, NULL},
    {"_prints", T_OBJECT, offsetof(Applied, prints), 0, NULL},
    {"level", T_PYSSIZET, offsetof(Applied, level), 0, NULL},
    {NULL},
};
static PyGetSetDef applied_tuples[] = {
    {"saved", (getter)tuple_or_empty, (setter)set_tuple, NULL, (void *)offsetof(Applied, saved)},
    {"static", (getter)tuple_or_empty, (setter)set_tuple, NULL, (void *)offsetof(Applied, fixed)},
    {NULL},
};
static PyMethodDef applied_methods[] = {
    {"_forget_application", (PyCFunction)applied_forget, METH_NOARGS, NULL},
    {NULL},
};

PyTypeObject AppliedType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minichainer._native._tape.Applied",
    .tp_basicsize = sizeof(Applied),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = (traverseproc)applied_traverse,
    .tp_clear = (inquiry)applied_clear,
    .tp_dealloc = (destructor)applied_dealloc,
    .tp_members = applied_members,
    .tp_getset = applied_tuples,
    .tp_methods = applied_methods,
};

/* --- small questions --- */
int tape_fails(void) {
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError) &&
        !PyErr_ExceptionMatches(PyExc_RecursionError))
        PyErr_Clear();
    return PyErr_Occurred() != NULL;
}

int tape_watched(void) {
    PyObject *count = PyDict_GetItemWithError(tape.config, tape_names[NAME_NONDEFAULT]);
    if (count == NULL) return -1;
    return PyLong_AsLong(count) != 0;
}

Py_ssize_t tape_level(PyObject *node) {
    if (Py_TYPE(node) == tape.leaf) return 0;
    if (PyObject_TypeCheck(node, &AppliedType)) return ((Applied *)node)->level;
    PyObject *level = PyObject_GetAttr(node, tape_names[NAME_LEVEL]);
    if (level == NULL) return -1;
    Py_ssize_t number = PyLong_AsSsize_t(level);
    Py_DECREF(level);
    return number;
}

int tape_is_wanted(PyObject *edge, PyObject *wanted) {
    if (wanted != Py_None) return PySequence_Contains(wanted, edge);
    if (Py_TYPE(edge) == tape.leaf) return *(PyObject **)((char *)edge + tape.requires_grad) != Py_False;
    return 1; /* outputs of functions always require a gradient */
}

/* --- what the Python side gives --- */
static Py_ssize_t offset_of(PyTypeObject *type, const char *name) {
    PyObject *member = PyObject_GetAttrString((PyObject *)type, name);
    Py_ssize_t offset = -1;
    if (member != NULL && Py_TYPE(member) == &PyMemberDescr_Type)
        offset = ((PyMemberDescrObject *)member)->d_member->offset;
    else if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s of %s must be a slot", name, type->tp_name);
    Py_XDECREF(member);
    return offset;
}

static PyObject *install(PyObject *module, PyObject *args) {
    PyObject **objects[] = {
        (PyObject **)&tape.variable, (PyObject **)&tape.leaf, (PyObject **)&tape.output, &tape.config, &tape.exposed,
        &tape.clock, &tape.check, &tape.at_outputs, &tape.enter, &tape.sum_of,
    };
    Py_ssize_t count = sizeof objects / sizeof *objects;
    if (PyTuple_GET_SIZE(args) != count) return PyErr_Format(PyExc_TypeError, "%zd arguments expected", count);
    for (Py_ssize_t i = 0; i < count; i++) *objects[i] = Py_NewRef(PyTuple_GET_ITEM(args, i));
    tape.guard = offset_of(tape.leaf, "guard");
    tape.requires_grad = offset_of(tape.leaf, "requires_grad");
    tape.grad_value = offset_of(tape.leaf, "grad_value");
    tape.loss_scale = offset_of(tape.leaf, "loss_scale");
    if (PyErr_Occurred()) return NULL;
    if (!PyType_IsSubtype(tape.variable, &PlaceType)) {
        PyErr_SetString(PyExc_TypeError, "Variable must derive from Place");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"install", install, METH_VARARGS, NULL},
    {"cross_entropy_op", tape_cross_entropy_op, METH_VARARGS, NULL},
    {"linear_op", tape_linear_op, METH_VARARGS, NULL},
    {"install_links", tape_install_links, METH_VARARGS, NULL},
    {"params", tape_params, METH_O, NULL},
    {"cleargrads", tape_cleargrads, METH_O, NULL},
    {"update", (PyCFunction)(void (*)(void))tape_update, METH_FASTCALL, NULL},
    {"run", (PyCFunction)(void (*)(void))tape_run, METH_FASTCALL, NULL},
    {NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_tape", NULL, -1, functions};

PyMODINIT_FUNC PyInit__tape(void) {
    static const char *const names[] = {
        "pullback", "edges", "_prints", "_free", "level", "take_from_outputs", "nondefault", "update", "update_rule",
        "enabled", "_hooks", "_use_fp32_update", "t", "group_token", "hyperparam", "_parent", "_state", "__dict__",
        "output_count", "_output_nodes", "_output_kinds", "_owners", "params", "cleargrads", "cleargrad", "_params",
        "_named_children", "_grad_initializer"};
    if (loops_ready() < 0) return NULL;
    for (int i = 0; i < NAMES; i++)
        if ((tape_names[i] = PyUnicode_InternFromString(names[i])) == NULL) return NULL;
    PlaceType.tp_new = AppliedType.tp_new = PyBaseObject_Type.tp_new;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL || PyModule_AddType(module, &PlaceType) < 0 || PyModule_AddType(module, &AppliedType) < 0 ||
        PyModule_AddType(module, &OpType) < 0)
        Py_CLEAR(module);
    return module;
}
