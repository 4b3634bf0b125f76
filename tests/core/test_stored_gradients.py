"""Gradients that a program sets on outputs of functions with several: passes that reach the function use them.

The figures were recorded with Chainer 7.8.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import Variable, autograd

ONES, FIVES = np.ones((1, 2)), np.full((1, 2), 5.0)
Options = dict[str, Any]


class Halves(chainer.FunctionNode):
    """``split_axis`` as users write it: a function of their own with two outputs."""

    def forward(self, inputs: Any) -> Any:
        return inputs[0][:, :2], inputs[0][:, 2:]

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        given = [Variable(np.zeros((1, 2))) if g is None else g for g in grad_outputs]
        return F.concat(given)


class OldHalves(chainer.Function):
    """The same in the old style, on arrays."""

    def forward(self, inputs: Any) -> Any:
        return inputs[0][:, :2], inputs[0][:, 2:]

    def backward(self, inputs: Any, grad_outputs: Any) -> Any:
        return (np.concatenate([np.zeros((1, 2)) if g is None else g for g in grad_outputs], 1),)


SPLITS: dict[str, Callable[[Variable], Any]] = {
    'op': lambda x: F.split_axis(x, 2, 1),
    'node': lambda x: Halves().apply((x,)),
    'function': lambda x: OldHalves()(x),
    'forget': lambda x: F.forget(lambda h: tuple(F.split_axis(h, 2, 1)), x),
}


def _halves(split: str = 'op') -> tuple[Variable, Variable, Variable]:
    """A leaf and its two halves, of which the second has a gradient."""
    x = Variable(np.arange(4.0).reshape(1, 4))
    a, b = SPLITS[split](x)
    b.grad = FIVES.copy()
    return x, a, b


def _values(*variables: Variable) -> list[Any]:
    return [None if v.grad is None else v.grad[0].tolist() for v in variables]


def _backward(a: Variable, **options: Any) -> None:
    a.grad = ONES.copy()
    a.backward(**options)


@pytest.mark.parametrize('split', SPLITS)
@pytest.mark.parametrize('options', [{}, {'enable_double_backprop': True}], ids=['arrays', 'variables'])
def test_the_gradient_of_a_sibling_is_used_once(split: str, options: Options) -> None:
    x, a, b = _halves(split)
    _backward(a, **options)
    assert _values(x, a, b) == [[1, 1, 5, 5], None, None]
    _backward(a, **options)
    assert _values(x, a, b) == [[2, 2, 5, 5], None, None]


@pytest.mark.parametrize('double', [False, True])
def test_retained_gradients_are_used_again(double: bool) -> None:
    x, a, b = _halves()
    _backward(a, retain_grad=True, enable_double_backprop=double)
    assert _values(x, a, b) == [[1, 1, 5, 5], [1, 1], [5, 5]]
    _backward(a, retain_grad=True, enable_double_backprop=double)
    assert _values(x, a, b) == [[2, 2, 10, 10], [1, 1], [5, 5]]


def test_the_sibling_of_an_intermediate_variable() -> None:
    x, a, b = _halves()
    F.sum(a).backward()
    assert _values(x, a, b) == [[1, 1, 5, 5], None, None]


def test_a_gradient_that_the_pass_computes_comes_first() -> None:
    x, a, b = _halves()
    (F.sum(a) + F.sum(b * 2)).backward()
    assert _values(x, a, b) == [[1, 1, 2, 2], None, [5, 5]]


def test_siblings_at_two_levels() -> None:
    x, a, b = _halves()
    c, d = F.split_axis(a, 2, 1)
    c.grad, d.grad = np.ones((1, 1)), np.full((1, 1), 3.0)
    c.backward()
    assert _values(x, a, b, c, d) == [[1, 3, 5, 5], None, None, None, None]


def test_several_roots() -> None:
    x, a, b = _halves()
    a.grad = ONES.copy()
    chainer.backward([a])
    assert _values(x, a, b) == [[1, 1, 5, 5], None, None]


def test_a_gradient_with_a_graph_keeps_it() -> None:
    x, a, b = _halves()
    g = Variable(np.full((1, 2), 7.0))
    b.grad_var = g
    _backward(a, enable_double_backprop=True)
    assert _values(x) == [[1, 1, 7, 7]]
    (gg,) = chainer.grad([x.grad_var], [g], [Variable(np.arange(4.0).reshape(1, 4))])
    np.testing.assert_array_equal(gg.array, [[2, 3]])
    x.cleargrad()
    b.grad_var = g
    _backward(a)
    assert _values(x) == [[1, 1, 7, 7]]


def test_hooks_see_it() -> None:
    x, a, b = _halves()
    with b.register_hook(lambda g: g * 2):
        _backward(a)
    assert _values(x, b) == [[1, 1, 10, 10], None]


def test_an_error_leaves_it() -> None:
    x = Variable(np.arange(4.0).reshape(1, 4))
    h = x * 1
    a, b = F.split_axis(h, 2, 1)
    b.grad = FIVES.copy()

    def fail(g: Any) -> None:
        raise KeyError('mine')

    with h.register_hook(fail), pytest.raises(KeyError):
        _backward(a)
    assert _values(x, a, b) == [None, [1, 1], [5, 5]]


def _drop(b: Variable) -> Variable | None:
    return None


def _unchain(b: Variable) -> Variable | None:
    b.unchain()
    return b


def _retain(b: Variable) -> Variable | None:
    b.retain_grad()
    return b


@pytest.mark.parametrize('change', [_drop, _unchain, _retain])
def test_what_is_not_used(change: Callable[[Variable], Any]) -> None:
    """Gradients of Variables that are gone or no outputs any more; what torch's ``retain_grad`` has accumulated."""
    x, a, b = _halves()
    held = [change(b), b.node]
    del b
    _backward(a)
    assert _values(x, a) == [[1, 1, 0, 0], None]
    assert held[0] is None or _values(held[0]) == [[5, 5]]


OTHER_CALLS: dict[str, Callable[[Variable, Variable], Any]] = {
    'grad': lambda x, a: chainer.grad([a], [x])[0].array,
    'autograd.grad': lambda x, a: autograd.grad(F.sum(a), x)[0].array,
    'autograd.backward': lambda x, a: (autograd.backward(F.sum(a)), x.grad)[1],
    'gradient': lambda x, a: (a.backward(gradient=ONES), x.grad)[1],
    'inputs': lambda x, a: (F.sum(a).backward(inputs=[x]), x.grad)[1],
}


@pytest.mark.parametrize('call', OTHER_CALLS)
def test_other_passes_do_not_use_stored_gradients(call: str) -> None:
    x, a, b = _halves()
    found = OTHER_CALLS[call](x, a)
    np.testing.assert_array_equal(found, [[1, 1, 0, 0]])
    assert _values(b) == [[5, 5]]
