/* Fully connected layers on small matrices. Products are NumPy's, so they are equal to what the twins compute.
   Twins: functions/connection/linear.py (`_on_plain_matrices`), kernels/affine.py, and the pullbacks of the nodes. */
#include "tape.h"

/* Larger layers gain nothing here, and the twin knows how to multiply them in fewer operations. */
enum { MOST_PRODUCTS = 1 << 18, MOST_WEIGHTS = 1 << 15 };

#define ARRAY(object) ((PyArrayObject *)(object))

typedef struct {
    npy_intp N, M, K;
    int kind;
} Sizes;

/* The class of nodes without and with a bias, and what sums rows. */
static PyTypeObject *node_classes[2];
static PyObject *sum_of_rows;
static Op layers[2];

static int is_plain(PyObject *object, int axes) {
    return Py_TYPE(object) == &PyArray_Type && PyArray_NDIM(ARRAY(object)) == axes && PyArray_ISCARRAY_RO(ARRAY(object));
}

/* Whether x and W are float matrices of a small layer. */
static int fit(PyObject *x, PyObject *W, Sizes *sizes) {
    if (!is_plain(x, 2) || !is_plain(W, 2) || PyArray_DESCR(ARRAY(x)) != PyArray_DESCR(ARRAY(W))) return 0;
    sizes->kind = PyArray_DESCR(ARRAY(x)) == tape_types[0] ? 0 : PyArray_DESCR(ARRAY(x)) == tape_types[1] ? 1 : -1;
    sizes->N = PyArray_DIM(ARRAY(x), 0);
    sizes->K = PyArray_DIM(ARRAY(x), 1);
    sizes->M = PyArray_DIM(ARRAY(W), 0);
    return sizes->kind >= 0 && PyArray_DIM(ARRAY(W), 1) == sizes->K && PyArray_SIZE(ARRAY(W)) < MOST_WEIGHTS &&
           sizes->N * sizes->M * sizes->K <= MOST_PRODUCTS;
}

static PyObject *product(PyObject *a, int transposes_a, PyObject *b, int transposes_b) {
    PyObject *left = transposes_a ? PyArray_Transpose(ARRAY(a), NULL) : Py_NewRef(a);
    PyObject *right = transposes_b ? PyArray_Transpose(ARRAY(b), NULL) : Py_NewRef(b);
    PyObject *result = left && right ? PyArray_MatrixProduct(left, right) : NULL;
    Py_XDECREF(left);
    Py_XDECREF(right);
    return result;
}

static void add_to_rows(void *memory, const void *row, const Sizes *s) {
    float *y = memory;
    double *z = memory;
    for (npy_intp i = 0; i < s->N; i++)
        for (npy_intp j = 0; j < s->M; j++)
            if (s->kind) z[i * s->M + j] += ((const double *)row)[j];
            else y[i * s->M + j] += ((const float *)row)[j];
}

/* The gradients of x, W and b; 0 to leave them to the twin. */
static int gradients(Applied *node, PyObject *gy, PyObject *wanted, PyObject **found) {
    Sizes sizes;
    int done = 0;
    if (node->saved == NULL || !PyTuple_CheckExact(node->saved) || PyTuple_GET_SIZE(node->saved) != 2) return 0;
    PyObject *x = PyTuple_GET_ITEM(node->saved, 0), *W = PyTuple_GET_ITEM(node->saved, 1);
    if (!fit(x, W, &sizes) || !is_plain(gy, 2) || PyArray_DESCR(ARRAY(gy)) != PyArray_DESCR(ARRAY(x))) return 0;
    if (PyArray_DIM(ARRAY(gy), 0) != sizes.N || PyArray_DIM(ARRAY(gy), 1) != sizes.M) return 0;
    for (; done < node->op->arrays; done++) {
        found[done] = NULL;
        int needed = tape_is_wanted(PyTuple_GET_ITEM(node->edges, done), wanted);
        if (needed == 0) continue;
        if (needed > 0 && done == 0) found[0] = product(gy, 0, W, 0);
        else if (needed > 0 && done == 1) found[1] = product(gy, 1, x, 0);
        else if (needed > 0) found[2] = PyObject_CallOneArg(sum_of_rows, gy);
        if (found[done] == NULL || !PyArray_CheckExact(found[done])) goto failed;
    }
    return 1;
failed: /* the twin computes again, and raises what there is to raise */
    for (int i = 0; i <= done; i++) Py_CLEAR(found[i]);
    PyErr_Clear();
    return 0;
}

/* linear(x, W, b): a Variable, or None if the twin has to compute. */
PyObject *tape_linear(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 3) return PyErr_Format(PyExc_TypeError, "3 arguments expected");
    int arrays = args[2] == Py_None ? 2 : 3;
    PyObject *edges[MOST_EDGES], *values[MOST_EDGES] = {NULL}, *prints = NULL, *y;
    Op *op = layers + (arrays - 2);
    Py_ssize_t level;
    Sizes sizes;
    for (int i = 0; i < arrays; i++) {
        if (!PyObject_TypeCheck(args[i], &PlaceType) || (values[i] = ((Place *)args[i])->data) == NULL) Py_RETURN_NONE;
    }
    if (!fit(values[0], values[1], &sizes) || tape_watched() != 0 || PyDict_GET_SIZE(tape.exposed)) Py_RETURN_NONE;
    if (arrays == 3 && (!is_plain(values[2], 1) || PyArray_DIM(ARRAY(values[2]), 0) != sizes.M ||
                        PyArray_DESCR(ARRAY(values[2])) != PyArray_DESCR(ARRAY(values[0]))))
        Py_RETURN_NONE;
    if (!tape_edges(op, args, edges, &level, &prints)) Py_RETURN_NONE;
    if ((y = product(values[0], 0, values[1], 1)) == NULL) return NULL;
    if (arrays == 3) add_to_rows(PyArray_DATA(ARRAY(y)), PyArray_DATA(ARRAY(values[2])), &sizes);
    PyObject *saved = PyTuple_Pack(2, values[0], values[1]), *tuple = PyTuple_New(arrays);
    if (saved == NULL || tuple == NULL) {
        Py_DECREF(y);
        Py_XDECREF(saved);
        Py_XDECREF(tuple);
        return NULL;
    }
    for (int i = 0; i < arrays; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(edges[i]));
    return tape_result(node_classes[arrays - 2], tuple, level, y, saved, NULL, Py_XNewRef(prints), op);
}

/* install_linear(class without bias, class with bias, function that sums rows) */
PyObject *tape_install_linear(PyObject *module, PyObject *args) {
    PyObject *classes[2], *kernel;
    if (!PyArg_ParseTuple(args, "O!O!O", &PyType_Type, classes, &PyType_Type, classes + 1, &kernel)) return NULL;
    sum_of_rows = Py_NewRef(kernel);
    for (int i = 0; i < 2; i++) {
        node_classes[i] = (PyTypeObject *)Py_NewRef(classes[i]);
        layers[i] = (Op){.arrays = 2 + i, .kept = {0, 1}, .kept_count = 2, .gradients_of = gradients};
    }
    Py_RETURN_NONE;
}
