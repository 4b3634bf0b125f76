"""Arrays of the other byte order, as idx, FITS and HDF5 files bring them, are converted once, at every door."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import autograd, serializers, utils
from minichainer.backends import cuda
from minichainer.gradient_check import check_backward, check_double_backward, check_gradients, gradcheck
from tests.functions.checks import outputs_of, upstream_of
from tests.functions.over_cases import over_cases
from tests.functions.row import Case, Row
from tests.functions.table import CASES


def swapped(array: Any) -> Any:
    """The same numbers in the other byte order."""
    return array.astype(array.dtype.newbyteorder()) if isinstance(array, np.ndarray) else array


def equal(found: Any, expected: Any, what: str = '') -> None:
    assert found.dtype.isnative and found.dtype == expected.dtype, what
    np.testing.assert_array_equal(found, expected, err_msg=what)


def flat(results: Any) -> Iterator[Any]:
    """The results of a function in nested lists and tuples."""
    for result in outputs_of(results):
        if isinstance(result, (list, tuple)):
            yield from flat(result)
        else:
            yield result


def array_of(value: Any) -> Any:
    return getattr(value, 'array', value)


X = np.array([[1.5, -2.0, 3.25], [0.5, 7.0, -1.0]], 'f')


# --- every function ---
# Arrays are converted before anything looks at what else a case has.
@over_cases([(row, case) for _, row, case in CASES], is_later=lambda row, number: number > 0)
@pytest.mark.parametrize('dtype', ['f', pytest.param('d', marks=pytest.mark.slow)])
def test_every_row(row: Row, case: Case, dtype: str) -> None:
    arrays = row.draw(case, dtype)
    places = [i for i, d in enumerate(row.domains) if d.is_variable]

    def results(arrays: list[Any], of: Callable[[Any], Any] = chainer.Variable) -> tuple[list[Any], list[Any]]:
        values = [of(a) if i in places else a for i, a in enumerate(arrays)]
        np.random.seed(0)
        return list(flat(row.call(*values, **case.params))), [values[i] for i in places]

    (expected, xs), (found, others) = results(arrays), results([*map(swapped, arrays)])
    for y, z in zip(found, expected, strict=True):
        equal(array_of(y), array_of(z), 'with Variables')
    if not all(isinstance(y, chainer.Variable) for y in expected):
        return
    gys = upstream_of(lambda *_: expected, ())
    for x in (*xs, *others):
        x.cleargrad()
    for ys, upstream in ((expected, gys), (found, [*map(swapped, gys)])):
        for y, gy in zip(ys, upstream, strict=True):
            y.grad = gy
        if any(y.requires_grad for y in ys):
            chainer.backward([y for y in ys if y.requires_grad])
    for x, other in zip(xs, others, strict=True):
        assert (x.grad is None) == (other.grad is None)
        if x.grad is not None:
            equal(other.grad, x.grad, 'a gradient')
    if row.name == 'argmax_crf1d':
        return  # the row itself needs Variables
    raw, _ = results([*map(swapped, arrays)], lambda a: a)
    for y, z in zip(raw, expected, strict=True):
        if isinstance(y, chainer.Variable):  # NumPy's own operators and methods give arrays
            equal(y.array, z.array, 'with arrays')


# --- every door ---
def _set(name: str) -> Callable[[Any], Any]:
    def door(a: Any) -> Any:
        x = chainer.Variable(np.zeros_like(X))
        setattr(x, name, a)
        return x

    return door


def _parameter(a: Any) -> Any:
    p = chainer.Parameter(a, a.shape)
    assert p.array.dtype == np.float32
    return p


def _unpickled(a: Any) -> Any:
    x = chainer.Variable(X.copy())
    state = x.__getstate__()
    x.__setstate__({**state, '_data': a})
    return pickle.loads(pickle.dumps(x))


def _init_scope(a: Any) -> Any:
    link = chainer.Link()
    with link.init_scope():
        link.w = chainer.Parameter(a)
    return link.w


DOORS: dict[str, Callable[[Any], Any]] = {
    'Variable': chainer.Variable,
    'a subclass of ndarray': lambda a: chainer.Variable(a.view(np.memmap)),
    'array': _set('array'),
    'data': _set('data'),
    'as_variable': chainer.as_variable,
    'Parameter': chainer.Parameter,
    'Parameter with a shape': _parameter,
    'Constant': lambda a: chainer.Parameter(chainer.initializers.Constant(a), a.shape),
    'link': _init_scope,
    'copy': lambda a: copy.deepcopy(chainer.Variable(a)),
    'pickle': _unpickled,
    'copydata': lambda a: (v := chainer.Variable(np.zeros_like(X)), v.copydata(chainer.Variable(a)))[0],
    'identity': F.identity,
    'the left operand': lambda a: a * chainer.Variable(np.ones_like(X)),
    'the right operand': lambda a: chainer.Variable(np.ones_like(X)) * a,
    'two arrays': lambda a: F.add(a, 0 * a),
    'power': lambda a: chainer.Variable(a) ** 1,
    'to_device': lambda a: (v := chainer.Variable(a), v.to_device('@numpy'))[0],
    'cast': lambda a: F.cast(chainer.Variable(X), a.dtype),
    'astype': lambda a: chainer.Variable(X).astype(a.dtype) if hasattr(chainer.Variable, 'astype') else F.identity(a),
    'node': lambda a: Identity().apply((a,))[0],
    'old style': lambda a: OldStyle()(a),
    'autograd': lambda a: Static.apply(a),
    'sparse': lambda a: utils.CooMatrix(a.ravel(), np.arange(6), np.arange(6), (6, 6)).data.reshape(2, 3),
    'no graph': lambda a: _without_graph(a),
    'forget': lambda a: F.forget(lambda x: x * 1, chainer.Variable(a)),
}


#: Doors that give float32 whatever they get.
OF_FLOAT32 = frozenset(
    ['array', 'data', 'copydata', 'Parameter with a shape', 'Constant', 'cast', 'astype', 'the left operand']
    + ['the right operand']
)


class Identity(chainer.FunctionNode):
    def forward(self, inputs: Any) -> Any:
        assert inputs[0].dtype.isnative
        return (inputs[0],)


class OldStyle(chainer.Function):
    def forward(self, inputs: Any) -> Any:
        assert inputs[0].dtype.isnative
        return (inputs[0],)


class Static(autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return getattr(x, 'array', x) * 1

    @staticmethod
    def backward(ctx: Any, gy: Any) -> Any:
        return gy


def _without_graph(a: Any) -> Any:
    with chainer.no_backprop_mode():
        return F.identity(a)


@pytest.mark.parametrize('order', 'CF')
@pytest.mark.parametrize('dtype', 'efd')
@pytest.mark.parametrize('name', DOORS)
def test_doors(name: str, dtype: str, order: Any) -> None:
    a = X.astype(dtype)
    if name in OF_FLOAT32 and dtype != 'f':
        pytest.skip('the dtype is that of the target, or of the other operand')
    found = DOORS[name](np.array(swapped(a), order=order)).array
    equal(found, a)


def test_an_array_of_this_machines_order_stays_the_same_object() -> None:
    for array in (X, X.astype('<f4'), X.astype('=f8'), np.arange(3), np.array([True]), np.array([1j])):
        assert chainer.Variable(array).array is array
        assert chainer.as_variable(array).array is array
    x = chainer.Variable(X)
    x.array = other = X.copy()
    assert x.array is other


def test_the_layout_is_kept() -> None:
    assert chainer.Variable(swapped(np.asfortranarray(X))).array.flags.f_contiguous


@pytest.mark.parametrize('array', [np.arange(3), np.array([1 + 2j]), np.array('text'), np.array(1.5)])
def test_other_dtypes(array: Any) -> None:
    equal(chainer.Variable(swapped(array)).array, array)


# --- gradients ---
def _hooked(x: Any, gy: Any) -> None:
    y = x * 1
    y.register_hook(lambda g: swapped(np.full_like(X, 3)))
    y.backward(gradient=np.ones_like(X))


GRADIENTS: dict[str, Callable[[Any, Any], Any]] = {
    'grad': lambda x, gy: setattr(x, 'grad', gy),
    'grad_var': lambda x, gy: setattr(x, 'grad_var', chainer.Variable(gy)),
    'of a result': lambda x, gy: (y := x * 1, setattr(y, 'grad', gy), y.backward()),
    'gradient=': lambda x, gy: (x * 1).backward(gradient=gy),
    'double': lambda x, gy: (x * 1).backward(gradient=gy, create_graph=True),
    'autograd.backward': lambda x, gy: autograd.backward([x * 1], [gy]),
    'autograd.grad': lambda x, gy: setattr(x, 'grad', autograd.grad(x * 1, x, gy)[0].array),
    'chainer.grad': lambda x, gy: setattr(x, 'grad', chainer.grad([x * 1], [x], [chainer.Variable(gy)])[0].array),
    'hook': _hooked,
    'Variable': lambda x, gy: setattr(x, 'grad', chainer.Variable(x.array, grad=gy).grad),
}


@pytest.mark.parametrize('name', GRADIENTS)
def test_gradients(name: str) -> None:
    x = chainer.Variable(X.copy())
    GRADIENTS[name](x, swapped(np.full_like(X, 3)))
    equal(x.grad, np.full_like(X, 3))


# --- links, files, datasets ---
LINKS: list[Callable[[], Any]] = [
    lambda: L.Linear(3, 2),
    lambda: L.Linear(None, 2),
    lambda: L.LayerNormalization(3),
    lambda: L.BatchNormalization(3),
    lambda: chainer.Sequential(L.Linear(3, 4), F.relu),
    lambda: L.PReLU((3,)),
    lambda: L.LSTM(3, 2),
]


@pytest.mark.parametrize('make', LINKS)
@pytest.mark.parametrize('raw', [True, False])
def test_links(make: Callable[[], Any], raw: bool) -> None:
    np.random.seed(0)
    expected = make()(X).array
    np.random.seed(0)
    x = swapped(X)
    equal(make()(x if raw else chainer.Variable(x)).array, expected)


def test_embeddings_and_labels() -> None:
    embed, ids = L.EmbedID(4, 2), np.array([1, 3, 2], 'i')
    equal(embed(swapped(ids)).array, embed(ids).array)
    t = np.array([0, 2], 'i')
    for loss in (F.softmax_cross_entropy, lambda x, t: F.select_item(x, t), F.accuracy, F.hinge):
        equal(loss(X, swapped(t)).array, loss(X, t).array)
    equal(F.get_item(chainer.Variable(X), swapped(np.array([1, 0]))).array, X[::-1])


def test_files(tmp_path: Any) -> None:
    link = L.BatchNormalization(3)
    link(X)
    values = {}
    serializers.save_npz(tmp_path / 'native.npz', link)
    with np.load(tmp_path / 'native.npz') as file:
        values = {name: swapped(file[name]) for name in file.files}
    np.savez(tmp_path / 'swapped.npz', **values)
    for target in (L.BatchNormalization(3), L.BatchNormalization(3, dtype='d')):
        serializers.load_npz(tmp_path / 'swapped.npz', target)
        for name in ('gamma', 'avg_mean', 'avg_var'):
            found, expected = array_of(getattr(target, name)), array_of(getattr(link, name))
            assert found.dtype.isnative
            np.testing.assert_array_equal(found, expected)
    np.savez(tmp_path / 'linear.npz', W=swapped(X), b=swapped(X[:, 0]))
    lazy = L.Linear(None, 2)
    serializers.load_npz(tmp_path / 'linear.npz', lazy)
    equal(lazy.W.array, X)
    equal(lazy.b.array, X[:, 0])


def test_states_of_optimizers(tmp_path: Any) -> None:
    optimizer = chainer.optimizers.Adam().setup(L.Linear(3, 2))
    optimizer.update(lambda: F.sum(optimizer.target(X)))
    serializers.save_npz(tmp_path / 'native.npz', optimizer)
    with np.load(tmp_path / 'native.npz') as file:
        values = {name: swapped(file[name]) if file[name].dtype.kind in 'fi' else file[name] for name in file.files}
    np.savez(tmp_path / 'swapped.npz', **values)
    other = chainer.optimizers.Adam().setup(L.Linear(3, 2))
    serializers.load_npz(tmp_path / 'swapped.npz', other)
    for found, expected in zip(other.target.params(), optimizer.target.params(), strict=True):
        equal(found.update_rule.state['m'], expected.update_rule.state['m'])


@pytest.mark.gpu
def test_what_goes_to_a_device() -> None:
    device = chainer.get_device('@cupy:0')
    x = chainer.Variable(swapped(X))
    x.to_device(device)
    for array in (device.send(swapped(X)), cuda.to_gpu(swapped(X)), x.array):
        equal(array.get(), X)
        assert array.dtype.isnative


def test_sparse_matrices() -> None:
    parts = np.array([2.0, 3.0], 'f'), np.array([0, 1]), np.array([1, 0])
    expected = F.sparse_matmul(utils.CooMatrix(*parts, (2, 2)), X).array
    matrix = utils.CooMatrix(*map(swapped, parts), (2, 2))
    assert matrix.row.dtype.isnative and matrix.col.dtype.isnative
    equal(F.sparse_matmul(matrix, swapped(X)).array, expected)
    equal(utils.to_coo(swapped(X)).data.array, utils.to_coo(X).data.array)


@pytest.mark.parametrize('dtype', ['>f4', '>f8', '<f4', '<f8'])
def test_the_gradient_checker(dtype: str) -> None:
    x = X.astype(dtype)
    for func in (lambda x: x * x, F.sum, F.tanh, lambda x: F.softmax(x)):
        assert check_gradients(func, x, order=2, seed=0)
        assert gradcheck(func, x)
    assert check_gradients(L.Linear(3, 2), x, params='all', seed=0)
    check_backward(lambda x: x * x, x, swapped(x))
    check_double_backward(lambda x: x * x, x, swapped(x), swapped(x))
