/* Elementwise ops on small arrays. Numbers are computed by the inner loops of NumPy's own ufuncs, so they are equal
   bit for bit to what the Python twins compute; only what surrounds the loops is left out.

   Twins: functions/_call.py (`_unary`, `_binary`), recorder.record, the pullbacks of functions/_node.py. Where NumPy
   would notice an overflow or an invalid value, the twin computes again, and warns as the user has asked for. */
#include <fenv.h>

#include "tape.h"

enum { NOTICED = FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID };

/* Runs a program on n elements; -1 if something was noticed. */
static int execute(const Program *program, int kind, char **inputs, const npy_intp *strides, npy_intp n, char *y) {
    float as_float[CONSTANTS];
    npy_intp size = kind ? 8 : 4;
    if (fetestexcept(NOTICED)) feclearexcept(NOTICED);
    for (int i = 0; i < program->count; i++) {
        const Step *step = program->steps + i;
        char *memory[3];
        npy_intp steps[3], count = n;
        int operands[2] = {step->a, step->b}, used = step->b < 0 ? 1 : 2;
        for (int k = 0; k < used; k++) {
            int place = operands[k];
            if (place < INPUTS) {
                memory[k] = inputs[place];
                steps[k] = strides[place];
            } else if (place < RESULT) {
                const double *constant = program->constants + (place - INPUTS);
                as_float[place - INPUTS] = (float)*constant;
                memory[k] = kind ? (char *)constant : (char *)(as_float + (place - INPUTS));
                steps[k] = 0;
            } else {
                memory[k] = y;
                steps[k] = size;
            }
        }
        memory[used] = y;
        steps[used] = size;
        step->loop[kind](memory, &count, steps, step->data[kind]);
    }
    return fetestexcept(NOTICED) ? -1 : 0;
}

static PyObject *like(PyArrayObject *x) {
    PyArray_Descr *type = PyArray_DESCR(x);
    Py_INCREF(type);
    return PyArray_NewFromDescr(&PyArray_Type, type, PyArray_NDIM(x), PyArray_DIMS(x), NULL, NULL, 0, NULL);
}

/* An operand of the shape of `model`, or a number; 0 if it is neither. */
static int as_operand(PyObject *value, PyArrayObject *model, int kind, char **memory, npy_intp *stride) {
    if (tape_kind(value) != kind) return 0;
    PyArrayObject *array = (PyArrayObject *)value;
    if (PyArray_SAMESHAPE(array, model)) *stride = kind ? 8 : 4;
    else if (PyArray_NDIM(array) == 0) *stride = 0;
    else return 0;
    *memory = PyArray_BYTES(array);
    return 1;
}

