"""The compiled tape computes what its Python twins compute, bit for bit, and leaves to them what it does not fit."""

from __future__ import annotations

import copy
import gc
import itertools
import os
import pickle
import subprocess
import sys
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import _inplace
from minichainer._native import library
from minichainer.errors import InplaceWarning
from minichainer.functions._compiled import NAMES, compiled_op
from minichainer.functions._node import PrimitiveNode
from minichainer.functions.loss import softmax_cross_entropy
from minichainer.utils.type_check import InvalidType

needs_tape = pytest.mark.skipif(library.tape is None, reason='the compiled tape was not built')
VALUES = [0.5, -0.5, 0.0, -0.0, 2.0, 1e-3, -3.0, 7.25]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 1e-40]
OPS = {
    'Add': lambda x, z: x + z,
    'Sub': lambda x, z: x - z,
    'Mul': lambda x, z: x * z,
    'Div': lambda x, z: x / z,
    'AddConstant': lambda x, z: x + 0.1,
    'SubFromConstant': lambda x, z: 0.1 - x,
    'MulConstant': lambda x, z: x * 0.1,
    'DivFromConstant': lambda x, z: 0.1 / x,
    'Neg': lambda x, z: -x,
    'Absolute': lambda x, z: abs(x),
    'Exp': lambda x, z: F.exp(x),
    'Log': lambda x, z: F.log(x),
    'Sqrt': lambda x, z: F.sqrt(x),
    'Square': lambda x, z: F.square(x),
    'Tanh': lambda x, z: F.tanh(x),
    'ReLU': lambda x, z: F.relu(x),
    'Sin': lambda x, z: F.sin(x),
}


def by_the_twins() -> Any:
    """A setting that only Python code knows."""
    return chainer.using_config('check_inplace', 'error')


def step(call: Any, *arrays: Any, gy: Any = None) -> list[bytes]:
    """The bytes of the result and of the gradients of a call."""
    variables = [chainer.Variable(array) for array in arrays]
    y = call(*variables)
    y.grad = np.linspace(-1, 2, y._data.size).reshape(y.shape).astype(y.dtype) if gy is None else gy
    y.backward()
    assert all(x.grad is None or x.grad.shape == x.shape for x in variables)
    return [y.array.tobytes(), *[b'' if x.grad is None else x.grad.tobytes() for x in variables]]


@needs_tape
def test_each_op_is_compiled() -> None:
    assert set(OPS) == set(NAMES)
    assert all(callable(getattr(F, name)) for name in F.__all__)  # their modules load when they are asked for
    compiled = {cls.spec.name for cls in PrimitiveNode.__subclasses__() if compiled_op(cls.spec, cls) is not None}
    assert compiled == set(NAMES)


@pytest.mark.filterwarnings('ignore:.*encountered:RuntimeWarning')
@pytest.mark.parametrize('values', [VALUES, SPECIAL], ids=['plain', 'special'])
@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('shape', [(8,), (2, 4), (), (0, 3), (4096,), (4097,)], ids=str)
@pytest.mark.parametrize('name', OPS)
def test_an_op_is_equal_to_its_twin(name: str, shape: Any, dtype: str, values: list[float]) -> None:
    with np.errstate(over='ignore'):
        x = np.resize(np.array(values, dtype), shape)
        z = np.resize(np.array(values[3:] + values[:3], dtype), shape)
    found = step(OPS[name], x, z)
    with by_the_twins():
        expected = step(OPS[name], x, z)
    assert found == expected


LAYOUTS = {
    'transposed': lambda a: a.T,
    'with gaps': lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    'backwards': lambda a: a[::-1],
    'read-only': lambda a: np.broadcast_to(a, a.shape),
    'one row repeated': lambda a: np.broadcast_to(a[:1], a.shape),
    'another byte order': lambda a: a.astype('>f4'),
    'half precision': lambda a: a.astype('e'),
    'subclass': lambda a: a.view(type('Sub', (np.ndarray,), {})),
}


