#include <fenv.h>

#define LOOPS_IMPORTS
#include "loops.h"

enum { NOTICED = FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID, SMALL = 4096 };

static PyArray_Descr *types[2];
static Step addition, multiplication; /* of matrices */
static PyObject *ones[2];             /* as many as the last float and double matrix had rows */

static int kind_of(PyArrayObject *array) {
    return PyArray_DESCR(array) == types[0] ? 0 : PyArray_DESCR(array) == types[1] ? 1 : -1;
}

int loops_is_plain(PyObject *object, int axes) {
    if (Py_TYPE(object) != &PyArray_Type || PyArray_NDIM(ARRAY(object)) != axes) return 0;
    return kind_of(ARRAY(object)) >= 0 && PyArray_ISCARRAY_RO(ARRAY(object));
}

int loops_kind(PyObject *object) {
    if (Py_TYPE(object) != &PyArray_Type) return -1;
    return PyArray_ISCARRAY_RO(ARRAY(object)) && PyArray_SIZE(ARRAY(object)) <= SMALL ? kind_of(ARRAY(object)) : -1;
}

PyObject *loops_shape_and_dtype(PyObject *array) {
    PyObject *shape = PyArray_IntTupleFromIntp(PyArray_NDIM(ARRAY(array)), PyArray_DIMS(ARRAY(array)));
    return Py_BuildValue("NO", shape, PyArray_DESCR(ARRAY(array)));
}

/* Whether these are NumPy's own arrays, if wanted of float or all of double, and of one shape. */
int loops_have_in_common(PyObject *const *arrays, int count, int one_dtype, int one_shape) {
    for (int i = 0; i < count; i++) {
        PyArrayObject *first = ARRAY(arrays[0]), *array = ARRAY(arrays[i]);
        if (Py_TYPE(array) != &PyArray_Type) return 0;
        if (one_dtype && (kind_of(array) < 0 || PyArray_DESCR(array) != PyArray_DESCR(first))) return 0;
        if (one_shape && !PyArray_SAMESHAPE(array, first)) return 0;
    }
    return 1;
}

/* --- programs --- */
/* Runs a program on n elements; 0 if NumPy would notice an overflow or an invalid value. */
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
    return !fetestexcept(NOTICED);
}

/* Whether an operand is of the shape of `model`, or a number. */
static int is_operand(PyObject *value, PyArrayObject *model, int kind, char **memory, npy_intp *stride) {
    if (loops_kind(value) != kind) return 0;
    if (PyArray_SAMESHAPE(ARRAY(value), model)) *stride = kind ? 8 : 4;
    else if (PyArray_NDIM(ARRAY(value)) == 0) *stride = 0;
    else return 0;
    *memory = PyArray_BYTES(ARRAY(value));
    return 1;
}

/* The result, of the shape of the first `arrays` inputs; others are of that shape too, or numbers, or are not read. */
PyObject *loops_run(const Program *program, PyObject *const *inputs, int count, int arrays) {
    char *memory[INPUTS];
    npy_intp strides[INPUTS];
    int kind = loops_kind(inputs[0]);
    PyArrayObject *model = ARRAY(inputs[0]);
    if (kind < 0 || program->count == 0) return NULL;
    for (int i = 0; i < count; i++)
        if (!is_operand(inputs[i], model, kind, memory + i, strides + i)) memory[i] = NULL;
    for (int i = 1; i < arrays; i++)
        if (memory[i] == NULL || !PyArray_SAMESHAPE(ARRAY(inputs[i]), model)) return NULL;
    for (const Step *step = program->steps; step < program->steps + program->count; step++)
        if ((step->a < count && memory[step->a] == NULL) || (step->b >= 0 && step->b < count && memory[step->b] == NULL))
            return NULL;
    PyObject *y = PyArray_SimpleNew(PyArray_NDIM(model), PyArray_DIMS(model), kind ? NPY_DOUBLE : NPY_FLOAT);
    if (y != NULL && !execute(program, kind, memory, strides, PyArray_SIZE(model), PyArray_BYTES(ARRAY(y)))) Py_CLEAR(y);
    return y;
}

/* Finds the inner loops of a ufunc of so many arrays: all operands float, all double; 0 if there are none. */
static int find(PyObject *object, int inputs, Step *step) {
    PyUFuncObject *ufunc = (PyUFuncObject *)object;
    if (Py_TYPE(object) != &PyUFunc_Type || ufunc->nin != inputs || ufunc->nout != 1) return 0;
    step->loop[0] = step->loop[1] = NULL;
    for (int i = 0; i < ufunc->ntypes; i++) {
        const char *operands = ufunc->types + ufunc->nargs * i;
        int kind = operands[0] == NPY_FLOAT ? 0 : operands[0] == NPY_DOUBLE ? 1 : -1;
        for (int k = 1; k < ufunc->nargs; k++)
            if (operands[k] != operands[0]) kind = -1;
        if (kind < 0 || step->loop[kind] != NULL) continue;
        step->loop[kind] = ufunc->functions[i];
        step->data[kind] = (void *)(ufunc->data ? ufunc->data[i] : NULL);
    }
    return step->loop[0] != NULL && step->loop[1] != NULL;
}

