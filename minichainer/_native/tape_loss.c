/* Cross entropy of softmax for a small matrix of scores and a label for each row, all of them in range: the mean. What
   is computed is the compiled kernel, as in Python. Twins: functions/loss/softmax_cross_entropy.py, `_samples` and
   `cross_entropy`; kernels/cross_entropy.py. */
#include "tape.h"

static PyObject *kernel, *gradient_kernel;
static PyTypeObject *samples_class, *residual_class;
enum { X, LABELS, SAMPLES, RESIDUAL };

/* Calls a kernel with arrays, the sizes of x, another size and a number; 0 if it does not compute. */
static int computes(PyObject *own, PyObject **args, int count, PyObject *x, PyObject *scale) {
    args[count] = PyLong_FromSsize_t(PyArray_DIM(ARRAY(x), 0));
    args[count + 1] = PyLong_FromSsize_t(PyArray_DIM(ARRAY(x), 1));
    args[count + 2] = Py_True;
    args[count + 3] = scale;
    PyObject *done = args[count] && args[count + 1] ? PyObject_Vectorcall(own, args, count + 4, NULL) : NULL;
    Py_XDECREF(args[count]);
    Py_XDECREF(args[count + 1]);
    Py_XDECREF(done);
    return done == Py_True;
}

static PyObject *of_class(PyTypeObject *cls, PyObject *fields) {
    PyObject *args = fields ? PyTuple_Pack(1, fields) : NULL, *made = args ? PyTuple_Type.tp_new(cls, args, NULL) : NULL;
    Py_XDECREF(fields);
    Py_XDECREF(args);
    return made;
}

/* Labels of 32 and of 64 bits, one of them None. */
static void by_width(PyObject *t, PyObject **args) {
    args[0] = PyArray_ITEMSIZE(ARRAY(t)) == 4 ? t : Py_None;
    args[1] = PyArray_ITEMSIZE(ARRAY(t)) == 4 ? Py_None : t;
}

static PyObject *compute(Op *op, PyObject **values, int arrays) {
    PyObject *x = values[X], *t = values[LABELS], *args[11] = {x};
    if (!loops_are_scores(x, t) || !loops_are_in_range(t, PyArray_DIM(ARRAY(x), 1))) return NULL;
    npy_intp column[2] = {PyArray_DIM(ARRAY(x), 0), 1};
    PyObject *loss = PyArray_SimpleNew(0, NULL, PyArray_TYPE(ARRAY(x)));
    PyObject *top = PyArray_SimpleNew(2, column, PyArray_TYPE(ARRAY(x)));
    PyObject *sums = PyArray_SimpleNew(2, column, PyArray_TYPE(ARRAY(x)));
    PyObject *scale = PyFloat_FromDouble(1.0 / (double)column[0]);
    int done = loss && top && sums && scale;
    if (done) {
        by_width(t, args + 1);
        args[3] = Py_None;
        args[4] = loss, args[5] = top, args[6] = sums;
        values[SAMPLES] = of_class(samples_class, PyTuple_Pack(3, t, Py_None, scale));
        values[RESIDUAL] = of_class(residual_class, PyTuple_Pack(2, top, sums));
        done = values[SAMPLES] && values[RESIDUAL] && computes(kernel, args, 7, x, scale);
    }
    Py_XDECREF(top);
    Py_XDECREF(sums);
    Py_XDECREF(scale);
    if (!done) Py_CLEAR(loss);
    return loss;
}

/* The gradient of the scores, if what is saved is what `compute` saved. */
static int gradients(Op *op, PyObject *edges, PyObject *saved, PyObject *gy, PyObject *wanted, PyObject **found) {
    found[0] = found[1] = NULL;
    if (PyTuple_GET_SIZE(saved) != 3) return 0; /* freed */
    PyObject *x = PyTuple_GET_ITEM(saved, 0), *samples = PyTuple_GET_ITEM(saved, 1), *rest = PyTuple_GET_ITEM(saved, 2);
    if (Py_TYPE(samples) != samples_class || Py_TYPE(rest) != residual_class) return 0;
    PyObject *t = PyTuple_GET_ITEM(samples, 0), *top = PyTuple_GET_ITEM(rest, 0), *sums = PyTuple_GET_ITEM(rest, 1);
    if (!loops_are_scores(x, t) || PyTuple_GET_ITEM(samples, 1) != Py_None || loops_kind(gy) < 0 || PyArray_SIZE(ARRAY(gy)) != 1)
        return 0;
    npy_intp n = PyArray_DIM(ARRAY(x), 0);
    if (loops_kind(top) < 0 || loops_kind(sums) < 0 || PyArray_SIZE(ARRAY(top)) != n || PyArray_SIZE(ARRAY(sums)) != n)
        return 0;
    int needed = tape_is_wanted(PyTuple_GET_ITEM(edges, 0), wanted);
    if (needed == 0) return 1;
    PyObject *gx = PyArray_SimpleNew(2, PyArray_DIMS(ARRAY(x)), PyArray_TYPE(ARRAY(x)));
    PyObject *args[12] = {gy, x, top, sums, NULL, NULL, Py_None, gx};
    by_width(t, args + 4);
    if (needed > 0 && gx != NULL && computes(gradient_kernel, args, 8, x, PyTuple_GET_ITEM(samples, 2))) {
        found[0] = gx;
        return 1;
    }
    Py_XDECREF(gx);
    return tape_fails() ? -1 : 0;
}

/* cross_entropy_op(class of nodes, Samples, Residual, kernel, kernel of the gradient): the op of scores and labels. */
PyObject *tape_cross_entropy_op(PyObject *module, PyObject *args) {
    Op op = {.arrays = 2, .fixed = 1, .makes = 2, .kept = {X, SAMPLES, RESIDUAL}, .kept_count = 3, .compute = compute,
             .gradients_of = gradients};
    if (!PyArg_ParseTuple(args, "O!O!O!OO", &PyType_Type, &op.node_class, &PyType_Type, &samples_class, &PyType_Type,
                          &residual_class, &kernel, &gradient_kernel))
        return NULL;
    Py_INCREF(args); /* what it holds lives as long as the process */
    return tape_op(&op);
}
