/* The Python side of the compiled kernels: a module whose attributes are kernels, chosen for this processor.

   A kernel is called with its arrays, sizes and numbers in the order of its signature (kernels.h). It returns True,
   or False without computing if an array is not what the signature says: another type or byte order, not contiguous,
   not aligned, read-only where it is written; kernels with '!' also if an element is not what they take, and then what
   they have written has no meaning. So callers need not look. Arrays are taken by the buffer protocol; no
   header of NumPy is needed, and one build serves every version of it. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "kernels.h"

enum { MOST_ARRAYS = 24, MOST_SIZES = 24, MOST_NUMBERS = 12 };
#if defined(__VERSION__)
#define COMPILER __VERSION__
#else
#define COMPILER "unknown"
#endif

/* From how many bytes on other threads may run meanwhile: to let them costs a tenth of a microsecond. */
enum { LARGE = 1 << 16 };

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    const kernel_row *row;
    int arrays, read, sizes, numbers, is_elementwise, may_decline;
    char types[MOST_ARRAYS], optional[MOST_ARRAYS];
} Kernel;

typedef struct {
    Py_buffer views[MOST_ARRAYS];
    char *memory[MOST_ARRAYS + 1];
    isize sizes[MOST_SIZES];
    double numbers[MOST_NUMBERS];
    int count;   /* views to be released */
    isize bytes; /* the largest array */
    char type;   /* what T is in this call; 0 if not known yet */
} Call;

static int is_number_of(const char *format, isize size, char type) {
    if (format == NULL || format[0] == 0 || format[1] != 0) return 0;
    switch (type) {
        case 'i': return size == 4 && (format[0] == 'i' || format[0] == 'l');
        case 'l': return size == 8 && (format[0] == 'l' || format[0] == 'q');
        case 'B': return format[0] == 'B' || format[0] == '?';
        default: return format[0] == type;
    }
}

/* Whether an array has no gaps, in some order of its axes. */
static int is_dense(const Py_buffer *view) {
    if (PyBuffer_IsContiguous(view, 'A')) return 1;
    isize step = view->itemsize;
    for (int done = 0, axis = 0; done < view->ndim; done++) {
        while (axis < view->ndim && (view->strides[axis] != step || view->shape[axis] == 1)) axis++;
        if (axis == view->ndim) break;
        step *= view->shape[axis];
        axis = 0;
    }
    return step == view->len;
}

/* Whether the elements of two arrays without gaps lie in the same order. */
static int lie_alike(const Py_buffer *a, const Py_buffer *b) {
    if (a->ndim != b->ndim) return 0;
    for (int k = 0; k < a->ndim; k++) {
        if (a->shape[k] != b->shape[k]) return 0;
        if (a->shape[k] > 1 && a->strides[k] / a->itemsize != b->strides[k] / b->itemsize) return 0;
    }
    return 1;
}

static int is_laid_out(const Kernel *kernel, Call *call, const Py_buffer *view) {
    if (!kernel->is_elementwise) return PyBuffer_IsContiguous(view, 'C');
    if (view != call->views) return lie_alike(call->views, view);
    call->sizes[0] = view->len / view->itemsize;
    return is_dense(view);
}

/* Takes an array: 1 if it fits, 0 if not, -1 after an error. */
static int take(Kernel *kernel, Call *call, int k, PyObject *array) {
    Py_buffer *view = &call->views[call->count];
    const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (k < kernel->read ? 0 : PyBUF_WRITABLE);
    call->memory[k] = NULL;
    if (array == Py_None && kernel->optional[k]) return 1;
    if (PyObject_GetBuffer(array, view, flags) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_BufferError)) return -1;
        PyErr_Clear();
        return 0;
    }
    call->count++;
    char type = kernel->types[k];
    if (type == 'T') {
        if (!call->type) call->type = view->format && view->format[0] == 'd' ? 'd' : 'f';
        type = call->type;
    }
    call->memory[k] = view->buf;
    if (view->len > call->bytes) call->bytes = view->len;
    return is_number_of(view->format, view->itemsize, type) && is_laid_out(kernel, call, view) &&
           (uintptr_t)view->buf % (uintptr_t)view->itemsize == 0;
}

static int take_numbers(Kernel *kernel, Call *call, PyObject *const *args) {
    isize *sizes = call->sizes + kernel->is_elementwise;
    for (int k = 0; k < kernel->sizes; k++) {
        sizes[k] = PyLong_AsSsize_t(args[k]);
        if (sizes[k] == -1 && PyErr_Occurred()) return -1;
    }
    for (int k = 0; k < kernel->numbers; k++) {
        call->numbers[k] = PyFloat_AsDouble(args[kernel->sizes + k]);
        if (call->numbers[k] == -1 && PyErr_Occurred()) return -1;
    }
    return 1;
}

static int compute(Kernel *kernel, Call *call) {
    kernel_function run = call->type == 'd' ? kernel->row->twice : kernel->row->single;
    unsigned char fits = 1;
    if (run == NULL) return 0;
    if (kernel->may_decline) call->memory[kernel->arrays] = (char *)&fits;
    if (call->bytes < LARGE) {
        run(call->memory, call->sizes, call->numbers);
    } else {
        Py_BEGIN_ALLOW_THREADS run(call->memory, call->sizes, call->numbers);
        Py_END_ALLOW_THREADS
    }
    return fits;
}