/* --- forward --- */
static PyObject *compute(Op *self, PyObject **values) {
    char *memory[INPUTS];
    npy_intp strides[INPUTS];
    int kind = tape_kind(values[0]), count = self->arrays + self->fixed;
    if (kind < 0) return NULL;
    PyArrayObject *model = (PyArrayObject *)values[0];
    for (int i = 0; i < count; i++) {
        memory[i] = NULL; /* not read by the program, such as the number that a label shows */
        int fits = as_operand(values[i], model, kind, memory + i, strides + i);
        if (i < self->arrays && !(fits && PyArray_SAMESHAPE((PyArrayObject *)values[i], model))) return NULL;
    }
    for (int i = 0; i < self->forward.count; i++) {
        const Step *step = self->forward.steps + i;
        if (step->a < count && memory[step->a] == NULL) return NULL;
        if (step->b >= 0 && step->b < count && memory[step->b] == NULL) return NULL;
    }
    PyObject *y = like(model);
    if (y == NULL) return NULL;
    char *result = PyArray_BYTES((PyArrayObject *)y);
    if (execute(&self->forward, kind, memory, strides, PyArray_SIZE(model), result) < 0) Py_CLEAR(y);
    return y;
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

/* All that is used is held: products let other threads run, which may give Variables other arrays, and on some Pythons
   any new object can start the garbage collector. */
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
    char *memory[INPUTS];
    npy_intp strides[INPUTS];
    int kind = tape_kind(gradient), done = 0;
    if (kind < 0 || PyTuple_GET_SIZE(saved) != op->kept_count) return 0; /* freed */
    PyArrayObject *model = (PyArrayObject *)gradient;
    memory[0] = PyArray_BYTES(model);
    strides[0] = kind ? 8 : 4;
    for (int i = 0; i < op->kept_count; i++)
        if (!as_operand(PyTuple_GET_ITEM(saved, i), model, kind, memory + i + 1, strides + i + 1)) return 0;
    npy_intp n = PyArray_SIZE(model);
    for (; done < op->arrays; done++) {
        const Program *program = op->gradients + done;
        found[done] = NULL;
        int needed = op->has_gradient[done];
        if (needed && op->arrays > 1) needed = tape_is_wanted(PyTuple_GET_ITEM(edges, done), wanted);
        if (needed < 0) goto failed;
        if (!needed) continue;
        if (program->count == 0) {
            found[done] = Py_NewRef(gradient);
            continue;
        }
        if ((found[done] = like(model)) == NULL) goto failed;
        char *y = PyArray_BYTES((PyArrayObject *)found[done]);
        if (execute(program, kind, memory, strides, n, y) < 0) {
            Py_CLEAR(found[done]);
            goto failed;
        }
    }
    return 1;
failed: /* the twin computes again, and raises what there is to raise */
    while (done-- > 0) Py_CLEAR(found[done]);
    PyErr_Clear();
    return 0;
}

/* --- making ops --- */
/* Finds the inner loops of a ufunc: all operands float, all double. */
int tape_find_loops(PyObject *object, int inputs, Step *step) {
    PyUFuncObject *ufunc = (PyUFuncObject *)object;
    if (Py_TYPE(object) != &PyUFunc_Type || ufunc->nin != inputs || ufunc->nout != 1) return 0;
    step->loop[0] = step->loop[1] = NULL;
    for (int i = 0; i < ufunc->ntypes; i++) {
        const char *types = ufunc->types + ufunc->nargs * i;
        int kind = types[0] == NPY_FLOAT ? 0 : types[0] == NPY_DOUBLE ? 1 : -1;
        for (int k = 1; k < ufunc->nargs; k++)
            if (types[k] != types[0]) kind = -1;
        if (kind < 0 || step->loop[kind] != NULL) continue;
        step->loop[kind] = ufunc->functions[i];
        step->data[kind] = (void *)(ufunc->data ? ufunc->data[i] : NULL);
    }
    return step->loop[0] != NULL && step->loop[1] != NULL;
}

/* A program from ([(ufunc, a, b), ...], [constant, ...]). */
static int read_program(PyObject *given, Program *program) {
    PyObject *steps, *constants;
    if (!PyArg_ParseTuple(given, "O!O!", &PyList_Type, &steps, &PyList_Type, &constants)) return -1;
    program->count = (int)PyList_GET_SIZE(steps);
    if (program->count > MOST_STEPS || PyList_GET_SIZE(constants) > CONSTANTS) goto misfit;
    for (int i = 0; i < program->count; i++) {
        PyObject *ufunc;
        Step *step = program->steps + i;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(steps, i), "Oii", &ufunc, &step->a, &step->b)) return -1;
        if (!tape_find_loops(ufunc, step->b < 0 ? 1 : 2, step)) goto misfit;
        if (step->a < 0 || step->a > RESULT || step->b > RESULT) goto misfit;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(constants); i++)
        program->constants[i] = PyFloat_AsDouble(PyList_GET_ITEM(constants, i));
    return PyErr_Occurred() ? -1 : 0;
misfit:
    PyErr_SetString(PyExc_ValueError, "a program that the compiled tape does not run");
    return -1;
}

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
    int failed = PyErr_Occurred() || read_program(forward, &self->forward) < 0;
    for (int i = 0; i < arrays && !failed; i++) {
        PyObject *rule = PyList_GET_ITEM(rules, i);
        self->has_gradient[i] = rule != Py_None;
        if (rule != Py_None) failed = read_program(rule, self->gradients + i) < 0;
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
