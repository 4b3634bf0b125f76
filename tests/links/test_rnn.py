"""Recurrent links: states, lazy sizes, order of sequences, copies, devices, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import serializers
from minichainer.backend import CpuDevice
from minichainer.device_resident import DeviceResidentsVisitor
from minichainer.utils.type_check import InvalidType

STATEFUL = ['LSTM', 'GRU', 'StatefulGRU', 'StatefulPeepholeLSTM', 'StatefulZoneoutLSTM', 'StatefulMGU']
N_STEP = [
    'NStepLSTM', 'NStepBiLSTM', 'NStepGRU', 'NStepBiGRU', 'NStepRNNTanh', 'NStepBiRNNTanh', 'NStepRNNReLU',
    'NStepBiRNNReLU',
]  # fmt: skip


def x_of(*shape: int) -> np.ndarray:
    return np.random.RandomState(sum(shape)).randn(*shape).astype('f')


# --- with a state ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('name', STATEFUL)
def test_the_state_goes_from_call_to_call_until_it_is_reset(name: str) -> None:
    link = getattr(L, name)(3, 2)
    with chainer.using_config('train', False):
        first, second = link(x_of(4, 3)).array, link(x_of(4, 3)).array
        assert first.shape == (4, 2) and not np.allclose(first, second)
        link.reset_state()
        assert all(getattr(link, state) is None for state in link.states)
        np.testing.assert_array_equal(link(x_of(4, 3)).array, first)


@pytest.mark.parametrize('name', STATEFUL)
def test_gradients_go_back_through_the_steps(name: str) -> None:
    link = getattr(L, name)(3, 2)
    xs = [chainer.Variable(x_of(4, 3)) for _ in range(3)]
    for x in xs:
        y = link(x)
    F.sum(y).backward()
    assert all(x.grad is not None and x.grad.any() for x in xs)
    link.cleargrads()
    y.unchain_backward()
    F.sum(link(xs[0])).backward()
    assert link.h.creator is not None


@pytest.mark.parametrize('name', ['LSTM', 'GRU', 'StatefulGRU', 'StatefulZoneoutLSTM', 'StatefulMGU'])
def test_set_state(name: str) -> None:
    link = getattr(L, name)(3, 2)
    state = [chainer.Variable(x_of(4, 2)) for _ in link.states]
    link.set_state(*state)
    assert [getattr(link, s) for s in link.states] == state
    with pytest.raises(AssertionError, match=rf'{name}.set_state: {link.states[0]} must be a Variable, got ndarray'):
        link.set_state(*[x_of(4, 2)] * len(state))
    assert [getattr(link, s) for s in link.states] == state


class Marking(DeviceResidentsVisitor):
    """Gives other arrays back, as a move to another device does."""

    def visit_device_resident(self, device_resident: Any) -> None:
        """Nothing to do for an object."""

    def visit_array(self, arr: Any) -> Any:
        return arr + 100

    def visit_variable(self, param: Any) -> None:
        """Parameters stay."""


@pytest.mark.parametrize('name', STATEFUL)
def test_the_state_moves_with_the_link(name: str) -> None:
    link = getattr(L, name)(3, 2)
    link(x_of(4, 3))
    before = link.h
    link.to_device(CpuDevice())
    assert link.h is before
    link.device_resident_accept(Marking())
    np.testing.assert_array_equal(link.h.array, before.array + 100)
    assert link.h.creator is None
    link.reset_state()
    link.device_resident_accept(Marking())
    assert link.h is None


def test_an_ended_sequence_keeps_its_state() -> None:
    link = L.LSTM(3, 2)
    link(x_of(4, 3))
    c, h = link.c.array, link.h.array
    y = link(x_of(2, 3))
    assert y.shape == (2, 2)
    np.testing.assert_array_equal(link.h.array, np.concatenate([y.array, h[2:]]))
    np.testing.assert_array_equal(link.c.array[2:], c[2:])
    with pytest.raises(TypeError, match=r'LSTM: expected no more sequences.*\(5, 3\).*\(4, 2\).*reset_state'):
        link(x_of(5, 3))


def test_stateless_lstm_is_lstm_with_the_state_outside() -> None:
    stateful, stateless = L.LSTM(3, 2), L.StatelessLSTM(3, 2)
    stateless.copyparams(stateful)
    c = h = None
    for _ in range(3):
        c, h = stateless(c, h, x_of(4, 3))
        np.testing.assert_array_equal(stateful(x_of(4, 3)).array, h.array)
    np.testing.assert_array_equal(stateful.c.array, c.array)


@pytest.mark.parametrize('name', ['LSTM', 'StatelessLSTM'])
def test_lstm_without_in_size(name: str) -> None:
    for link in (getattr(L, name)(None, 2, bias_init=7), getattr(L, name)(2, bias_init=7)):
        assert link.upward.W.array is None and link.lateral.W.shape == (8, 2)
        args = [None, None, x_of(4, 5)][-1 if name == 'LSTM' else 0 :]
        link(*args)
        assert link.upward.W.shape == (8, 5)
        assert link.upward.W.array.std() > 0.2 and link.lateral.W.array.std() > 0.2
        np.testing.assert_array_equal(link.upward.b.array, [7, 7, 1, 7] * 2)


@pytest.mark.parametrize('name', ['LSTM', 'StatefulPeepholeLSTM', 'StatefulZoneoutLSTM', 'StatefulGRU'])
def test_wrong_data_leave_no_state(name: str) -> None:
    link = getattr(L, name)(3, 2)
    with pytest.raises(InvalidType, match=r'LinearFunction.*\n\nExpect.*\nActual: \(4, 5\) and'):
        link(x_of(4, 5))
    assert link.h is None


def test_gru_as_in_the_first_version_has_its_words() -> None:
    with pytest.raises(ValueError, match=r'GRU: expected one argument, the inputs, got 2.*StatelessGRU'):
        L.GRU(3, 2)(x_of(4, 2), x_of(4, 3))


def test_zoneout_of_one_keeps_everything() -> None:
    link = L.StatefulZoneoutLSTM(3, 2, c_ratio=1.0, h_ratio=1.0)
    c, h = chainer.Variable(x_of(4, 2)), chainer.Variable(x_of(4, 2) + 1)
    link.set_state(c, h)
    np.testing.assert_array_equal(link(x_of(4, 3)).array, h.array)
    np.testing.assert_array_equal(link.c.array, c.array)
    with pytest.raises(TypeError, match="'bias_init'"):
        L.StatefulZoneoutLSTM(3, 2, bias_init=1)


# --- trees ----------------------------------------------------------------------------------------------------------
def test_the_children_of_a_child_sum_tree_have_no_order() -> None:
    link = L.ChildSumTreeLSTM(3, 2)
    cs, hs, x = [x_of(4, 2), x_of(4, 2) - 1], [x_of(4, 2) * 2, x_of(4, 2) + 1], x_of(4, 3)
    for a, b in zip(link(*cs, *hs, x), link(*cs[::-1], *hs[::-1], x), strict=True):
        np.testing.assert_allclose(a.array, b.array, rtol=1e-5, atol=1e-6)
    c, _ = link(x)
    without, _ = link(None, None, x)
    np.testing.assert_array_equal(c.array, without.array)


@pytest.mark.parametrize(
    ('make', 'args', 'words'),
    [
        (lambda: L.ChildSumTreeLSTM(3, 2), (), 'got 0 arguments'),
        (lambda: L.ChildSumTreeLSTM(3, 2), (None, None), 'got 2 arguments'),
        (lambda: L.ChildSumTreeLSTM(3, 2), (None, None, None), 'all inputs .* are None'),
        (lambda: L.ChildSumTreeLSTM(None, 2), (x_of(1, 2), None, None), 'in_size is not known'),
        (lambda: L.NaryTreeLSTM(3, 2), (x_of(1, 3),), 'expected 2 cells, as many states and one input, got 1'),
        (lambda: L.NaryTreeLSTM(3, 2), (None,) * 5, 'all inputs .* are None'),
        (lambda: L.NaryTreeLSTM(None, 2), (x_of(1, 2), *[None] * 4), 'in_size is not known'),
    ],
)
def test_errors_of_trees(make: Any, args: Any, words: str) -> None:
    with pytest.raises(ValueError, match=rf'TreeLSTM: .*{words}'):
        make()(*args)


def test_a_tree_without_children_is_refused() -> None:
    with pytest.raises(AssertionError, match='n_ary must be at least 1, got 0'):
        L.NaryTreeLSTM(3, 2, n_ary=0)


# --- over sequences -------------------------------------------------------------------------------------------------
def layers(name: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(L, name)(*(args or (2, 3, 4, 0.0)), **kwargs)


def run(link: Any, xs: Any, states: Any = None) -> tuple[list[Any], list[Any]]:
    *last, ys = link(*(states or [None] * link.n_cells), xs)
    return last, ys


@pytest.mark.parametrize('name', N_STEP)
def test_sequences_may_come_in_any_order(name: str) -> None:
    link = layers(name)
    width = 8 if link.use_bi_direction else 4
    xs = [x_of(n, 3) for n in (2, 5, 0, 3, 5)]
    states = [chainer.Variable(x_of(link.n_layers * width // 4, 5, 4)) for _ in range(link.n_cells)]
    last, ys = run(link, xs, states)
    assert isinstance(ys, list) and [y.shape for y in ys] == [(len(x), width) for x in xs]
    for i, x in enumerate(xs):
        alone, (y,) = run(link, [x], [chainer.Variable(s.array[:, i : i + 1]) for s in states])
        np.testing.assert_allclose(ys[i].array, y.array, rtol=1e-5, atol=1e-6)
        for s, one in zip(last, alone, strict=True):
            np.testing.assert_allclose(s.array[:, i : i + 1], one.array, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize('name', N_STEP)
def test_gradients_reach_every_sequence_state_and_parameter(name: str) -> None:
    link = layers(name)
    link.cleargrads()
    xs = [chainer.Variable(x_of(n, 3)) for n in (2, 5, 3)]
    states = [chainer.Variable(x_of(2 * link.direction, 3, 4)) for _ in range(link.n_cells)]
    last, ys = run(link, xs, states)
    (F.sum(F.concat(ys, axis=0) ** 2) + sum(F.sum(s**2) for s in last)).backward()
    assert all(v.grad is not None and v.grad.any() for v in [*xs, *states])
    assert all(p.grad is not None and p.grad.shape == p.shape for p in link.params())


@pytest.mark.parametrize('name', N_STEP)
def test_no_state_is_a_state_of_zeros(name: str) -> None:
    link = layers(name)
    xs = [x_of(2, 3), x_of(4, 3)]
    zeros = link.init_hx(xs)
    assert zeros.shape == (2 * link.direction, 2, 4) and zeros.dtype == np.float32
    for a, b in zip(run(link, xs)[1], run(link, xs, [zeros] * link.n_cells)[1], strict=True):
        np.testing.assert_array_equal(a.array, b.array)


@pytest.mark.parametrize('name', N_STEP)
def test_errors_over_sequences(name: str) -> None:
    link = layers(name)
    nones: list[Any] = [None] * link.n_cells
    places = 2 * link.direction
    with pytest.raises(TypeError, match=rf'{name}: xs must be a list or tuple of sequences, got ndarray'):
        link(*nones, x_of(2, 3))
    with pytest.raises(ValueError, match=rf'{name}: xs must have at least one sequence'):
        link(*nones, [])
    with pytest.raises(InvalidType, match=rf'{name}\n\nExpect: sequences of shape.*\nActual: \(3,\) of sequence 1'):
        link(*nones, [x_of(2, 3), x_of(3)])
    with pytest.raises(
        InvalidType if 'GRU' in name else ValueError, match=r'\(length, 3\).*the weights[\s\S]*\(2, 5\) as xs\[0\]'
    ):
        link(*nones, [x_of(2, 5)])
    with pytest.raises(InvalidType, match=rf'{name}\n\nExpect: states of shape \({places}, 2, 4\)'):
        link(*[chainer.Variable(x_of(places, 3, 4))] * link.n_cells, [x_of(2, 3), x_of(2, 3)])
    with pytest.raises(ValueError, match='train argument is not supported'):
        link(*nones, [x_of(2, 3)], train=True)
    with pytest.raises(TypeError, match="'foo'"):
        link(*nones, [x_of(2, 3)], foo=1)
    with pytest.raises(ValueError, match='use_cudnn argument is not supported'):
        layers(name, 1, 3, 4, 0.0, use_cudnn=True)


@pytest.mark.parametrize('name', N_STEP)
def test_initial_values_over_sequences(name: str) -> None:
    link = layers(name, 1, 100, 50, 0.0)
    half = link.n_weights // 2
    for ws in link.ws:
        assert all(abs(w.array.std() - 0.1) < 0.01 for w in ws[:half])
        assert all(abs(w.array.std() - 50**-0.5) < 0.015 for w in ws[half:])
    assert not any(b.array.any() for bs in link.bs for b in bs)
    given = layers(name, 1, 3, 4, 0.0, initialW=2, initial_bias=3)
    assert {float(w.array.mean()) for ws in given.ws for w in ws} == {2.0}
    assert {float(b.array.mean()) for bs in given.bs for b in bs} == {3.0}


@pytest.mark.parametrize('mode', ['copy', 'share', 'init'])
def test_a_copy_computes_with_its_own_parameters(mode: str) -> None:
    link = layers('NStepLSTM')
    clone = link.copy(mode)
    assert [w.name for ws in clone.ws for w in ws] == [w.name for ws in link.ws for w in ws]
    assert {id(p) for ps in (*clone.ws, *clone.bs) for p in ps} == {id(p) for p in clone.params()}
    xs = [x_of(2, 3)]
    before = run(link, xs)[1][0].array
    clone[0].w0 = chainer.Parameter(clone[0].w0.array + 1)
    assert not np.allclose(run(clone, xs)[1][0].array, before)
    np.testing.assert_array_equal(run(link, xs)[1][0].array, before)


def test_a_snapshot_goes_from_one_to_another(tmp_path: Any) -> None:
    link, other = layers('NStepBiGRU'), layers('NStepBiGRU')
    serializers.save_npz(tmp_path / 'model.npz', link)
    serializers.load_npz(tmp_path / 'model.npz', other)
    xs = [x_of(2, 3), x_of(3, 3)]
    for a, b in zip(run(link, xs)[1], run(other, xs)[1], strict=True):
        np.testing.assert_array_equal(a.array, b.array)


def test_a_subclass_may_apply_another_function() -> None:
    """The base sorts the sequences, and hands the function what each step has."""
    seen: list[Any] = []

    class Mine(L.NStepGRU):
        def rnn(self, *args: Any) -> Any:
            seen.append([x.shape for x in args[-1]])
            return super().rnn(*args)

    Mine(1, 3, 4, 0.0)(None, [x_of(1, 3), x_of(3, 3)])
    assert seen == [[(2, 3), (1, 3), (1, 3)]]


def test_sequences_of_equal_length_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the steps, and with them random numbers of dropout, are the same on every machine."""
    link = L.NStepRNNTanh(1, 2, 3, 0.0)
    steps = []
    rnn = link.rnn
    monkeypatch.setattr(type(link), 'rnn', lambda self, *args: (steps.append(args[-1]), rnn(*args))[1])
    lengths = [2, 3, 2, 3, 1] * 8  # sorts of more than 16 elements are not stable by themselves
    link(None, [np.full((n, 2), i, np.float32) for i, n in enumerate(lengths)])
    order = [int(i) for i in steps[0][0].array[:, 0]]
    assert order == sorted(range(40), key=lambda i: -lengths[i])