@pytest.mark.parametrize('layout', LAYOUTS)
@pytest.mark.parametrize('name', ['Mul', 'Tanh', 'MulConstant', 'ReLU'])
def test_other_arrays_are_left_to_the_twins(name: str, layout: str) -> None:
    x = LAYOUTS[layout](np.linspace(-1, 1, 9).astype('f').reshape(3, 3))
    found = step(OPS[name], x, x)
    with by_the_twins():
        assert found == step(OPS[name], x, x)


@pytest.mark.parametrize('shapes', [((3, 1), (1, 4)), ((4,), ()), ((2, 3), (3,))], ids=str)
def test_broadcasting(shapes: Any) -> None:
    arrays = [np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape).astype('f') for shape in shapes]
    found = step(OPS['Mul'], *arrays)
    with by_the_twins():
        assert found == step(OPS['Mul'], *arrays)


#: Rows, their length, and columns; on both sides of both thresholds.
SIZES = [
    (4, 8, 8), (0, 3, 2), (3, 0, 2), (2, 3, 0), (64, 64, 64), (65, 64, 64), (2, 128, 255), (2, 128, 256),
    (32, 64, 100), *itertools.product([1, 2, 7, 33], [1, 2, 5, 40], [1, 2, 3, 19]),
]  # fmt: skip


@pytest.mark.parametrize('bias', [False, True])
@pytest.mark.parametrize('dtype', 'fd')
@pytest.mark.parametrize('sizes', SIZES, ids=str)
def test_a_layer_is_equal_to_its_twin(sizes: tuple[int, int, int], dtype: str, bias: bool) -> None:
    rng, (n, depth, columns) = np.random.RandomState(0), sizes
    arrays = [rng.randn(*shape).astype(dtype) for shape in ((n, depth), (columns, depth), (columns,))]
    arrays = arrays if bias else arrays[:2]
    found = step(F.linear, *arrays)
    with by_the_twins():
        assert found == step(F.linear, *arrays)


def scores(n: int, classes: int, dtype: Any = 'f') -> Any:
    return np.random.RandomState(0).randn(n, classes).astype(dtype)


@pytest.mark.parametrize('labels', 'iqhB')
@pytest.mark.parametrize('dtype', 'fde')
@pytest.mark.parametrize('sizes', [(32, 10), (1, 1), (5, 3), (0, 3), (64, 64), (65, 64)], ids=str)
def test_cross_entropy_is_equal_to_its_twin(sizes: tuple[int, int], dtype: str, labels: str) -> None:
    x, t = scores(*sizes, dtype), (np.arange(sizes[0]) % sizes[1]).astype(labels)
    found = step(lambda x: F.softmax_cross_entropy(x, t), x, gy=np.asarray(1.5, dtype))
    with by_the_twins():
        assert found == step(lambda x: F.softmax_cross_entropy(x, t), x, gy=np.asarray(1.5, dtype))


LOSSES = {
    'ignored': (lambda t: t - 1, {}),
    'another label ignored': (lambda t: t, {'ignore_label': 2}),
    'none ignored': (lambda t: t, {'ignore_label': None}),
    'not normalized': (lambda t: t - 1, {'normalize': False}),
    'each sample': (lambda t: t, {'reduce': 'no'}),
    'weights': (lambda t: t, {'class_weight': np.array([1, 2, 3], 'f')}),
    'every second label': (lambda t: np.repeat(t, 2)[::2], {}),
    'another byte order': (lambda t: t.astype('>i4'), {}),
    'a Variable': (chainer.Variable, {}),
    'an array as ignore_label': (lambda t: t, {'ignore_label': np.array([-1, -1])}),
    'an array as reduce': (lambda t: t, {'reduce': np.array(['mean', 'mean'])}),
    'a flag that equals True': (lambda t: t, {'normalize': 1.0}),
    'a label that equals -1': (lambda t: t, {'ignore_label': -1.0}),
}


