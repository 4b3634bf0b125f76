/* Fully connected layers on small matrices. Products are NumPy's, so they are equal to what the twins compute.
   Twins: functions/connection/linear.py (`_on_plain_matrices`), kernels/affine.py, and the pullbacks of the nodes. */
#include "tape.h"

/* Larger layers gain nothing here. The twin knows how to multiply them in fewer operations, and collects the gradients
   of weights that are used many times (`_MANY`). */
enum { MOST_PRODUCTS = 1 << 18, MOST_WEIGHTS = 1 << 15 };

#define ARRAY(object) ((PyArrayObject *)(object))

typedef struct {
    npy_intp N, M, K;
    int kind;
} Sizes;

/* The ops without and with a bias; as many ones as the last float and double matrix had rows; numpy.matmul. */
static Op layers[2];
static PyObject *ones[2];
static Step multiplication;

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

/* The elements of a contiguous matrix or of its transpose, or of a row: sizes, and bytes from one to the next. */
typedef struct {
    char *memory;
    npy_intp size[2], step[2];
} View;

static View view_of(PyObject *array, int transposed) {
    npy_intp itemsize = PyArray_ITEMSIZE(ARRAY(array)), columns = PyArray_DIM(ARRAY(array), PyArray_NDIM(ARRAY(array)) - 1);
    npy_intp rows = PyArray_NDIM(ARRAY(array)) == 2 ? PyArray_DIM(ARRAY(array), 0) : 1;
    View plain = {PyArray_BYTES(ARRAY(array)), {rows, columns}, {columns * itemsize, itemsize}};
    return transposed ? (View){plain.memory, {columns, rows}, {itemsize, columns * itemsize}} : plain;
}

/* Writes a product to an array, by the inner loop of numpy.matmul: no object is made. */
static void multiply(View a, View b, PyObject *y, int kind) {
    View to = view_of(y, 0);
    char *memory[3] = {a.memory, b.memory, to.memory};
    npy_intp sizes[4] = {1, a.size[0], a.size[1], b.size[1]};
    npy_intp steps[9] = {0, 0, 0, a.step[0], a.step[1], b.step[0], b.step[1], to.step[0], to.step[1]};
    multiplication.loop[kind](memory, sizes, steps, multiplication.data[kind]);
}

static PyObject *product(PyObject *a, int transposes_a, PyObject *b, int transposes_b, const Sizes *s) {
    View x = view_of(a, transposes_a), z = view_of(b, transposes_b);
    npy_intp size[2] = {x.size[0], z.size[1]};
    PyObject *y = PyArray_SimpleNew(2, size, PyArray_TYPE(ARRAY(a)));
    if (y != NULL) multiply(x, z, y, s->kind);
    return y;
}

/* The product with a row of ones, as in kernels/affine.py. */
static PyObject *sum_of_rows(PyObject *matrix, const Sizes *s) {
    int type = PyArray_TYPE(ARRAY(matrix));
    PyObject *row = ones[s->kind], *sum = PyArray_SimpleNew(1, &s->M, type);
    if (row == NULL || PyArray_DIM(ARRAY(row), 0) != s->N) {
        row = PyArray_SimpleNew(1, &s->N, type);
        for (npy_intp i = 0; row != NULL && i < s->N; i++)
            if (s->kind) ((double *)PyArray_DATA(ARRAY(row)))[i] = 1;
            else ((float *)PyArray_DATA(ARRAY(row)))[i] = 1;
        Py_XSETREF(ones[s->kind], row);
    }
    if (row != NULL && sum != NULL) multiply(view_of(row, 0), view_of(matrix, 0), sum, s->kind);
    else Py_CLEAR(sum);
    return sum;
}

static void add_to_rows(void *memory, const void *row, const Sizes *s) {
    float *y = memory;
    double *z = memory;
    for (npy_intp i = 0; i < s->N; i++)
        for (npy_intp j = 0; j < s->M; j++)
            if (s->kind) z[i * s->M + j] += ((const double *)row)[j];
            else y[i * s->M + j] += ((const float *)row)[j];
}

static PyObject *compute(Op *op, PyObject **values) {
    PyObject *x = values[0], *W = values[1], *b = op->arrays == 3 ? values[2] : NULL;
    Sizes sizes;
    if (!fit(x, W, &sizes)) return NULL;
    if (b != NULL && (!is_plain(b, 1) || PyArray_DIM(ARRAY(b), 0) != sizes.M ||
                      PyArray_DESCR(ARRAY(b)) != PyArray_DESCR(ARRAY(x))))
        return NULL;
    PyObject *y = product(x, 0, W, 1, &sizes);
    if (b != NULL && y != NULL) add_to_rows(PyArray_DATA(ARRAY(y)), PyArray_DATA(ARRAY(b)), &sizes);
    return y;
}

/* The gradients of x, W and b. */
static int gradients(Op *op, PyObject *edges, PyObject *saved, PyObject *gy, PyObject *wanted, PyObject **found) {
    Sizes sizes;
    int done = 0;
    if (PyTuple_GET_SIZE(saved) != 2) return 0; /* freed */
    PyObject *x = PyTuple_GET_ITEM(saved, 0), *W = PyTuple_GET_ITEM(saved, 1);
    if (!fit(x, W, &sizes) || !is_plain(gy, 2) || PyArray_DESCR(ARRAY(gy)) != PyArray_DESCR(ARRAY(x))) return 0;
    if (PyArray_DIM(ARRAY(gy), 0) != sizes.N || PyArray_DIM(ARRAY(gy), 1) != sizes.M) return 0;
    for (; done < op->arrays; done++) {
        found[done] = NULL;
        int needed = tape_is_wanted(PyTuple_GET_ITEM(edges, done), wanted);
        if (needed == 0) continue;
        if (needed > 0 && done == 0) found[0] = product(gy, 0, W, 0, &sizes);
        else if (needed > 0 && done == 1) found[1] = product(gy, 1, x, 0, &sizes);
        else if (needed > 0) found[2] = sum_of_rows(gy, &sizes);
        if (found[done] == NULL) goto failed;
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
    return tape_call(layers + (args[2] != Py_None), args);
}

/* install_linear(class without bias, class with bias, numpy.matmul) */
PyObject *tape_install_linear(PyObject *module, PyObject *args) {
    PyObject *classes[2], *matmul;
    if (!PyArg_ParseTuple(args, "O!O!O", &PyType_Type, classes, &PyType_Type, classes + 1, &matmul)) return NULL;
    if (!tape_find_loops(matmul, 2, &multiplication)) {
        PyErr_SetString(PyExc_ImportError, "this NumPy keeps its inner loops elsewhere");
        return NULL;
    }
    Py_INCREF(matmul); /* lives as long as the process */
    for (int i = 0; i < 2; i++)
        layers[i] = (Op){.node_class = (PyTypeObject *)Py_NewRef(classes[i]), .arrays = 2 + i, .kept = {0, 1},
                         .kept_count = 2, .compute = compute, .gradients_of = gradients};
    Py_RETURN_NONE;
}
