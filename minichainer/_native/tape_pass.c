/* The ordinary backward pass over arrays that nothing watches. Twin: the loop of backprop.run. */
#include "tape.h"

/* The pass in progress; `ends`, `wanted` may be None. */
typedef struct {
    PyObject *buckets, *table, *owned, *wanted, *ends, *parts, *stored;
    int free;
} Pass;

static PyObject *attribute(PyObject *node, Py_ssize_t offset, int name) {
    if (!PyObject_TypeCheck(node, &AppliedType)) return PyObject_GetAttr(node, tape_names[name]);
    PyObject *value = *(PyObject **)((char *)node + offset);
    return Py_NewRef(value == NULL ? Py_None : value);
}

/* Twin of `buckets[edge.level].append(edge)`. */
static int schedule(Pass *pass, PyObject *edge) {
    Py_ssize_t level = tape_level(edge);
    PyObject *key = level < 0 ? NULL : PyLong_FromSsize_t(level);
    if (key == NULL) return -1;
    PyObject *bucket = PyDict_GetItemWithError(pass->buckets, key);
    int done = -1;
    if (bucket != NULL) done = PyList_Append(bucket, edge);
    else if (!PyErr_Occurred() && (bucket = PyList_New(1)) != NULL) {
        PyList_SET_ITEM(bucket, 0, Py_NewRef(edge));
        done = PyDict_SetItem(pass->buckets, key, bucket);
        Py_DECREF(bucket);
    }
    Py_DECREF(key);
    return done;
}