@pytest.mark.parametrize('name', LOSSES)
def test_other_losses_are_left_to_the_twin(name: str) -> None:
    change, options = LOSSES[name]
    x, t = scores(6, 3), change(np.arange(6, dtype='i') % 3)

    def outcome() -> Any:
        try:
            return step(lambda x: F.softmax_cross_entropy(x, t, **options), x)
        except (TypeError, ValueError) as error:
            return type(error), str(error)

    found = outcome()
    with by_the_twins():
        assert found == outcome()


@pytest.mark.parametrize('labels', [[0, 3], [0, -2], [0.5, 1], [[0, 1]]], ids=str)
def test_wrong_labels_are_errors(labels: Any) -> None:
    for t in (np.array(labels), labels):
        with pytest.raises((TypeError, ValueError, InvalidType), match=r'(?i)softmax_?cross_?entropy'):
            F.softmax_cross_entropy(scores(2, 3), t)


@pytest.fixture
def nothing_exposed() -> Iterator[None]:
    """No array that a user has read is alive, whatever other tests have left."""
    others = dict(_inplace.exposed)
    _inplace.exposed.clear()
    yield
    _inplace.exposed.update(others)


@needs_tape
@pytest.mark.usefixtures('nothing_exposed')
def test_the_loss_is_computed_here() -> None:
    """And its node has what the twin's has."""
    x, t = chainer.Variable(scores(4, 3)), np.array([0, 2, 1, 1], 'i')
    found = softmax_cross_entropy._compiled(x, chainer.as_variable(t)).creator
    with by_the_twins():
        expected = F.softmax_cross_entropy(x, t).creator
    for node in (found, expected):
        assert type(node.saved[1]).__name__ == 'Samples' and type(node.saved[2]).__name__ == 'Residual'
        assert node.static == (node.saved[1],) and node.saved[0] is x.array and node.saved[1].labels is t
        assert (node.shape, node.dtype, node.level, len(node.edges)) == ((), np.dtype('f'), 1, 2)
    assert found.saved[1].scale == expected.saved[1].scale == 0.25
    for name in ('top', 'others'):
        assert np.array_equal(getattr(found.saved[2], name), getattr(expected.saved[2], name))


@needs_tape
def test_what_users_do_with_the_node_of_a_loss() -> None:
    x, t = chainer.Variable(scores(4, 3)), np.array([0, 2, 1, 1], 'i')
    loss = F.softmax_cross_entropy(x, t)
    node = loss.creator
    node.saved = (node.saved[0], node.saved[1], (1, 2))  # not what it was: the twin says what is wrong
    with pytest.raises((TypeError, ValueError, AttributeError)):
        loss.backward()
    loss = F.softmax_cross_entropy(x, t)
    (gx,) = chainer.grad([loss], [x], enable_double_backprop=True)
    F.sum(gx * gx).backward()
    first = x.grad
    x.cleargrad()
    with by_the_twins():
        (gx,) = chainer.grad([F.softmax_cross_entropy(x, t)], [x], enable_double_backprop=True)
        F.sum(gx * gx).backward()
    assert np.array_equal(first, x.grad) and first.any()


def test_only_what_requires_a_gradient_gets_one() -> None:
    x, w = np.ones((2, 3), 'f'), chainer.Parameter(np.ones((4, 3), 'f'))
    constant = chainer.Variable(np.ones(4, 'f'), requires_grad=False)
    w.cleargrad()
    y = F.linear(x, w, constant)
    F.sum(y * y).backward()
    assert constant.grad is None and (w.grad == 16).all()
    assert not F.tanh(chainer.Variable(x, requires_grad=False)).requires_grad
    assert not F.linear(x, constant.array[:, None] * np.ones(3, 'f')).requires_grad


def test_grad_computes_what_is_asked_for() -> None:
    x, z = chainer.Variable(np.full(3, 2, 'f')), chainer.Variable(np.full(3, 5, 'f'))
    h = x * z
    (gh,) = chainer.grad([F.sum(h * h)], [h])
    (gx,) = chainer.grad([F.sum(h * h)], [x])
    assert (gh.array == 20).all() and (gx.array == 100).all() and x.grad is z.grad is None


