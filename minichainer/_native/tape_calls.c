/* Calls of ops: elementwise ones on small arrays, whose numbers loops.c computes, and all others that have no residual,
   whose bodies and gradients stay in Python.

   Twins: functions/_call.py, recorder.record and record_several, the pullbacks of functions/_node.py. Where NumPy would
   notice an overflow or an invalid value in a loop, the twin computes again, and warns as the user has asked for. */
#include "tape.h"

/* --- forward --- */
static PyObject *compute(Op *self, PyObject **values, int arrays) {
    return loops_run(&self->forward, values, arrays + self->fixed, arrays);
}

static int is_tuple_of_arrays(PyObject *y) {
    Py_ssize_t count = PyTuple_CheckExact(y) ? PyTuple_GET_SIZE(y) : 0;
    return count > 1 && loops_have_in_common(((PyTupleObject *)y)->ob_item, (int)count, 0, 0);
}

/* The result of a body in Python, if arrays and result need no checks of the twin. */
static PyObject *call_body(Op *op, PyObject **values, int arrays) {
    if (!loops_have_in_common(values, arrays, op->checks >= ONE_DTYPE, op->checks == ONE_SHAPE)) return NULL;
    PyObject *body = Py_NewRef(op->body); /* the first call replaces it */
    PyObject *y = PyObject_Vectorcall(body, values, arrays + (op->names ? 0 : op->fixed), op->names);
    Py_DECREF(body);
    if (y != NULL && PyArray_IsScalar(y, Generic)) Py_SETREF(y, PyArray_FromScalar(y, NULL));
    if (y == NULL || !(op->several ? is_tuple_of_arrays(y) : Py_TYPE(y) == &PyArray_Type)) Py_CLEAR(y);
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

static PyObject *variable_of(PyObject *y, PyObject *node) {
    Place *result = (Place *)tape.variable->tp_alloc(tape.variable, 0);
    if (result != NULL) result->data = Py_NewRef(y);
    if (result != NULL) result->node = Py_NewRef(node);
    return (PyObject *)result;
}

/* The Variables of several outputs, each on a node of its own; twin: recorder._results_of. */
static PyObject *results_of(Applied *node, PyObject *ys) {
    Py_ssize_t count = PyTuple_GET_SIZE(ys);
    PyObject *edges = PyTuple_Pack(1, node), *results = PyTuple_New(count), *places = PyTuple_New(count);
    PyObject *kinds = PyTuple_New(count), *owners = PyTuple_New(count), *number = PyLong_FromSsize_t(count);
    int done = edges && results && places && kinds && owners && number;
    for (Py_ssize_t i = 0; done && i < count; i++) {
        PyObject *y = PyTuple_GET_ITEM(ys, i), *kind = loops_shape_and_dtype(y);
        PyObject *place = kind ? PyObject_CallFunction((PyObject *)tape.output, "OnnO", edges, node->level, i, kind) : NULL;
        PyObject *result = place ? variable_of(y, place) : NULL;
        PyTuple_SET_ITEM(results, i, result);
        PyTuple_SET_ITEM(kinds, i, kind);
        PyTuple_SET_ITEM(places, i, result ? PyWeakref_NewRef(place, NULL) : NULL);
        PyTuple_SET_ITEM(owners, i, result ? PyWeakref_NewRef(result, NULL) : NULL);
        done = PyTuple_GET_ITEM(places, i) && PyTuple_GET_ITEM(owners, i);
        Py_XDECREF(place);
    }
    PyObject *found[] = {number, places, kinds, owners};
    for (int k = 0; k < 4; k++) {
        done = done && PyObject_SetAttr((PyObject *)node, tape_names[NAME_OUTPUT_COUNT + k], found[k]) == 0;
        Py_XDECREF(found[k]);
    }
    Py_XDECREF(edges);
    if (!done) Py_CLEAR(results);
    return results;
}

/* Twin of recorder.record and record_several, where some edge requires a gradient. */
static PyObject *result_of(Op *op, PyObject *const *values, int arrays, PyObject *edges, Py_ssize_t level,
                           PyObject *prints, PyObject *y) {
    int first_kept = op->arrays < 0 ? arrays : 0; /* of any number of arrays, none is kept */
    Applied *node = (Applied *)op->node_class->tp_alloc(op->node_class, 0);
    if (node == NULL) return NULL;
    node->edges = Py_NewRef(edges);
    node->level = level + 1;
    node->prints = Py_XNewRef(prints);
    node->op = op->gradients_of ? op : NULL; /* ops live as long as their classes, which nodes refer to */
    node->saved = PyTuple_New(op->kept_count);
    node->fixed = PyTuple_New(op->fixed);
    for (int i = 0; node->saved != NULL && i < op->kept_count; i++)
        PyTuple_SET_ITEM(node->saved, i, Py_NewRef(op->kept[i] == RESULT ? y : values[op->kept[i] + first_kept]));
    for (int i = 0; node->fixed != NULL && i < op->fixed; i++)
        PyTuple_SET_ITEM(node->fixed, i, Py_NewRef(values[arrays + i]));
    PyObject *result = NULL;
    int complete = node->saved != NULL && node->fixed != NULL;
    if (op->several) result = complete ? results_of(node, y) : NULL;
    else if (complete) {
        node->dtype = Py_NewRef(PyArray_DESCR(ARRAY(y)));
        node->shape = PyArray_IntTupleFromIntp(PyArray_NDIM(ARRAY(y)), PyArray_DIMS(ARRAY(y)));
        if (node->shape != NULL) result = variable_of(y, (PyObject *)node);
    }
    Py_DECREF(node);
    return result;
}

/* All that is used is held: kernels of large arrays let other threads run, which may give Variables other arrays, and on
   some Pythons any new object can start the garbage collector. */
static PyObject *call(Op *op, PyObject *const *args, int arrays) {
    PyObject *values[MOST_VALUES] = {NULL}, *edges = NULL, *prints = NULL, *y = NULL, *result = NULL;
    Py_ssize_t level;
    int held = 0, all = arrays + op->fixed;
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
    if (result == NULL && ((op->body != NULL && PyErr_Occurred()) || tape_fails())) return NULL;
    return result == NULL ? Py_NewRef(Py_None) : result;
}

static PyObject *op_call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names) {
    Op *self = (Op *)object;
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    int fits = tape.variable != NULL && given > 0 && given + self->fixed <= MOST_VALUES;
    fits = fits && tape_watched() == 0 && PyDict_GET_SIZE(tape.exposed) == 0;
    if (fits && self->arrays < 0 && self->names == NULL) fits = names == NULL;
    else if (fits && self->arrays < 0) fits = names != NULL && PyObject_RichCompareBool(names, self->names, Py_EQ) == 1;
    else if (fits) fits = names == NULL && given == self->arrays + (self->makes ? 0 : self->fixed);
    return fits ? call(self, args, self->arrays < 0 ? (int)given : self->arrays) : Py_NewRef(Py_None);
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
        if (needed == 0) continue;
        if (needed > 0 && program->count == 0) found[done] = Py_NewRef(gradient);
        else if (needed > 0) found[done] = loops_run(program, inputs, 1 + op->kept_count, 1);
        if (found[done] == NULL) goto failed;
    }
    return 1;
