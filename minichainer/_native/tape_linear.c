/* Fully connected layers on so few numbers that a call of BLAS takes longer than the products. Sums have several
   partial sums. Twins: functions/connection/linear.py (`_on_plain_matrices`) and the pullbacks of its two nodes. */
#include "tape.h"

enum { MOST_PRODUCTS = 2048, LANES = 8 };

#define LOOPS(T, SUFFIX)                                                                                              \
    static void rows_##SUFFIX(const T *x, const T *W, const T *b, T *y, npy_intp N, npy_intp M, npy_intp K) {         \
        for (npy_intp i = 0; i < N; i++)                                                                              \
            for (npy_intp j = 0; j < M; j++) {                                                                        \
                const T *row = x + i * K, *weights = W + j * K;                                                       \
                T partial[LANES] = {0}, sum = 0;                                                                      \
                npy_intp k = 0;                                                                                       \
                for (; k + LANES <= K; k += LANES)                                                                    \
                    for (int l = 0; l < LANES; l++) partial[l] += row[k + l] * weights[k + l];                        \
                for (; k < K; k++) sum += row[k] * weights[k];                                                        \
                for (int l = 0; l < LANES; l += 2) sum += partial[l] + partial[l + 1];                                \
                y[i * M + j] = b == NULL ? sum : sum + b[j];                                                          \
            }                                                                                                         \
    }                                                                                                                 \
    static void by_x_##SUFFIX(const T *g, const T *W, T *gx, npy_intp N, npy_intp M, npy_intp K) {                    \
        for (npy_intp i = 0; i < N * K; i++) gx[i] = 0;                                                               \
        for (npy_intp i = 0; i < N; i++)                                                                              \
            for (npy_intp j = 0; j < M; j++)                                                                          \
                for (npy_intp k = 0; k < K; k++) gx[i * K + k] += g[i * M + j] * W[j * K + k];                        \
    }                                                                                                                 \
    static void by_W_##SUFFIX(const T *g, const T *x, T *gW, npy_intp N, npy_intp M, npy_intp K) {                    \
        for (npy_intp i = 0; i < M * K; i++) gW[i] = 0;                                                               \
        for (npy_intp i = 0; i < N; i++)                                                                              \
            for (npy_intp j = 0; j < M; j++)                                                                          \
                for (npy_intp k = 0; k < K; k++) gW[j * K + k] += g[i * M + j] * x[i * K + k];                        \
    }                                                                                                                 \
    static void by_b_##SUFFIX(const T *g, T *gb, npy_intp N, npy_intp M) {                                            \
        for (npy_intp j = 0; j < M; j++) gb[j] = 0;                                                                   \
        for (npy_intp i = 0; i < N; i++)                                                                              \
            for (npy_intp j = 0; j < M; j++) gb[j] += g[i * M + j];                                                   \
    }

LOOPS(float, f)
LOOPS(double, d)

#define BYTES(object) PyArray_BYTES((PyArrayObject *)(object))
#define SIZES(object) PyArray_DIMS((PyArrayObject *)(object))
#define AXES(object) PyArray_NDIM((PyArrayObject *)(object))

static PyObject *matrix(npy_intp rows, npy_intp columns, int kind) {
    npy_intp sizes[2] = {rows, columns};
    return PyArray_SimpleNew(2, sizes, kind ? NPY_DOUBLE : NPY_FLOAT);
}

/* Whether arrays are matrices of a layer, with few products; which numbers they have, or -1. */
static int fitting(PyObject *x, PyObject *W, npy_intp *N, npy_intp *M, npy_intp *K) {
    int kind = tape_kind(x);
    if (kind < 0 || tape_kind(W) != kind || AXES(x) != 2 || AXES(W) != 2) return -1;
    *N = SIZES(x)[0];
    *K = SIZES(x)[1];
    *M = SIZES(W)[0];
    return SIZES(W)[1] == *K && *N * *K * *M <= MOST_PRODUCTS ? kind : -1;
}

