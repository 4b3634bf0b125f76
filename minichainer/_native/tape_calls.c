/* Calls of ops: elementwise ones on small arrays, whose numbers loops.c computes, and all others that have one result
   and no residual, whose bodies and gradients stay in Python.

   Twins: functions/_call.py, recorder.record, the pullbacks of functions/_node.py. Where NumPy would notice an overflow
   or an invalid value in a loop, the twin computes again, and warns as the user has asked for. */
#include "tape.h"

/* --- forward --- */
static PyObject *compute(Op *self, PyObject **values, int arrays) {
    return loops_run(&self->forward, values, arrays + self->fixed, arrays);
}

/* The result of a body in Python, if arrays and result need no checks of the twin. */
static PyObject *call_body(Op *op, PyObject **values, int arrays) {
    if (!loops_have_in_common(values, arrays, op->checks >= ONE_DTYPE, op->checks == ONE_SHAPE)) return NULL;
    PyObject *body = Py_NewRef(op->body); /* the first call replaces it */
    PyObject *y = PyObject_Vectorcall(body, values, arrays + (op->names ? 0 : op->fixed), op->names);
    Py_DECREF(body);
    if (y != NULL && PyArray_IsScalar(y, Generic)) Py_SETREF(y, PyArray_FromScalar(y, NULL));
    if (y == NULL || Py_TYPE(y) != &PyArray_Type) Py_CLEAR(y);
    else if (op->checks == ONE_SHAPE && PyArray_DESCR(ARRAY(y)) != PyArray_DESCR(ARRAY(values[0]))) Py_CLEAR(y);
    return y;
}

/* Whether a user can write to an array that is saved; else `prints` tells when it was saved. */
static int is_exposed(Op *op, int i, PyObject *leaf, PyObject **prints) {
    for (int k = 0; k < op->kept_count; k++) {
        if (op->kept[k] != i || op->arrays < 0) continue;
        if (!PyLong_CheckExact(*(PyObject **)((char *)leaf + tape.guard))) return 1;
        Py_XSETREF(*prints, Py_NewRef(PyList_GET_ITEM(tape.clock, 0)));
    }
    return 0;
}

/* The edges of Variables and their highest level; NULL to leave the call to the twin. */
static PyObject *edges_of(Op *op, PyObject *const *args, int arrays, Py_ssize_t *level, PyObject **prints) {
    int requires = 0;
    PyObject *edges = PyTuple_New(arrays);
    *level = 0;
    for (int i = 0; edges != NULL && i < arrays; i++) {
        PyObject *edge = ((Place *)args[i])->node;
        if (edge == NULL || edge == Py_None) goto left;
        PyTuple_SET_ITEM(edges, i, Py_NewRef(edge));
        Py_ssize_t own = tape_level(edge);
        if (own < 0 || (own == 0 && Py_TYPE(edge) != tape.leaf)) goto left;
        if (own > *level) *level = own;
        requires |= own > 0 || tape_is_wanted(edge, Py_None);
        if (own == 0 && is_exposed(op, i, edge, prints)) goto left;
    }
    if (edges != NULL && requires) return edges;
left:
    Py_XDECREF(edges);
    return NULL;
}

/* Twin of recorder.record, where some edge requires a gradient. */
static PyObject *result_of(Op *op, PyObject *const *values, int arrays, PyObject *edges, Py_ssize_t level,
                           PyObject *prints, PyObject *y) {
    PyArrayObject *array = (PyArrayObject *)y;
    int first_kept = op->arrays < 0 ? arrays : 0; /* of any number of arrays, none is kept */
    Applied *node = (Applied *)op->node_class->tp_alloc(op->node_class, 0);
    Place *result = node ? (Place *)tape.variable->tp_alloc(tape.variable, 0) : NULL;
    if (result == NULL) {
        Py_XDECREF(node);
        return NULL;
    }
    result->data = Py_NewRef(y);
    result->node = (PyObject *)node;
    node->edges = Py_NewRef(edges);
    node->level = level + 1;
    node->shape = PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_DIMS(array));
    node->dtype = Py_NewRef(PyArray_DESCR(array));
    node->prints = Py_XNewRef(prints);
    node->op = op->gradients_of ? op : NULL; /* ops live as long as their classes, which nodes refer to */
    node->saved = PyTuple_New(op->kept_count);
    node->fixed = PyTuple_New(op->fixed);
    if (node->shape == NULL || node->saved == NULL || node->fixed == NULL) Py_CLEAR(result);
    for (int i = 0; result != NULL && i < op->kept_count; i++)
        PyTuple_SET_ITEM(node->saved, i, Py_NewRef(op->kept[i] == RESULT ? y : values[op->kept[i] + first_kept]));
    for (int i = 0; result != NULL && i < op->fixed; i++)
        PyTuple_SET_ITEM(node->fixed, i, Py_NewRef(values[arrays + i]));
    return (PyObject *)result;
}

/* All that is used is held: kernels of large arrays let other threads run, which may give Variables other arrays, and on
   some Pythons any new object can start the garbage collector. */
