/* The compiled tape: what stands in memory of Variables and of the nodes of ops, and the hot lines that use it.

   Each part has a twin in Python, which is the definition, and which computes whatever a part here declines:

       Place, Applied   minichainer/_tape.py: the attributes of Variables, of applied ops
       result_of        recorder.record, and record_several
       Op               functions/_call.py: the calls of ops; functions/_node.py: the pullbacks of elementwise ones
       linear_op        functions/connection/linear.py
       cross_entropy_op functions/loss/softmax_cross_entropy.py
       run              backprop.run
       update           optimizer/grouped.py: GroupedUpdate.update, for the first parameters of one group
       params           link/parameters.py: ParameterTree.params, and cleargrads

   The Python side chooses: minichainer/_tape.py. Nothing here raises an error of its own: a part that does not fit
   returns None, and the twin says what is wrong. Errors of an op's body in Python are handed on, and everywhere those
   that a second attempt might not meet again: Ctrl-C and other exits, and the end of memory or stack. */
#ifndef MINICHAINER_TAPE_H
#define MINICHAINER_TAPE_H
#include "loops.h"
#include <structmember.h>

/* A Variable: its array, and its node of the graph. */
typedef struct {
    PyObject_HEAD
    PyObject *data, *node, *view;
} Place;

typedef struct Op Op;

/* The node of an op of the package that has been applied. */
typedef struct {
    PyObject_HEAD
    PyObject *edges, *shape, *dtype, *saved, *fixed, *prints;
    Py_ssize_t level;
    Op *op; /* computes the gradients here; NULL if only `pullback` does */
} Applied;

enum { MOST_EDGES = 3, MOST_VALUES = 32, ONE_DTYPE = 1, ONE_SHAPE };

struct Op {
    PyObject_HEAD
    vectorcallfunc call;
    /* The result on the values, the first of which are arrays; NULL to leave it to the twin, or with an error of a body. */
    PyObject *(*compute)(Op *op, PyObject **values, int arrays);
    /* The gradients of the edges, NULL for those that are not wanted; 0 to leave them to the twin, as where this is NULL;
       -1: an error. */
    int (*gradients_of)(Op *op, PyObject *edges, PyObject *saved, PyObject *gradient, PyObject *wanted,
                        PyObject **found);
    PyTypeObject *node_class;
    int arrays, fixed; /* how many arguments are arrays, -1 for any number, and how many are others */
    int several; /* whether the result is a tuple of arrays */
    int makes; /* `compute` makes the values behind the arrays: what is fixed, and more to be saved */
    int kept[INPUTS], kept_count; /* what is saved: numbers of arguments, RESULT */
    int has_gradient[MOST_EDGES];
    Program forward, gradients[MOST_EDGES];
    PyObject *body, *names; /* NULL, or in place of programs the body in Python; NULL, or the names of what is fixed */
    int checks;             /* what the arrays of the body must have in common: ONE_DTYPE, ONE_SHAPE */
};

/* What the Python side gives by `install`. */
typedef struct {
    PyTypeObject *variable, *leaf, *output;
    PyObject *config, *exposed, *clock, *check, *at_outputs, *enter, *sum_of;
    Py_ssize_t guard, requires_grad, grad_value, loss_scale; /* offsets of slots of leaves */
} Installed;

extern Installed tape;
extern PyTypeObject PlaceType, AppliedType, OpType;
extern PyObject *tape_names[];
enum { NAME_PULLBACK, NAME_EDGES, NAME_PRINTS, NAME_FREE, NAME_LEVEL, NAME_TAKE, NAME_NONDEFAULT, NAME_UPDATE,
       NAME_UPDATE_RULE, NAME_ENABLED, NAME_HOOKS, NAME_FP32, NAME_T, NAME_TOKEN, NAME_HYPERPARAM, NAME_PARENT, NAME_STATE,
       NAME_DICT, NAME_OUTPUT_COUNT, NAME_OUTPUT_NODES, NAME_OUTPUT_KINDS, NAME_OWNERS, NAME_PARAMS, NAME_CLEARGRADS,
       NAME_CLEARGRAD, NAME_PARAMS_OF_LINK, NAME_CHILDREN, NAME_INITIALIZER, NAMES };

int tape_watched(void);                            /* -1: an error */
int tape_fails(void); /* 1 if an error must reach the user; others are cleared: the twin raises what there is to raise */
Py_ssize_t tape_level(PyObject *node);             /* -1: an error */
int tape_is_wanted(PyObject *edge, PyObject *wanted); /* -1: an error */
PyObject *tape_op(const Op *like); /* a new op; calls of it return None if the twin has to compute */
PyObject *tape_linear_op(PyObject *module, PyObject *args);
PyObject *tape_cross_entropy_op(PyObject *module, PyObject *args);
PyObject *tape_update(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *tape_params(PyObject *module, PyObject *link);
PyObject *tape_cleargrads(PyObject *module, PyObject *link);
PyObject *tape_install_links(PyObject *module, PyObject *args);
PyObject *tape_run(PyObject *module, PyObject *const *args, Py_ssize_t count);
#endif