def test_double_backprop_records_compiled_ops() -> None:
    x = chainer.Variable(np.array([0.3, -0.7], 'd'))
    (gx,) = chainer.grad([F.tanh(x)], [x], [chainer.Variable(np.ones(2))], enable_double_backprop=True)
    gx.grad = np.ones(2)
    gx.backward()
    t = np.tanh(x.array)
    np.testing.assert_allclose(x.grad, -2 * t * (1 - t * t), rtol=1e-12)


def test_a_variable_used_often_gets_the_sum() -> None:
    x = chainer.Variable(np.ones(3, 'f'))
    y = x + x
    for _ in range(5):
        y = y + x
    y.grad = given = np.ones(3, 'f')
    y.backward()
    assert (x.grad == 7).all() and (given == 1).all()
    assert x.grad is not given


@pytest.mark.parametrize('backward', [False, True])
def test_warnings_are_numpys(backward: bool) -> None:
    x = chainer.Variable(np.array([100.0, 1.0], 'f'))
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        y = F.exp(x * 0.5)
        if backward:
            y.grad = np.full(2, 3e38, 'f')
    with pytest.warns(RuntimeWarning, match='overflow'):
        y.backward() if backward else F.exp(x)
    with np.errstate(all='raise'), pytest.raises(FloatingPointError):
        y.backward(gradient=np.full(2, 3e38, 'f')) if backward else F.exp(x)
    with np.errstate(all='ignore'):
        y.backward(gradient=np.full(2, 3e38, 'f')) if backward else F.exp(x)


def test_modified_arrays_are_noticed() -> None:
    x = chainer.Variable(np.ones(3, 'f'))
    y = F.sum(x * x)
    x.array[...] = 2
    with pytest.warns(InplaceWarning):
        y.backward()
    h = F.tanh(chainer.Variable(np.ones(3, 'f')))
    y = F.sum(F.tanh(h))
    h.array[...] = 2
    with pytest.warns(InplaceWarning):
        y.backward()


def test_freed_arrays_are_an_error() -> None:
    y = F.tanh(chainer.Variable(np.ones(3, 'f')))
    y.backward(gradient=np.ones(3, 'f'), retain_graph=False)
    with pytest.raises(RuntimeError, match='retain_graph'):
        y.backward(gradient=np.ones(3, 'f'))


class Double(chainer.FunctionNode):
    """A user's function, with an attribute of its own that has a name of the package's."""

    level_of_detail = 'high'

    def __init__(self, fails: bool = False) -> None:
        self.fails, self.shape = fails, 'mine'

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs((0,))
        return (inputs[0] * 2,)

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        if self.fails:
            raise KeyError('mine')
        return (grad_outputs[0] * 2,)


def test_users_functions_between_compiled_ones() -> None:
    x = chainer.Variable(np.ones(3, 'f'))
    y = F.square(Double().apply((x * 3.0,))[0])
    y.grad = np.ones(3, 'f')
    y.backward()
    assert (x.grad == 72).all()
    assert y.creator.inputs[0].creator.level_of_detail == 'high'


def test_errors_in_a_pass_leave_gradients_as_they_were() -> None:
    x = chainer.Variable(np.ones(3, 'f'))
    y = F.square(Double(fails=True).apply((x * 3.0,))[0]) + x
    y.grad = np.ones(3, 'f')
    with pytest.raises(KeyError, match='mine') as caught:
        y.backward()
    assert x.grad is None
    assert caught.traceback[-1].name == 'backward' and caught.traceback[-1].path.name == 'test_compiled_tape.py'


def test_gradient_hooks() -> None:
    x = chainer.Variable(np.ones(3, 'f'))
    h = x * 3.0
    h.register_hook(lambda gradient: gradient * 10)
    F.sum(h).backward()
    assert (x.grad == 30).all()


class Subclass(chainer.Variable):
    """A user's class of Variables."""