PyObject *tape_call(Op *op, PyObject *const *args, int arrays) {
    PyObject *values[MOST_VALUES] = {NULL}, *edges = NULL, *prints = NULL, *y = NULL, *result = NULL;
    Py_ssize_t level;
    int held = 0, all = arrays + op->fixed;
    if (tape_watched() != 0 || PyDict_GET_SIZE(tape.exposed) != 0 || arrays == 0 || all > MOST_VALUES) Py_RETURN_NONE;
    for (; held < arrays && PyObject_TypeCheck(args[held], &PlaceType); held++)
        if ((values[held] = Py_XNewRef(((Place *)args[held])->data)) == NULL) break;
    if (held == arrays) {
        for (; held < all && !op->makes; held++) values[held] = Py_NewRef(args[held]);
        edges = edges_of(op, args, arrays, &level, &prints);
        if (edges != NULL) y = op->compute(op, values, arrays);
        if (y != NULL) result = result_of(op, values, arrays, edges, level, prints, y);
    }
    for (held += op->makes; held > 0; held--) Py_XDECREF(values[held - 1]);
    Py_XDECREF(edges);
    Py_XDECREF(prints);
    Py_XDECREF(y);
    if (result == NULL && op->body != NULL && PyErr_Occurred()) return NULL;
    if (result == NULL) PyErr_Clear(); /* the twin computes again, and raises what there is to raise */
    return result == NULL ? Py_NewRef(Py_None) : result;
}

static PyObject *op_call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names) {
    Op *self = (Op *)object;
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    int fits = tape.variable != NULL && given <= MOST_VALUES;
    if (fits && self->arrays < 0 && self->names == NULL) fits = names == NULL;
    else if (fits && self->arrays < 0) fits = names != NULL && PyObject_RichCompareBool(names, self->names, Py_EQ) == 1;
    else if (fits) fits = names == NULL && given == self->arrays + self->fixed;
    if (!fits) Py_RETURN_NONE;
    return tape_call(self, args, self->arrays < 0 ? (int)given : self->arrays);
}

/* --- backward --- */
static int gradients(Op *op, PyObject *edges, PyObject *saved, PyObject *gradient, PyObject *wanted,
                     PyObject **found) {
    PyObject *inputs[INPUTS] = {gradient};
    int done = 0;
    if (PyTuple_GET_SIZE(saved) != op->kept_count) return 0; /* freed */
    for (int i = 0; i < op->kept_count; i++) inputs[i + 1] = PyTuple_GET_ITEM(saved, i);
    for (; done < op->arrays; done++) {
        const Program *program = op->gradients + done;
        found[done] = NULL;
        int needed = op->has_gradient[done];
        if (needed && op->arrays > 1) needed = tape_is_wanted(PyTuple_GET_ITEM(edges, done), wanted);
        if (needed < 0) goto failed;
        if (!needed) continue;
        if (program->count == 0) found[done] = Py_NewRef(gradient);
        else if ((found[done] = loops_run(program, inputs, 1 + op->kept_count, 1)) == NULL) goto failed;
    }
    return 1;
failed: /* the twin computes again, and raises what there is to raise */
    while (done-- > 0) Py_CLEAR(found[done]);
    PyErr_Clear();
    return 0;
}

/* --- making ops --- */
static PyObject *op_new(PyTypeObject *type, PyObject *args, PyObject *names) {
    PyObject *cls, *forward, *rules, *kept, *fixed_names = NULL;
    int arrays, fixed, checks = 0;
    if (!PyArg_ParseTuple(args, "O!iiOO!O!|iO", &PyType_Type, &cls, &arrays, &fixed, &forward, &PyList_Type, &rules,
                          &PyList_Type, &kept, &checks, &fixed_names))
        return NULL;
    Py_ssize_t keeps = PyList_GET_SIZE(kept);
    int has_body = PyCallable_Check(forward);
    int fits = has_body || (arrays >= 1 && arrays <= MOST_EDGES && PyList_GET_SIZE(rules) == arrays);
    if (!fits || arrays + fixed > INPUTS || keeps >= INPUTS || !PyType_IsSubtype((PyTypeObject *)cls, &AppliedType))
        return PyErr_Format(PyExc_ValueError, "an op that the compiled tape does not call");
    Op *self = (Op *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->call = op_call;
    self->compute = has_body ? call_body : compute;
    self->gradients_of = has_body ? NULL : gradients;
    self->node_class = (PyTypeObject *)Py_NewRef(cls);
    self->arrays = arrays;
    self->fixed = fixed;
    self->kept_count = (int)keeps;
    for (Py_ssize_t i = 0; i < keeps; i++) self->kept[i] = (int)PyLong_AsLong(PyList_GET_ITEM(kept, i));
    self->checks = checks;
    self->names = Py_XNewRef(fixed_names);
    self->body = has_body ? Py_NewRef(forward) : NULL;
    int failed = PyErr_Occurred() || (!has_body && loops_read(forward, &self->forward) < 0);
    for (int i = 0; i < arrays && !has_body && !failed; i++) {
        PyObject *rule = PyList_GET_ITEM(rules, i);
        self->has_gradient[i] = rule != Py_None;
        if (rule != Py_None) failed = loops_read(rule, self->gradients + i) < 0;
    }
    Py_INCREF(self); /* lives as long as the process: nodes refer to it without counting */
    if (failed) Py_CLEAR(self);
    return (PyObject *)self;
}

static PyMemberDef op_members[] = {{"body", T_OBJECT, offsetof(Op, body), 0, NULL}, {NULL}};

PyTypeObject OpType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minichainer._native._tape.Op",
    .tp_basicsize = sizeof(Op),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Op, call),
    .tp_call = PyVectorcall_Call,
    .tp_members = op_members,
    .tp_new = op_new,
};

int tape_ready_calls(void) { return PyType_Ready(&OpType); }