failed:
    while (done-- > 0) Py_CLEAR(found[done]);
    return tape_fails() ? -1 : 0;
}

/* --- making ops --- */
PyObject *tape_op(const Op *like) {
    Op *self = PyObject_New(Op, &OpType);
    if (self == NULL) return NULL;
    memcpy((char *)self + sizeof(PyObject), (char *)like + sizeof(PyObject), sizeof(Op) - sizeof(PyObject));
    self->call = op_call;
    Py_INCREF(self->node_class);
    Py_XINCREF(self->body);
    Py_XINCREF(self->names);
    return Py_NewRef(self); /* a reference for ever: nodes refer to it without counting */
}

static PyObject *op_new(PyTypeObject *type, PyObject *args, PyObject *names) {
    PyObject *forward, *rules, *kept;
    Op op = {0};
    if (!PyArg_ParseTuple(args, "O!iiOO!O!|iiO", &PyType_Type, &op.node_class, &op.arrays, &op.fixed, &forward, &PyList_Type,
                          &rules, &PyList_Type, &kept, &op.checks, &op.several, &op.names))
        return NULL;
    op.kept_count = (int)PyList_GET_SIZE(kept);
    int has_body = PyCallable_Check(forward);
    int fits = has_body || (op.arrays >= 1 && op.arrays <= MOST_EDGES && PyList_GET_SIZE(rules) == op.arrays);
    if (!fits || op.arrays + op.fixed > INPUTS || op.kept_count >= INPUTS || !PyType_IsSubtype(op.node_class, &AppliedType))
        return PyErr_Format(PyExc_ValueError, "an op that the compiled tape does not call");
    for (int i = 0; i < op.kept_count; i++) op.kept[i] = (int)PyLong_AsLong(PyList_GET_ITEM(kept, i));
    op.compute = has_body ? call_body : compute;
    op.gradients_of = has_body ? NULL : gradients;
    if (has_body) op.body = forward;
    else if (loops_read(forward, &op.forward) < 0) return NULL;
    for (int i = 0; i < op.arrays && !has_body; i++) {
        PyObject *rule = PyList_GET_ITEM(rules, i);
        op.has_gradient[i] = rule != Py_None;
        if (rule != Py_None && loops_read(rule, op.gradients + i) < 0) return NULL;
    }
    return PyErr_Occurred() ? NULL : tape_op(&op);
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