def test_variables_are_objects_of_python() -> None:
    x: Any = Subclass(np.ones(3, 'f'), name='x')
    x.mine = {'any': 'thing'}
    y = F.exp(x)
    reference = weakref.ref(y)
    clone, restored = copy.deepcopy(x), pickle.loads(pickle.dumps(x))
    for found in (clone, restored):
        assert type(found) is Subclass and found.mine == x.mine and found.name == 'x' and (found.array == 1).all()
    node: Any = y.creator
    node.mine = 'on the node'
    assert y.creator.mine == 'on the node' and weakref.ref(node)() is node
    del y, node
    assert reference() is None


def test_a_node_can_be_applied_again() -> None:
    x = chainer.Variable(np.array([1.0, 2.0], 'f'))
    y = x * 3.0
    (again,) = y.creator.apply((chainer.Variable(np.array([5.0, 6.0], 'f')),))
    assert (again.array == [15, 18]).all() and again.creator is not y.creator
    again.backward(gradient=np.ones(2, 'f'))
    y.backward(gradient=np.ones(2, 'f'))
    assert (x.grad == 3).all()


def test_steps_leave_nothing_behind() -> None:
    def run() -> None:
        h = x
        for _ in range(10):
            h = F.relu(F.linear(F.tanh(h * 0.5 + x), w, b))
        h.grad = np.ones(h.shape, 'f')
        for variable in (x, w, b):
            variable.cleargrad()
        h.backward()

    def growth() -> Any:
        def counts() -> list[int]:
            return [*map(sys.getrefcount, (x._data, w._data, np.dtype('f'))), len(gc.get_objects())]

        run()
        gc.collect()
        before = counts()
        for _ in range(500):
            run()
        return np.subtract(counts(), before)

    x, w, b = [chainer.Variable(np.ones(shape, 'f')) for shape in ((2, 3), (3, 3), 3)]
    gc.disable()
    try:
        found = growth()
        with by_the_twins():
            of_the_twins = growth()
    finally:
        gc.enable()
    # What a step leaves behind, it leaves 500 times; other threads, such as the test runner's, make some objects. In
    # NumPy 2.5 each call of matmul leaves a reference to its dtype, so the twins may leave more of these.
    assert np.abs(found[[0, 1, 3]]).max() < 250
    assert -250 < found[2] < of_the_twins[2] + 250


def test_a_long_graph_is_freed() -> None:
    h = x = chainer.Variable(np.ones(2, 'f'))
    for _ in range(100_000):
        h = h + x
    del h
    assert x.grad is None


STATE = 'from minichainer._native import library; print(library.tape is not None, library.state)'
PICKLED = """
import pickle, sys, numpy as np, minichainer as chainer
if sys.argv[1] == 'write':
    x = chainer.Parameter(np.ones(3, 'f'), name='w'); x.mine = 1; x.grad = np.full(3, 2, 'f')
    sys.stdout.write(pickle.dumps(x).hex())
else:
    x = pickle.loads(bytes.fromhex(sys.argv[2]))
    print(x.name, x.mine, x.array.tolist(), x.grad.tolist())
"""


def output(program: str, *args: str, **variables: str) -> str:
    command = [sys.executable, '-c', program, *args]
    return subprocess.run(
        command, env={**os.environ, **variables}, text=True, stdout=subprocess.PIPE, check=True
    ).stdout


@pytest.mark.parametrize('name', ['MINICHAINER_PURE', 'MINICHAINER_TAPE'])
def test_the_environment_switches_it_off(name: str) -> None:
    found = output(STATE, **{name: '1' if name == 'MINICHAINER_PURE' else '0'})
    assert found.startswith('False') and '; tape' not in found


@pytest.mark.parametrize('writes', ['0', '1'])
def test_builds_read_the_pickles_of_each_other(writes: str) -> None:
    written = output(PICKLED, 'write', MINICHAINER_PURE=writes)
    read = output(PICKLED, 'read', written, MINICHAINER_PURE=str(1 - int(writes)))
    assert read == 'w 1 [1.0, 1.0, 1.0] [2.0, 2.0, 2.0]\n'
