/* Small arrays, computed by the inner loops of NumPy's own ufuncs, so that numbers are equal bit for bit to what NumPy
   computes; only what surrounds the loops is left out. Arrays in, arrays out: nothing here knows of Variables or nodes.
   Where a function returns NULL, there may be no error: then the arrays do not fit, or NumPy would warn. */
#ifndef MINICHAINER_LOOPS_H
#define MINICHAINER_LOOPS_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL minichainer_tape_arrays
#define PY_UFUNC_UNIQUE_SYMBOL minichainer_tape_ufuncs
#ifndef LOOPS_IMPORTS
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#define ARRAY(object) ((PyArrayObject *)(object))

enum { MOST_STEPS = 6, INPUTS = 8, CONSTANTS = 4, RESULT = INPUTS + CONSTANTS };

/* The inner loops of a ufunc, for float and for double. Operands are numbered: inputs, constants, RESULT. */
typedef struct {
    PyUFuncGenericFunction loop[2];
    void *data[2];
    int a, b; /* b is -1 for a function of one array */
} Step;

/* Steps that follow one another in the memory of the result. */
typedef struct {
    int count;
    Step steps[MOST_STEPS];
    double constants[CONSTANTS];
} Program;

int loops_ready(void);
int loops_kind(PyObject *array); /* 0: float, 1: double; -1: not a small plain array */
int loops_read(PyObject *given, Program *program);
PyObject *loops_run(const Program *program, PyObject *const *inputs, int count, int arrays);
PyObject *loops_sum(PyObject *a, PyObject *b, PyObject *into);
int loops_is_plain(PyObject *object, int axes); /* whether it is contiguous, of float or double; of any size */
PyObject *loops_product(PyObject *a, int transposes_a, PyObject *b, int transposes_b);
PyObject *loops_sum_of_rows(PyObject *matrix);
void loops_add_row(PyObject *matrix, PyObject *row);
PyObject *loops_shape_and_dtype(PyObject *array);
int loops_have_in_common(PyObject *const *arrays, int count, int one_dtype, int one_shape);
int loops_are_of_small_layer(PyObject *x, PyObject *W, PyObject *b, PyObject *y);
int loops_are_scores(PyObject *x, PyObject *labels);
int loops_are_in_range(PyObject *labels, npy_intp classes);
#endif
