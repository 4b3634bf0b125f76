"""Recurrent functions beyond their rows: dropout, other oracles, extremes, what backward may rely on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from tests.functions.checks import bound, derivative_of, gradients, upstream_of
from tests.functions.numeric import directional
from tests.functions.rows_recurrent import ROWS, Layers

NAMES = ['n_step_lstm', 'n_step_bilstm', 'n_step_gru', 'n_step_bigru', 'n_step_rnn', 'n_step_birnn']


def drawn(layers: Layers, units: int = 2, inputs: int = 3, sizes: tuple[int, ...] = (3, 2, 2, 1)) -> list[np.ndarray]:
    """Inputs of a call, in the order of :class:`Layers`."""
    rng = np.random.RandomState(0)
    return [rng.uniform(-1, 1, shape) for shape in layers.case(units, inputs, sizes[0], *sizes).shapes]


class Dropped(Layers):
    """The function with dropout, always with the same draws."""

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        np.random.seed(5)
        states, ws, bs, xs = self._parts(inputs)
        *last, ys = getattr(F, self.name)(self.n_layers, 0.4, *states, ws, bs, xs, **self.static)
        return (*last, *ys)


def composed_with_dropout(layers: Layers, *inputs: Any) -> list[np.ndarray]:
    """The last layer at each step, computed one layer after the other with ``F.dropout`` at each step between."""
    np.random.seed(5)
    states, ws, bs, xs = layers._parts(inputs)
    d = layers.directions
    one = getattr(F, layers.name.replace('_bi', '_'))
    for layer in range(layers.n_layers):
        sides = []
        for direction in range(d):
            at = layer * d + direction
            dropped = [F.dropout(x, 0.4).array if layer else x for x in xs]
            first = [s[at : at + 1] for s in states]
            if direction:  # each sequence turned round: of equal lengths here, so the steps are
                dropped = dropped[::-1]
            *_, ys = one(1, 0.0, *first, [ws[at]], [bs[at]], dropped)
            sides.append([y.array for y in ys][:: -1 if direction else 1])
        xs = [np.concatenate(parts, axis=1) for parts in zip(*sides, strict=True)]
    return xs


@pytest.mark.parametrize('name', NAMES)
def test_dropout_between_layers_draws_as_dropout_does_step_by_step(name: str) -> None:
    layers = Dropped(name, 3)
    inputs = drawn(layers, sizes=(3, 3, 3))
    actual = layers(*inputs)[layers.states :]
    for a, e in zip(actual, composed_with_dropout(layers, *inputs), strict=True):
        np.testing.assert_allclose(a.array, e, rtol=1e-12)
    with chainer.using_config('train', False):
        assert not np.allclose(layers(*inputs)[-1].array, actual[-1].array)


def assert_gradients(function: Any, arguments: list[Any], gys: list[Any]) -> None:
    """Compares the gradients of ordinary backward with central differences."""

    def values(*arrays: Any) -> list[np.ndarray]:
        return [y.array for y in function(*[chainer.Variable(a) for a in arrays])]

    expected = directional(values, arguments, gys)
    for a, e in zip(gradients(function, arguments, gys), expected, strict=True):
        scale = max(np.abs(e).max(initial=0.0), 1.0)
        np.testing.assert_allclose(np.zeros_like(e) if a is None else a, e, rtol=2e-7, atol=2e-8 * scale)


@pytest.mark.parametrize('name', ['n_step_lstm', 'n_step_birnn'])
def test_gradients_with_dropout(name: str) -> None:
    function: Any = Dropped(name, 2)
    arguments = drawn(function, 1, 1, (2, 1))
    for order in (1, 2):
        gys = upstream_of(function, arguments, seed=order)
        assert_gradients(function, arguments, gys)
        function, arguments = derivative_of(function, len(arguments)), [*arguments, *gys]


def test_a_ratio_of_zero_draws_but_drops_nothing() -> None:
    """What is drawn afterwards does not depend on the ratio, as in Chainer."""
    after = []
    for function in (Layers('n_step_lstm', 2), Dropped('n_step_lstm', 2)):
        inputs = drawn(function)
        np.random.seed(5)
        function(*inputs)
        after.append(np.random.rand())
    assert after[0] == after[1]


@pytest.mark.parametrize('name', ['lstm', 'n_step_gru'])
def test_third_order(name: str) -> None:
    row = next(r for r in ROWS if str(r) == name)
    case = row.cases[-2]
    function, arguments = bound(row, case, row.draw(case))
    for order in (1, 2):
        gys = upstream_of(function, arguments, seed=order)
        function, arguments = derivative_of(function, len(arguments)), [*arguments, *gys]
    gys = upstream_of(function, arguments, seed=3)
    assert_gradients(function, arguments, gys)


@pytest.mark.parametrize('differentiable', [False, True])
def test_an_input_that_is_computed_from_another_is_counted_once(differentiable: bool) -> None:
    """The gates are computed from the cells: the way between two inputs is no part of the node's own gradient."""

    def loss(c: Any) -> Any:
        return F.sum(F.lstm(c, F.tanh(F.concat([c, c, c * 2, c])))[1] ** 2)

    c = chainer.Variable(np.random.RandomState(0).randn(2, 2))
    (gc,) = chainer.grad([loss(c)], [c], enable_double_backprop=differentiable)
    (expected,) = directional(lambda a: [loss(chainer.Variable(a)).array], [c.array], [np.ones(())])
    np.testing.assert_allclose(gc.array, expected, rtol=1e-7, atol=1e-9)