static PyObject *kernel_call(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names) {
    Kernel *kernel = (Kernel *)self;
    Call call;
    const int expected = kernel->arrays + kernel->sizes + kernel->numbers;
    call.count = call.type = 0;
    call.bytes = 0;
    if (PyVectorcall_NARGS(nargs) != expected || names != NULL) {
        return PyErr_Format(PyExc_TypeError, "%s: expected %d arguments by position (%s), got %zd", kernel->row->name,
                            expected, kernel->row->signature, PyVectorcall_NARGS(nargs));
    }
    int done = 1;
    for (int k = 0; k < kernel->arrays && done > 0; k++) done = take(kernel, &call, k, args[k]);
    if (done > 0) done = take_numbers(kernel, &call, args + kernel->arrays);
    if (done > 0) done = compute(kernel, &call);
    while (call.count) PyBuffer_Release(&call.views[--call.count]);
    return done < 0 ? NULL : PyBool_FromLong(done);
}

/* Reads a signature; what is wrong with it is a fault of this folder and found when it is built. */
static int read_signature(Kernel *kernel, const char *letter) {
    int written = 0;
    if (*letter == '=') {
        kernel->is_elementwise = 1;
        letter++;
    }
    for (; *letter && *letter != ':'; letter++) {
        if (*letter == '>') {
            kernel->read = kernel->arrays;
            written = 1;
        } else if (*letter == '?') {
            kernel->optional[kernel->arrays - 1] = 1;
        } else if (*letter == '!') {
            kernel->may_decline = 1;
        } else {
            if (kernel->arrays == MOST_ARRAYS) return -1;
            kernel->types[kernel->arrays++] = *letter;
        }
    }
    for (; *letter; letter++) {
        kernel->sizes += *letter == 'n';
        kernel->numbers += *letter == 's';
    }
    return written && kernel->sizes < MOST_SIZES && kernel->numbers <= MOST_NUMBERS ? 0 : -1;
}

static PyObject *kernel_repr(PyObject *self) {
    const kernel_row *row = ((Kernel *)self)->row;
    return PyUnicode_FromFormat("<compiled kernel %s %s>", row->name, row->signature);
}

static PyObject *kernel_signature(PyObject *self, void *closure) {
    (void)closure;
    return PyUnicode_FromString(((Kernel *)self)->row->signature);
}

static PyObject *kernel_types(PyObject *self, void *closure) {
    (void)closure;
    return PyUnicode_FromString(((Kernel *)self)->row->twice ? "fd" : "f");
}

static PyGetSetDef kernel_attributes[] = {
    {"signature", kernel_signature, NULL, "the arrays, sizes and numbers that it takes", NULL},
    {"types", kernel_types, NULL, "the types for which it is compiled", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Kernel, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static void kernel_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyType_Slot kernel_slots[] = {
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_repr, kernel_repr},     {Py_tp_getset, kernel_attributes},
    {Py_tp_members, kernel_members}, {Py_tp_dealloc, kernel_free}, {0, NULL},
};

static PyType_Spec kernel_spec = {
    .name = "minichainer._native._compiled.Kernel",
    .basicsize = sizeof(Kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = kernel_slots,
};

/* --- levels --- */

static int has_avx2(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

static int has_avx512(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
#else
    return 0;
#endif
}

static const struct {
    const char *name;
    const kernel_row *table;
    int (*is_there)(void);
} levels[] = {{"avx512", kernels_avx512, has_avx512}, {"avx2", kernels_avx2, has_avx2},
              {"baseline", kernels_baseline, NULL}};
enum { LEVELS = sizeof levels / sizeof *levels };

static PyObject *levels_here(PyObject *module, PyObject *unused) {
    PyObject *names = PyList_New(0);
    (void)module, (void)unused;
    for (int k = 0; names && k < LEVELS; k++) {
        if (levels[k].is_there && !levels[k].is_there()) continue;
        PyObject *name = PyUnicode_FromString(levels[k].name);
        if (!name || PyList_Append(names, name) < 0) Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static int add_kernel(PyObject *kernels, PyTypeObject *type, const kernel_row *row) {
    Kernel *kernel = (Kernel *)PyType_GenericAlloc(type, 0);
    if (!kernel) return -1;
    kernel->call = kernel_call;
    kernel->row = row;
    int status = read_signature(kernel, row->signature);
    if (status < 0) PyErr_Format(PyExc_SystemError, "%s: wrong signature %s", row->name, row->signature);
    if (status == 0) status = PyDict_SetItemString(kernels, row->name, (PyObject *)kernel);
    Py_DECREF(kernel);
    return status;
}

static PyObject *kernels_of(PyObject *module, PyObject *name) {
    const char *wanted = PyUnicode_AsUTF8(name);
    PyObject *type = PyObject_GetAttrString(module, "Kernel"), *kernels = PyDict_New();
    int status = wanted && type && kernels ? 1 : -1;
    for (int k = 0; status > 0 && k < LEVELS; k++) {
        if (strcmp(wanted, levels[k].name) != 0 || (levels[k].is_there && !levels[k].is_there())) continue;
        status = 0;
        for (const kernel_row *row = levels[k].table; row->name && status == 0; row++)
            status = add_kernel(kernels, (PyTypeObject *)type, row);
        break;
    }
    if (status > 0) PyErr_Format(PyExc_ValueError, "expected a level of this processor, got '%s'", wanted);
    Py_XDECREF(type);
    if (status != 0) Py_CLEAR(kernels);
    return kernels;
}

static PyMethodDef functions[] = {
    {"levels", levels_here, METH_NOARGS, "The levels that this processor has, the best one first."},
    {"kernels", kernels_of, METH_O, "The kernels of a level, by name."},
    {NULL, NULL, 0, NULL},
};

static int fill(PyObject *module) {
    PyObject *type = PyType_FromSpec(&kernel_spec);
    if (!type) return -1;
    int status = PyModule_AddObjectRef(module, "Kernel", type);
    Py_DECREF(type);
    return status < 0 ? -1 : PyModule_AddStringConstant(module, "compiler", COMPILER);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_compiled", "Compiled kernels.", 0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModuleDef_Init(&definition); }
