"""Private and deprecated functions of Chainer that programs import: what they compute."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.compat import backprop_utils, private


def test_concat_arrays() -> None:
    np.testing.assert_array_equal(private.concat_arrays([np.ones(2), np.zeros(2)], None), [[1, 1], [0, 0]])
    padded = private.concat_arrays([np.ones(2), np.ones(1)], -1)
    np.testing.assert_array_equal(padded, [[1, 1], [1, -1]])
    np.testing.assert_array_equal(private.concat_arrays([1, 2], None), [1, 2])


def test_log_softmax_of_an_array() -> None:
    x = np.random.RandomState(0).rand(2, 3)
    y = private.log_softmax(x)
    assert type(y) is np.ndarray
    np.testing.assert_allclose(np.exp(y).sum(1), 1)


@pytest.mark.parametrize('transa', [False, True])
@pytest.mark.parametrize('transb', [False, True])
def test_matmul(transa: bool, transb: bool) -> None:
    random = np.random.RandomState(0)
    a, b = random.rand(2, 3), random.rand(3, 4)
    left, right = a.T if transa else a, b.T if transb else b
    np.testing.assert_allclose(private.matmul(left, right, transa, transb), a @ b)
    np.testing.assert_allclose(private.matmul(left, right, transa, transb, True), (a @ b).T)


@pytest.mark.parametrize(('trans', 'right', 'axis'), [(0, 0, 1), (1, 0, 0), (0, 1, 0), (1, 1, 1)])
def test_get_check_index(trans: bool, right: bool, axis: int) -> None:
    assert private.get_check_index(trans, right) == axis
    assert private.get_check_index(trans, right, -2, -1) == axis - 2


def test_extract_gates_inverts_the_layout_of_lstm() -> None:
    x = np.arange(16.0).reshape(2, 8)
    gates = private.extract_gates(x)
    np.testing.assert_array_equal(gates[1], x[:, 1::4])
    c, h = F.lstm(np.zeros((2, 2)), x)
    a, i, _, o = private.extract_gates(x)
    new_c = np.tanh(a) / (1 + np.exp(-i))
    np.testing.assert_allclose(c.array, new_c)
    np.testing.assert_allclose(h.array, np.tanh(new_c) / (1 + np.exp(-o)))


def test_a_step_of_lstm_is_that_of_n_step_lstm() -> None:
    random = np.random.RandomState(0)
    ws = [random.rand(3, n) for n in [2] * 4 + [3] * 4]
    bs = [random.rand(3) for _ in range(8)]
    x, h, c = random.rand(2, 2), random.rand(1, 2, 3), random.rand(1, 2, 3)
    new_h, new_c = private.lstm_step(x, h[0], c[0], ws, bs)
    for call in (F.n_step_lstm, lambda *args: private.n_step_lstm_base(*args, False)):
        hy, cy, _ = call(1, 0.0, h, c, [ws], [bs], [x])
        np.testing.assert_allclose(new_h.array, hy.array[0])
        np.testing.assert_allclose(new_c.array, cy.array[0])


def test_bases_of_recurrent_functions_choose_by_direction() -> None:
    xs = [np.ones((1, 2), 'f')]
    for base, link, more in (
        (private.n_step_gru_base, L.NStepBiGRU, ()),
        (private.n_step_rnn_base, L.NStepBiRNNTanh, ('tanh',)),
    ):
        layers = link(1, 2, 3, 0.0)
        ws, bs = ([[w for w in layer.params() if w.ndim == n] for layer in layers] for n in (2, 1))
        h, ys = base(1, 0.0, np.zeros((2, 1, 3), 'f'), ws, bs, xs, *more, True)
        assert h.shape == (2, 1, 3) and ys[0].shape == (1, 6)


def test_a_gradient_is_summed_to_the_shape_of_a_broadcast_array() -> None:
    np.testing.assert_array_equal(private.summed_to(np.ones((1, 3)), np.ones((2, 4, 3))), np.full((1, 3), 8))
    np.testing.assert_array_equal(private.summed_to(np.ones(2), None), [0, 0])


OPERATORS = {
    'sub': 2.0, 'rsub': -2.0, 'mul': 8.0, 'div': 2.0, 'rdiv': 0.5, 'floordiv': 2.0, 'rfloordiv': 0.0, 'pow': 16.0,
    'rpow': 16.0,
}  # fmt: skip


@pytest.mark.parametrize('name', OPERATORS)
def test_operators_as_functions(name: str) -> None:
    module = importlib.import_module('minichainer.functions.math.basic_math')
    y = getattr(module, name)(np.array([4.0]), 2.0)
    assert isinstance(y, chainer.Variable)
    np.testing.assert_array_equal(y.array, [OPERATORS[name]])


def test_matrix_product_and_negative_as_functions() -> None:
    module = importlib.import_module('minichainer.functions.math.basic_math')
    a, b = np.ones((2, 3)), np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(module.rmatmul(chainer.Variable(b), a).array, a @ b)
    np.testing.assert_array_equal(module.neg(np.ones(2)).array, [-1, -1])


def test_gradients_of_a_link_in_one_array() -> None:
    link = L.Linear(3, 2)
    assert private.size_num_grads(link) == (8, 2)
    link.W.grad, link.b.grad = np.ones((2, 3), 'f'), np.zeros(2, 'f')
    found = private.gather_grads(link)
    np.testing.assert_array_equal(found, [1] * 6 + [0] * 2)
    private.scatter_grads(link, np.arange(8.0))
    np.testing.assert_array_equal(link.b.grad, [6, 7])
    private.scatter_params(link, 2 * private.gather_params(L.Linear(3, 2, initialW=1)))
    np.testing.assert_array_equal(link.W.array, np.full((2, 3), 2))


def test_orders_of_lists() -> None:
    lists = [[1], [1, 2, 3], [1, 2]]
    order = private.argsort_list_descent(lists)
    assert order.tolist() == [1, 2, 0]
    there = private.permutate_list(lists, order, inv=False)
    assert [len(x) for x in there] == [3, 2, 1]
    assert private.permutate_list(there, order, inv=True) == lists
    assert private.permutate_list(None, order, inv=True) is None


# --- steps of a backward pass --------------------------------------------------------------------------------------


class Product(chainer.FunctionNode):
    def forward(self, inputs: Any) -> Any:
        self.retain_inputs((0, 1))
        return (inputs[0] * inputs[1],)

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        a, b = self.get_retained_inputs()
        return grad_outputs[0] * b, None if self.one_sided else grad_outputs[0] * a

    one_sided = False


class Accumulated(Product):
    def backward_accumulate(self, indexes: Any, grad_outputs: Any, grad_inputs: Any) -> Any:
        found = self.backward(indexes, grad_outputs)
        return tuple(g if known is None else known + g for g, known in zip(found, grad_inputs, strict=True))


@pytest.mark.parametrize('function', [Product, Accumulated])
@pytest.mark.parametrize('table', ['dict', 'GradTable'])
def test_a_step_adds_gradients_of_the_inputs(function: Any, table: str) -> None:
    a, b = chainer.Variable(np.array([2.0])), chainer.Variable(np.array([5.0]))
    node = function()
    node.apply((a, b))
    known = chainer.Variable(np.array([1.0]))
    grads: Any = {a.node: [known], b.node: []}
    if table == 'GradTable':
        grads = backprop_utils.GradTable()
        grads[a.node] = known
    backprop_utils.backprop_step(node, (0, 1), (chainer.Variable(np.array([1.0])),), grads, True)
    sums = [grads.pop(x.node) for x in (a, b)]
    sums = [sum(g.array for g in found) if isinstance(found, list) else found.array for found in sums]
    np.testing.assert_array_equal(sums, [[6], [2]])


def test_a_table_takes_the_gradients_of_leaves() -> None:
    x = chainer.Variable(np.array([2.0]))
    x.grad = np.array([7.0])
    table = backprop_utils.GradTable(accumulate_grad_inputs=True)
    table.accumulate(x.node, chainer.Variable(np.array([1.0])))
    assert x.grad is None
    with pytest.raises(AssertionError, match='not been used'):
        table.assert_no_grads()
    assert table.pop(x.node).array == 8
    assert table.pop(None) is None
    table.assert_no_grads()


# --- layers of Caffe that programs add -----------------------------------------------------------------------------


def test_a_subclass_adds_layers_of_caffe(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip('google.protobuf', reason='files of Caffe need protobuf')
    module = importlib.import_module('minichainer.links.caffe.caffe_function')
    monkeypatch.setattr(module, '_methods', {})

    class Extended(module.CaffeFunction):  # type: ignore[misc, name-defined]
        @module._layer('Doubled', None)
        def _setup_doubled(self, layer: Any) -> None:
            self.forwards[layer.name] = lambda x: 2 * x
            self._add_layer(layer)

    net = importlib.import_module('minichainer.links.caffe._schema').net_parameter()()
    layer = net.layer.add()
    layer.name, layer.type = 'twice', 'Doubled'
    layer.bottom.append('data')
    layer.top.append('twice')
    path = tmp_path / 'net.caffemodel'
    path.write_bytes(net.SerializeToString())
    (y,) = Extended(str(path))(inputs={'data': np.ones((1, 2), 'f')}, outputs=['twice'])
    np.testing.assert_array_equal(y.array, [[2, 2]])
    monkeypatch.setattr(module, '_methods', {})
    with pytest.raises(RuntimeError, match='Doubled'):
        module.CaffeFunction(str(path))