/* A first gradient has reached an edge. */
static int enter(Pass *pass, PyObject *edge) {
    if (Py_TYPE(edge) == tape.leaf) return 0;
    PyObject *edges = attribute(edge, offsetof(Applied, edges), NAME_EDGES);
    if (edges == NULL) return -1;
    int stays = edges == Py_None;
    Py_DECREF(edges);
    if (!stays && pass->ends != Py_None) stays = PySequence_Contains(pass->ends, edge);
    if (stays) return stays < 0 ? -1 : 0;
    if (Py_TYPE(edge) != tape.output) return schedule(pass, edge);
    PyObject *done = PyObject_CallFunctionObjArgs(tape.enter, edge, pass->table, pass->buckets, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

/* Another gradient has reached an edge: the second makes an array that the pass owns, later ones are added to it. */
static int add(Pass *pass, PyObject *edge, PyObject *present, PyObject *gx) {
    int owned = PySet_Contains(pass->owned, edge);
    if (owned < 0) return -1;
    PyObject *sum = loops_sum(present, gx, owned ? present : NULL);
    if (sum == NULL) {
        if (PyErr_Occurred()) return -1;
        sum = owned ? PyNumber_InPlaceAdd(present, gx)
                    : PyObject_CallFunctionObjArgs(tape.sum_of, present, gx, NULL);
    }
    int done = sum == NULL ? -1 : 0;
    if (!done && !owned) done = PyDict_SetItem(pass->table, edge, sum) < 0 ? -1 : PySet_Add(pass->owned, edge);
    Py_XDECREF(sum);
    return done;
}

static int hand_on(Pass *pass, PyObject *edge, PyObject *gx) {
    PyObject *present = PyDict_GetItemWithError(pass->table, edge);
    if (present != NULL && present != Py_None) {
        Py_INCREF(present);
        int done = add(pass, edge, present, gx);
        Py_DECREF(present);
        return done;
    }
    if (PyErr_Occurred() || PyDict_SetItem(pass->table, edge, gx) < 0) return -1;
    return enter(pass, edge);
}

/* Hands on what the node's own `pullback` returns. */
static int pull_back(Pass *pass, PyObject *node, PyObject *gradient, PyObject *edges) {
    PyObject *args[] = {node, gradient, pass->wanted, pass->parts};
    PyObject *found = PyObject_VectorcallMethod(tape_names[NAME_PULLBACK], args, 4, NULL);
    if (found == NULL) return -1;
    int done = 0;
    Py_ssize_t count = PyTuple_GET_SIZE(edges);
    for (Py_ssize_t i = 0; i < count && !done; i++) {
        PyObject *gx = PySequence_GetItem(found, i);
        if (gx == NULL) done = -1;
        else if (gx != Py_None) done = hand_on(pass, PyTuple_GET_ITEM(edges, i), gx);
        Py_XDECREF(gx);
    }
    Py_DECREF(found);
    return done;
}

static int step(Pass *pass, PyObject *node, PyObject *gradient) {
    PyObject *found[MOST_EDGES];
    PyObject *edges = attribute(node, offsetof(Applied, edges), NAME_EDGES);
    int done = -1, count = 0;
    if (edges == NULL || !PyTuple_Check(edges)) {
        if (edges != NULL) PyErr_SetString(PyExc_RuntimeError, "a node has been removed from the graph during a pass");
        Py_XDECREF(edges);
        return -1;
    }
    Op *own = PyObject_TypeCheck(node, &AppliedType) ? ((Applied *)node)->op : NULL;
    PyObject *saved = own ? Py_XNewRef(((Applied *)node)->saved) : NULL; /* another thread may free the node */
    if (saved != NULL && PyTuple_CheckExact(saved)) {
        count = own->arrays == PyTuple_GET_SIZE(edges) ? own->arrays : 0;
        if (count) count *= own->gradients_of(own, edges, saved, gradient, pass->wanted, found);
    }
    Py_XDECREF(saved);
    if (count < 0) done = -1;
    else if (count == 0) done = pull_back(pass, node, gradient, edges);
    else {
        done = 0;
        for (int i = 0; i < count; i++) {
            if (found[i] != NULL && !done) done = hand_on(pass, PyTuple_GET_ITEM(edges, i), found[i]);
            Py_XDECREF(found[i]);
        }
    }
    Py_DECREF(edges);
    return done;
}

static int check_prints(Pass *pass, PyObject *node) {
    PyObject *prints = attribute(node, offsetof(Applied, prints), NAME_PRINTS);
    if (prints == NULL) return -1;
    int fits = PyDict_GET_SIZE(tape.exposed) == 0 && (prints == Py_None || prints == PyList_GET_ITEM(tape.clock, 0));
    Py_DECREF(prints);
    if (fits) return 0;
    PyObject *done = PyObject_CallFunctionObjArgs(tape.check, node, Py_False, pass->wanted, Py_False, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static int visit(Pass *pass, PyObject *node) {
    PyObject *gradient = Py_XNewRef(PyDict_GetItemWithError(pass->table, node));
    if (gradient == NULL) return PyErr_Occurred() ? -1 : 0;
    int done = PyDict_DelItem(pass->table, node);
    if (gradient == tape.at_outputs && !done)
        Py_SETREF(gradient, PyObject_CallMethodObjArgs(node, tape_names[NAME_TAKE], pass->table, Py_None, pass->stored, NULL));
    if (gradient == NULL) return -1;
    if (gradient != Py_None && !done) {
        done = check_prints(pass, node) < 0 || step(pass, node, gradient) < 0 ? -1 : 0;
        PyObject *freed = pass->free && !done ? PyObject_CallMethodNoArgs(node, tape_names[NAME_FREE]) : NULL;
        if (pass->free && freed == NULL) done = -1;
        Py_XDECREF(freed);
    }
    Py_DECREF(gradient);
    return done;
}

/* The nodes of a level, taken out of the buckets: the highest if there is none at `*level`. */
static PyObject *take_bucket(Pass *pass, Py_ssize_t *level) {
    PyObject *key = PyLong_FromSsize_t(*level), *bucket = key ? PyDict_GetItemWithError(pass->buckets, key) : NULL;
    if (bucket == NULL && key != NULL && !PyErr_Occurred()) {
        PyObject *other, *nodes;
        Py_ssize_t place = 0;
        *level = -1;
        while (PyDict_Next(pass->buckets, &place, &other, &nodes)) {
            Py_ssize_t own = PyLong_AsSsize_t(other);
            if (own > *level) {
                *level = own;
                bucket = nodes;
            }
        }
        Py_SETREF(key, PyLong_FromSsize_t(*level));
    }
    Py_XINCREF(bucket);
    if (key != NULL && bucket != NULL && PyDict_DelItem(pass->buckets, key) < 0) Py_CLEAR(bucket);
    Py_XDECREF(key);
    return bucket;
}

/* run(buckets, table, owned, wanted, ends, free, parts, stored) */
PyObject *tape_run(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 8) return PyErr_Format(PyExc_TypeError, "8 arguments expected");
    Pass pass = {args[0], args[1], args[2], args[3], args[4], args[6], args[7], args[5] == Py_True};
    Py_ssize_t level = -1;
    while (PyDict_GET_SIZE(pass.buckets)) {
        PyObject *bucket = take_bucket(&pass, &level);
        if (bucket == NULL) return NULL;
        int done = PyErr_CheckSignals();
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(bucket) && !done; i++) done = visit(&pass, PyList_GET_ITEM(bucket, i));
        Py_DECREF(bucket);
        if (done) return NULL;
        level--;
    }
    Py_RETURN_NONE;
}