# --- other oracles --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(('n_layers', 'name'), [(1, 'n_step_lstm'), (2, 'n_step_bilstm'), (2, 'n_step_gru')])
def test_torch_agrees(n_layers: int, name: str) -> None:
    torch = pytest.importorskip('torch')
    layers = Layers(name, n_layers)
    inputs = drawn(layers, 4, 3, (3, 3, 3, 3))
    variables = [chainer.Variable(a) for a in inputs]
    ys = layers(*variables)[layers.states :]
    loss = F.sum(F.stack(list(ys)) ** 2)
    loss.backward()

    kind = torch.nn.GRU if layers.gates == 3 else torch.nn.LSTM
    module = kind(3, 4, n_layers, bidirectional=layers.directions == 2).double()
    states, ws, bs, xs = layers._parts(inputs)
    for at in range(n_layers * layers.directions):
        suffix = f'_l{at // layers.directions}' + ('_reverse' if at % layers.directions else '')
        for kind_of, values in (('weight', ws[at]), ('bias', bs[at])):
            for part, chosen in (('ih', values[: layers.gates]), ('hh', values[layers.gates :])):
                getattr(module, f'{kind_of}_{part}{suffix}').data[...] = torch.tensor(np.concatenate(chosen))
    x = torch.tensor(np.stack(xs), requires_grad=True)
    first = tuple(torch.tensor(s) for s in states)
    y, _ = module(x, first if layers.states == 2 else first[0])
    (y**2).sum().backward()
    np.testing.assert_allclose(np.stack([y.array for y in ys]), y.detach().numpy(), rtol=1e-9)
    np.testing.assert_allclose(np.stack([v.grad for v in variables[-4:]]), x.grad.numpy(), rtol=1e-8, atol=1e-12)


# --- extremes -------------------------------------------------------------------------------------------------------
def test_huge_gates_saturate_without_warnings() -> None:
    x = chainer.Variable(np.array([[1e30, 1e30, -1e30, 1e30, -1e30, -1e30, 1e30, -1e30]], 'f'))
    c_prev = chainer.Variable(np.array([[5.0, 7.0]], 'f'))
    c, h = F.lstm(c_prev, x)
    np.testing.assert_array_equal(c.array, [[1, 7]])
    np.testing.assert_allclose(h.array, [[np.tanh(1), 0]], rtol=1e-6)
    F.sum(c + h).backward()
    np.testing.assert_array_equal(c_prev.grad, [[0, 1]])
    assert not x.grad.any()


@pytest.mark.parametrize('activation', ['tanh', 'relu'])
def test_nan_reaches_its_own_sequence_only(activation: str) -> None:
    ws, bs = [[np.ones((2, 1)), np.ones((2, 2))]], [[np.zeros(2)] * 2]
    xs = [np.array([[1.0], [np.nan]]), np.ones((2, 1))]
    _, ys = F.n_step_rnn(1, 0.0, np.zeros((1, 2, 2)), ws, bs, xs, activation)
    assert np.isfinite(ys[1].array[0]).all() and np.isnan(ys[1].array[1]).all()