/* A program from ([(ufunc, a, b), ...], [constant, ...]); -1 and an error if these loops cannot run it. */
int loops_read(PyObject *given, Program *program) {
    PyObject *steps, *constants;
    if (!PyArg_ParseTuple(given, "O!O!", &PyList_Type, &steps, &PyList_Type, &constants)) return -1;
    program->count = (int)PyList_GET_SIZE(steps);
    if (program->count > MOST_STEPS || PyList_GET_SIZE(constants) > CONSTANTS) goto misfit;
    for (int i = 0; i < program->count; i++) {
        PyObject *ufunc;
        Step *step = program->steps + i;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(steps, i), "Oii", &ufunc, &step->a, &step->b)) return -1;
        if (!find(ufunc, step->b < 0 ? 1 : 2, step)) goto misfit;
        if (step->a < 0 || step->a > RESULT || step->b > RESULT) goto misfit;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(constants); i++)
        program->constants[i] = PyFloat_AsDouble(PyList_GET_ITEM(constants, i));
    return PyErr_Occurred() ? -1 : 0;
misfit:
    PyErr_SetString(PyExc_ValueError, "a program that the compiled tape does not run");
    return -1;
}

/* a + b, as a new array or added to `into`. */
PyObject *loops_sum(PyObject *a, PyObject *b, PyObject *into) {
    int kind = loops_kind(a);
    if (kind < 0 || loops_kind(b) != kind || (into != NULL && !PyArray_ISWRITEABLE(ARRAY(into)))) return NULL;
    if (!PyArray_SAMESHAPE(ARRAY(a), ARRAY(b))) return NULL;
    npy_intp n = PyArray_SIZE(ARRAY(a)), size = kind ? 8 : 4, steps[3] = {size, size, size};
    if (into == NULL) into = PyArray_SimpleNew(PyArray_NDIM(ARRAY(a)), PyArray_DIMS(ARRAY(a)), kind ? NPY_DOUBLE : NPY_FLOAT);
    else Py_INCREF(into);
    if (into == NULL) return NULL;
    char *memory[3] = {PyArray_BYTES(ARRAY(a)), PyArray_BYTES(ARRAY(b)), PyArray_BYTES(ARRAY(into))};
    addition.loop[kind](memory, &n, steps, addition.data[kind]);
    return into;
}

/* --- matrices, float or double, contiguous --- */
/* The elements of a matrix or of its transpose, or of a row: sizes, and bytes from one to the next. */
typedef struct {
    char *memory;
    npy_intp size[2], step[2];
} View;

static View view_of(PyObject *array, int transposed) {
    int is_matrix = PyArray_NDIM(ARRAY(array)) == 2;
    npy_intp rows = is_matrix ? PyArray_DIM(ARRAY(array), 0) : 1, columns = PyArray_DIM(ARRAY(array), is_matrix);
    npy_intp next = PyArray_ITEMSIZE(ARRAY(array)), below = columns * next;
    if (transposed) return (View){PyArray_BYTES(ARRAY(array)), {columns, rows}, {next, below}};
    return (View){PyArray_BYTES(ARRAY(array)), {rows, columns}, {below, next}};
}

/* Writes a product to an array. */
static void multiply(View a, View b, PyObject *y) {
    View to = view_of(y, 0);
    int kind = PyArray_ITEMSIZE(ARRAY(y)) == 8;
    char *memory[3] = {a.memory, b.memory, to.memory};
    npy_intp sizes[4] = {1, a.size[0], a.size[1], b.size[1]};
    npy_intp steps[9] = {0, 0, 0, a.step[0], a.step[1], b.step[0], b.step[1], to.step[0], to.step[1]};
    multiplication.loop[kind](memory, sizes, steps, multiplication.data[kind]);
}

static npy_intp size(PyObject *array, int axis) { return PyArray_DIM(ARRAY(array), axis); }

/* Whether an array has the dtype of x and these axes; the second is not looked at if there is one. */
static int is_like(PyObject *x, PyObject *array, int axes, npy_intp rows, npy_intp columns) {
    return loops_is_plain(array, axes) && PyArray_DESCR(ARRAY(array)) == PyArray_DESCR(ARRAY(x)) &&
           size(array, 0) == rows && (axes == 1 || size(array, 1) == columns);
}

/* Larger layers gain nothing here. functions/connection/linear.py knows how to multiply them in fewer operations, and
   collects the gradients of weights that are used many times (`_MANY`). */
enum { MOST_PRODUCTS = 1 << 18, MOST_WEIGHTS = 1 << 15 };

