/* Elementwise ops on small arrays, whose numbers loops.c computes.

   Twins: functions/_call.py (`_unary`, `_binary`), recorder.record, the pullbacks of functions/_node.py. Where NumPy
   would notice an overflow or an invalid value, the twin computes again, and warns as the user has asked for. */
#include "tape.h"

/* --- forward --- */
static PyObject *compute(Op *self, PyObject **values) {
    return loops_run(&self->forward, values, self->arrays + self->fixed, self->arrays);
}

/* Whether a user can write to an array that is saved; else `prints` tells when it was saved. */
static int is_exposed(Op *op, int i, PyObject *leaf, PyObject **prints) {
    for (int k = 0; k < op->kept_count; k++) {
        if (op->kept[k] != i) continue;
        if (!PyLong_CheckExact(*(PyObject **)((char *)leaf + tape.guard))) return 1;
        Py_XSETREF(*prints, Py_NewRef(PyList_GET_ITEM(tape.clock, 0)));
    }
    return 0;
}

/* The edges of Variables and their highest level; NULL to leave the call to the twin. */
static PyObject *edges_of(Op *op, PyObject *const *args, Py_ssize_t *level, PyObject **prints) {
    int requires = 0;
    PyObject *edges = PyTuple_New(op->arrays);
    *level = 0;
    for (int i = 0; edges != NULL && i < op->arrays; i++) {
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
static PyObject *result_of(Op *op, PyObject *const *values, PyObject *edges, Py_ssize_t level, PyObject *prints,
                           PyObject *y) {
    PyArrayObject *array = (PyArrayObject *)y;
    Applied *node = (Applied *)op->node_class->tp_alloc(op->node_class, 0);
    Place *result = (Place *)tape.variable->tp_alloc(tape.variable, 0);
    PyObject *shape = PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_DIMS(array));
    PyObject *saved = PyTuple_New(op->kept_count), *fixed = PyTuple_New(op->fixed);
    for (int i = 0; saved != NULL && i < op->kept_count; i++)
        PyTuple_SET_ITEM(saved, i, Py_NewRef(op->kept[i] == RESULT ? y : values[op->kept[i]]));
    for (int i = 0; fixed != NULL && i < op->fixed; i++)
        PyTuple_SET_ITEM(fixed, i, Py_NewRef(values[op->arrays + i]));
    if (node == NULL || result == NULL || shape == NULL || saved == NULL || fixed == NULL) {
        Py_XDECREF(node);
        Py_XDECREF(shape);
        Py_XDECREF(saved);
        Py_XDECREF(fixed);
        Py_CLEAR(result);
        return NULL;
    }
    node->edges = Py_NewRef(edges);
    node->level = level + 1;
    node->shape = shape;
    node->dtype = Py_NewRef(PyArray_DESCR(array));
    node->saved = saved;
    node->fixed = fixed;
    node->prints = Py_XNewRef(prints);
    node->op = op; /* ops live as long as their classes, which nodes refer to */
    result->data = Py_NewRef(y);
    result->node = (PyObject *)node;
    return (PyObject *)result;
}

/* All that is used is held: kernels of large arrays let other threads run, which may give Variables other arrays, and on
   some Pythons any new object can start the garbage collector. */
PyObject *tape_call(Op *op, PyObject *const *args) {
    PyObject *values[INPUTS] = {NULL}, *edges = NULL, *prints = NULL, *y = NULL, *result = NULL;
    Py_ssize_t level;
    int held = 0;
    if (tape_watched() != 0 || PyDict_GET_SIZE(tape.exposed) != 0) Py_RETURN_NONE;
    for (; held < op->arrays && PyObject_TypeCheck(args[held], &PlaceType); held++)
        if ((values[held] = Py_XNewRef(((Place *)args[held])->data)) == NULL) break;
    if (held == op->arrays) {
        for (; held < op->arrays + op->fixed && !op->makes; held++) values[held] = Py_NewRef(args[held]);
        edges = edges_of(op, args, &level, &prints);
        if (edges != NULL) y = op->compute(op, values);
        if (y != NULL) result = result_of(op, values, edges, level, prints, y);
    }
    for (int i = 0; i < INPUTS; i++) Py_XDECREF(values[i]);
    Py_XDECREF(edges);
    Py_XDECREF(prints);
    Py_XDECREF(y);
    if (result == NULL) PyErr_Clear(); /* the twin computes again, and raises what there is to raise */
    return result == NULL ? Py_NewRef(Py_None) : result;
}

static PyObject *op_call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names) {
    Op *self = (Op *)object;
    if (names != NULL || PyVectorcall_NARGS(flags) != self->arrays + self->fixed || tape.variable == NULL)
        Py_RETURN_NONE;
    return tape_call(self, args);
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
    PyObject *cls, *forward, *rules, *kept;
    int arrays, fixed;
    if (!PyArg_ParseTuple(args, "O!iiOO!O!", &PyType_Type, &cls, &arrays, &fixed, &forward, &PyList_Type, &rules,
                          &PyList_Type, &kept))
        return NULL;
    Py_ssize_t keeps = PyList_GET_SIZE(kept);
    if (arrays < 1 || arrays > MOST_EDGES || arrays + fixed > INPUTS || keeps >= INPUTS ||
        PyList_GET_SIZE(rules) != arrays || !PyType_IsSubtype((PyTypeObject *)cls, &AppliedType))
        return PyErr_Format(PyExc_ValueError, "an op that the compiled tape does not call");
    Op *self = (Op *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->call = op_call;
    self->compute = compute;
    self->gradients_of = gradients;
    self->node_class = (PyTypeObject *)Py_NewRef(cls);
    self->arrays = arrays;
    self->fixed = fixed;
    self->kept_count = (int)keeps;
    for (Py_ssize_t i = 0; i < keeps; i++) self->kept[i] = (int)PyLong_AsLong(PyList_GET_ITEM(kept, i));
    int failed = PyErr_Occurred() || loops_read(forward, &self->forward) < 0;
    for (int i = 0; i < arrays && !failed; i++) {
        PyObject *rule = PyList_GET_ITEM(rules, i);
        self->has_gradient[i] = rule != Py_None;
        if (rule != Py_None) failed = loops_read(rule, self->gradients + i) < 0;
    }
    Py_INCREF(self); /* lives as long as the process: nodes refer to it without counting */
    if (failed) Py_CLEAR(self);
    return (PyObject *)self;
}

PyTypeObject OpType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minichainer._native._tape.Op",
    .tp_basicsize = sizeof(Op),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Op, call),
    .tp_call = PyVectorcall_Call,
    .tp_new = op_new,
};

int tape_ready_calls(void) { return PyType_Ready(&OpType); }