def test_float16_is_computed_in_float32() -> None:
    """Half of the sum is 80000, more than float16 can hold; the whole is zero."""
    n = 40000
    ws = [[np.full((1, n), 4.0, 'e')] * 3 + [np.full((1, n), 4.0, 'e')] + [np.ones((1, 1), 'e')] * 4]
    bs = [[np.zeros(1, 'e')] * 8]
    x = np.full((1, n), 1.0, 'e')
    x[0, n // 2 :] = -1.0
    state = np.zeros((1, 1, 1), 'e')
    hy, cy, (y,) = F.n_step_lstm(1, 0.0, state, state, ws, bs, [chainer.Variable(x)])
    assert y.dtype == hy.dtype == cy.dtype == np.float16
    assert float(y.array[0, 0]) == 0.0


def test_no_steps_hand_the_state_on() -> None:
    layers = Layers('n_step_lstm', 1)
    hx, cx, *rest = drawn(layers, sizes=(2,))
    h = chainer.Variable(hx)
    _, ws, bs, _ = layers._parts([hx, cx, *rest])
    hy, cy, ys = F.n_step_lstm(1, 0.0, h, cx, ws, bs, [])
    np.testing.assert_array_equal(hy.array, hx)
    np.testing.assert_array_equal(cy.array, cx)
    assert ys == ()
    F.sum(hy * 3).backward()
    np.testing.assert_array_equal(h.grad, np.full_like(hx, 3))


# --- what backward relies on ----------------------------------------------------------------------------------------
@pytest.mark.parametrize('name', NAMES)
def test_results_and_parameters_may_be_changed_before_backward(name: str) -> None:
    """An optimizer may step, and results may be written to, before the gradient is computed."""
    layers = Layers(name, 2)
    inputs = drawn(layers)
    expected: list[Any] = []
    for change in (False, True):
        variables = [chainer.Variable(a.copy()) for a in inputs]
        ys = layers(*variables)
        gys = [np.random.RandomState(i).randn(*y.shape) for i, y in enumerate(ys)]
        for y, gy in zip(ys, gys, strict=True):
            y.grad = gy
            if change:
                y.array[...] = np.nan
        for v in variables if change else []:
            v.array[...] = np.nan
        chainer.backward(ys)
        found = [v.grad for v in variables]
        for a, e in zip(found, expected or found, strict=True):
            np.testing.assert_array_equal(a, e)
        expected = found


def test_frozen_parameters_get_no_gradient() -> None:
    layers = Layers('n_step_lstm', 1)
    inputs = drawn(layers)
    variables = [chainer.Variable(a, requires_grad=i not in (2, 3, 4)) for i, a in enumerate(inputs)]
    ys = layers(*variables)
    F.sum(F.concat(list(ys[2:]), axis=0) ** 2).backward()
    assert [v.grad is None for v in variables] == [i in (2, 3, 4) for i in range(len(variables))]


def test_the_node_is_one_for_all_layers_and_steps() -> None:
    layers = Layers('n_step_bilstm', 3)
    outputs = layers(*[chainer.Variable(a) for a in drawn(layers)])
    assert {y.creator.label for y in outputs} == {'NStepBiLSTM'} and len({y.creator for y in outputs}) == 1


@pytest.mark.parametrize('differentiable', [False, True])
def test_a_parameter_that_several_gates_share_gets_the_sum(differentiable: bool) -> None:
    layers = Layers('n_step_gru', 1)
    hx, *_, x = drawn(layers, units=2, inputs=2, sizes=(2,))
    w, b = chainer.Variable(np.array([[0.5, -1.0], [0.25, 2.0]])), chainer.Variable(np.array([0.1, -0.2]))

    def loss(*arrays: Any) -> Any:
        w, b = [chainer.Variable(a) if isinstance(a, np.ndarray) else a for a in arrays]
        hy, ys = F.n_step_gru(1, 0.0, hx, [[w] * 6], [[b] * 6], [x, x])
        return F.sum(hy**2) + F.sum(ys[0] ** 3)

    actual = chainer.grad([loss(w, b)], [w, b], enable_double_backprop=differentiable)
    expected = directional(lambda *a: [loss(*a).array], [w.array, b.array], [np.ones(())])
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a.array, e, rtol=1e-7, atol=1e-9)


def test_without_a_graph_nothing_is_kept() -> None:
    layers = Dropped('n_step_lstm', 2)
    seen: list[Any] = []

    class Keep(chainer.FunctionHook):
        name = 'keep'

        def forward_postprocess(self, function: Any, in_data: Any) -> None:
            seen.append(function)

    with chainer.no_backprop_mode(), Keep():
        layers(*drawn(layers))
    node = seen[-1]
    assert node.label == 'NStepLSTM' and node._residual is None and not node.saved