/* Whether x and W are float matrices of a small layer, b its bias and y its result, which may be NULL. */
int loops_are_of_small_layer(PyObject *x, PyObject *W, PyObject *b, PyObject *y) {
    return loops_is_plain(x, 2) && loops_is_plain(W, 2) && is_like(x, W, 2, size(W, 0), size(x, 1)) &&
           PyArray_SIZE(ARRAY(W)) < MOST_WEIGHTS && size(x, 0) * PyArray_SIZE(ARRAY(W)) <= MOST_PRODUCTS &&
           (b == NULL || is_like(x, b, 1, size(W, 0), 0)) && (y == NULL || is_like(x, y, 2, size(x, 0), size(W, 0)));
}

/* The product of matrices or their transposes. */
PyObject *loops_product(PyObject *a, int transposes_a, PyObject *b, int transposes_b) {
    View x = view_of(a, transposes_a), z = view_of(b, transposes_b);
    npy_intp size[2] = {x.size[0], z.size[1]};
    PyObject *y = PyArray_SimpleNew(2, size, PyArray_TYPE(ARRAY(a)));
    if (y != NULL) multiply(x, z, y);
    return y;
}

/* The product with a row of ones, as in kernels/affine.py. */
PyObject *loops_sum_of_rows(PyObject *matrix) {
    int type = PyArray_TYPE(ARRAY(matrix)), kind = type == NPY_DOUBLE;
    npy_intp *size = PyArray_DIMS(ARRAY(matrix));
    PyObject *sum = PyArray_SimpleNew(1, size + 1, type);
    if (ones[kind] == NULL || PyArray_DIM(ARRAY(ones[kind]), 0) != size[0]) {
        PyObject *row = PyArray_SimpleNew(1, size, type);
        for (npy_intp i = 0; row != NULL && i < size[0]; i++)
            if (kind) ((double *)PyArray_DATA(ARRAY(row)))[i] = 1;
            else ((float *)PyArray_DATA(ARRAY(row)))[i] = 1;
        Py_XSETREF(ones[kind], row);
    }
    if (sum != NULL && ones[kind] != NULL) multiply(view_of(ones[kind], 0), view_of(matrix, 0), sum);
    else Py_CLEAR(sum);
    return sum;
}

void loops_add_row(PyObject *matrix, PyObject *row) {
    float *y = PyArray_DATA(ARRAY(matrix));
    double *z = PyArray_DATA(ARRAY(matrix));
    const float *b = PyArray_DATA(ARRAY(row));
    const double *c = PyArray_DATA(ARRAY(row));
    npy_intp rows = PyArray_DIM(ARRAY(matrix), 0), columns = PyArray_DIM(ARRAY(matrix), 1);
    for (npy_intp i = 0; i < rows; i++)
        for (npy_intp j = 0; j < columns; j++)
            if (PyArray_ITEMSIZE(ARRAY(row)) == 8) z[i * columns + j] += c[j];
            else y[i * columns + j] += b[j];
}

/* Whether these are float scores (N, C) and whole numbers (N). */
int loops_are_scores(PyObject *x, PyObject *t) {
    if (loops_kind(x) < 0 || PyArray_NDIM(ARRAY(x)) != 2 || PyArray_SIZE(ARRAY(x)) == 0) return 0;
    if (Py_TYPE(t) != &PyArray_Type || PyArray_NDIM(ARRAY(t)) != 1 || !PyArray_ISCARRAY_RO(ARRAY(t))) return 0;
    if (!PyArray_ISSIGNED(ARRAY(t)) || (PyArray_ITEMSIZE(ARRAY(t)) != 4 && PyArray_ITEMSIZE(ARRAY(t)) != 8)) return 0;
    return PyArray_DIM(ARRAY(t), 0) == PyArray_DIM(ARRAY(x), 0);
}

/* Whether signed numbers of 32 or 64 bits, contiguous, are labels of so many classes. */
int loops_are_in_range(PyObject *t, npy_intp classes) {
    npy_intp n = PyArray_SIZE(ARRAY(t));
    const npy_int32 *narrow = PyArray_DATA(ARRAY(t));
    const npy_int64 *wide = PyArray_DATA(ARRAY(t));
    for (npy_intp i = 0; i < n; i++) {
        npy_int64 label = PyArray_ITEMSIZE(ARRAY(t)) == 4 ? narrow[i] : wide[i];
        if (label < 0 || label >= classes) return 0;
    }
    return 1;
}

/* Finds the loops that are not of programs; -1 and an error if NumPy keeps them elsewhere. */
int loops_ready(void) {
    if (_import_array() < 0 || _import_umath() < 0) return -1;
    types[0] = PyArray_DescrFromType(NPY_FLOAT);
    types[1] = PyArray_DescrFromType(NPY_DOUBLE);
    PyObject *numpy = PyImport_ImportModule("numpy"); /* what is taken from it lives as long as the process */
    PyObject *add = numpy ? PyObject_GetAttrString(numpy, "add") : NULL;
    PyObject *matmul = add ? PyObject_GetAttrString(numpy, "matmul") : NULL;
    Py_XDECREF(numpy);
    if (matmul != NULL && find(add, 2, &addition) && find(matmul, 2, &multiplication)) return 0;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ImportError, "this NumPy keeps its inner loops elsewhere");
    return -1;
}