/* The gradients of x, W and b; 0 to leave them to the twin. */
static int gradients(Applied *node, PyObject *gradient, PyObject *wanted, PyObject **found) {
    npy_intp N, M, K;
    int count = node->op->arrays, done = 0;
    if (node->saved == NULL || !PyTuple_CheckExact(node->saved) || PyTuple_GET_SIZE(node->saved) != 2) return 0;
    PyObject *x = PyTuple_GET_ITEM(node->saved, 0), *W = PyTuple_GET_ITEM(node->saved, 1);
    int kind = fitting(x, W, &N, &M, &K);
    if (kind < 0 || tape_kind(gradient) != kind || AXES(gradient) != 2) return 0;
    if (SIZES(gradient)[0] != N || SIZES(gradient)[1] != M) return 0;
    for (; done < count; done++) {
        found[done] = NULL;
        int needed = tape_is_wanted(PyTuple_GET_ITEM(node->edges, done), wanted);
        if (needed < 0) goto failed;
        if (!needed) continue;
        PyObject *result = done == 0   ? matrix(N, K, kind)
                           : done == 1 ? matrix(M, K, kind)
                                       : PyArray_SimpleNew(1, &M, kind ? NPY_DOUBLE : NPY_FLOAT);
        if ((found[done] = result) == NULL) goto failed;
        void *g = BYTES(gradient), *y = BYTES(result);
        if (done == 0 && kind) by_x_d(g, (double *)BYTES(W), y, N, M, K);
        else if (done == 0) by_x_f(g, (float *)BYTES(W), y, N, M, K);
        else if (done == 1 && kind) by_W_d(g, (double *)BYTES(x), y, N, M, K);
        else if (done == 1) by_W_f(g, (float *)BYTES(x), y, N, M, K);
        else if (kind) by_b_d(g, y, N, M);
        else by_b_f(g, y, N, M);
    }
    return 1;
failed:
    while (done-- > 0) Py_CLEAR(found[done]);
    PyErr_Clear();
    return 0;
}

/* The two kinds of nodes, without and with a bias; x and W are saved. */
static Op layers[2];

/* linear(class without bias, class with bias, x, W, b): a Variable, or None if the twin has to compute. */
PyObject *tape_linear(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 5) return PyErr_Format(PyExc_TypeError, "5 arguments expected");
    npy_intp N, M, K;
    int arrays = args[4] == Py_None ? 2 : 3;
    PyObject *edges[MOST_EDGES], *values[MOST_EDGES] = {NULL}, *prints = NULL;
    for (int i = 0; i < arrays; i++) {
        if (!PyObject_TypeCheck(args[2 + i], &PlaceType)) Py_RETURN_NONE;
        if ((values[i] = ((Place *)args[2 + i])->data) == NULL) Py_RETURN_NONE;
    }
    int kind = fitting(values[0], values[1], &N, &M, &K);
    if (kind < 0 || tape_watched() != 0 || PyDict_GET_SIZE(tape.exposed) != 0) Py_RETURN_NONE;
    if (arrays == 3 && (tape_kind(values[2]) != kind || AXES(values[2]) != 1 || SIZES(values[2])[0] != M))
        Py_RETURN_NONE;
    Op *op = layers + (arrays - 2);
    Py_ssize_t level;
    if (!tape_edges(op, args + 2, edges, &level, &prints)) Py_RETURN_NONE;
    PyObject *y = matrix(N, M, kind), *saved = y ? PyTuple_Pack(2, values[0], values[1]) : NULL;
    PyObject *tuple = saved ? PyTuple_New(arrays) : NULL;
    if (tuple == NULL) {
        Py_XDECREF(y);
        Py_XDECREF(saved);
        return NULL;
    }
    for (int i = 0; i < arrays; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(edges[i]));
    void *b = arrays == 3 ? BYTES(values[2]) : NULL;
    if (kind) rows_d((double *)BYTES(values[0]), (double *)BYTES(values[1]), b, (double *)BYTES(y), N, M, K);
    else rows_f((float *)BYTES(values[0]), (float *)BYTES(values[1]), b, (float *)BYTES(y), N, M, K);
    return tape_result((PyTypeObject *)args[arrays - 2], tuple, level, y, saved, NULL, Py_XNewRef(prints), op);
}

void tape_ready_linear(void) {
    for (int i = 0; i < 2; i++) {
        layers[i] = (Op){.arrays = 2 + i, .kept = {0, 1}, .kept_count = 2, .gradients_of = gradients};
    }
}
