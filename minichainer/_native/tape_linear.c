/* Fully connected layers on small matrices. Products are NumPy's, so they are equal to what the twins compute.
   Twins: functions/connection/linear.py (`_on_plain_matrices`), kernels/affine.py, and the pullbacks of the nodes. */
#include "tape.h"

static PyObject *compute(Op *op, PyObject **values, int arrays) {
    PyObject *x = values[0], *W = values[1], *b = arrays == 3 ? values[2] : NULL;
    if (!loops_are_of_small_layer(x, W, b, NULL)) return NULL;
    PyObject *y = loops_product(x, 0, W, 1);
    if (b != NULL && y != NULL) loops_add_row(y, b);
    return y;
}

/* The gradients of x, W and b. */
static int gradients(Op *op, PyObject *edges, PyObject *saved, PyObject *gy, PyObject *wanted, PyObject **found) {
    int done = 0;
    if (PyTuple_GET_SIZE(saved) != 2) return 0; /* freed */
    PyObject *x = PyTuple_GET_ITEM(saved, 0), *W = PyTuple_GET_ITEM(saved, 1);
    if (!loops_are_of_small_layer(x, W, NULL, gy)) return 0;
    for (; done < op->arrays; done++) {
        found[done] = NULL;
        int needed = tape_is_wanted(PyTuple_GET_ITEM(edges, done), wanted);
        if (needed == 0) continue;
        if (needed > 0 && done == 0) found[0] = loops_product(gy, 0, W, 0);
        else if (needed > 0 && done == 1) found[1] = loops_product(gy, 1, x, 0);
        else if (needed > 0) found[2] = loops_sum_of_rows(gy);
        if (found[done] == NULL) goto failed;
    }
    return 1;
failed:
    for (int i = 0; i <= done; i++) Py_CLEAR(found[i]);
    return tape_fails() ? -1 : 0;
}

/* linear_op(class of nodes, number of arrays): the op of x and W, and of a bias if there are three. */
PyObject *tape_linear_op(PyObject *module, PyObject *args) {
    Op op = {.kept = {0, 1}, .kept_count = 2, .compute = compute, .gradients_of = gradients};
    return PyArg_ParseTuple(args, "O!i", &PyType_Type, &op.node_class, &op.arrays) ? tape_op(&op) : NULL;
}
