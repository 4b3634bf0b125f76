"""A loss that was computed without a graph: an error that says where and why, as in torch; not silence."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import Variable, autograd
from minichainer.errors import NoGraphWarning


def leaf() -> Variable:
    return Variable(np.array([1.0, 2.0]))


X, W = leaf(), leaf()
CALLS: dict[str, Callable[[Any], Any]] = {
    'backward': autograd.backward,
    'backward of several': lambda loss: autograd.backward([loss, F.sum(W)]),
    'inputs': lambda loss: autograd.backward(loss, inputs=[W]),
    'create_graph': lambda loss: autograd.backward(loss, create_graph=True),
    'grad': lambda loss: autograd.grad(loss, W),
    'allow_unused': lambda loss: autograd.grad(loss, [X, W], allow_unused=True),
}


class Penalized(autograd.Function):
    """Twice its argument; its backward runs another one."""

    call: Any = None

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.array * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        Penalized.call(F.sum(x * W))
        return g * 2


class PenalizedNode(chainer.FunctionNode):
    """The same as a FunctionNode."""

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs((0,))
        return (inputs[0] * 2,)

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        Penalized.call(F.sum(self.get_retained_inputs()[0] * W))
        return (grad_outputs[0] * 2,)


def in_hook(call: Any) -> None:
    def my_hook(g: Any) -> None:
        call(F.sum(g * W))

    y = X * 2
    y.register_hook(my_hook)
    F.sum(y).backward()


def in_hook_of_a_node(call: Any) -> None:
    def my_hook(gradients: Any, upstream: Any) -> None:
        call(F.sum(upstream[0] * W))

    y = X * 2
    y.grad_fn.register_hook(my_hook)
    F.sum(y).backward()


def in_prehook_of_a_node(call: Any) -> None:
    def my_hook(upstream: Any) -> None:
        call(F.sum(upstream[0] * W))

    y = X * 2
    y.grad_fn.register_prehook(my_hook)
    F.sum(y).backward()


def in_function(call: Any) -> None:
    Penalized.call = call
    F.sum(Penalized.apply(X)).backward()


def in_node(call: Any) -> None:
    Penalized.call = call
    F.sum(PenalizedNode().apply((X,))[0]).backward()


def in_mode(call: Any) -> None:
    with chainer.no_backprop_mode():
        call(F.sum(X * W))


def in_mode_of_a_user(call: Any) -> None:
    with chainer.no_backprop_mode():
        call(PenalizedNode().apply((X * W,))[0][0])


def after_mode(call: Any) -> None:
    with chainer.no_backprop_mode():
        loss = F.sum(X * W)
    loss.name = 'loss'  # makes its node
    call(loss)


def of_grad_var(call: Any) -> None:
    x = leaf()
    F.sum(x * x * W).backward()
    call(F.sum(x.grad_var**2))


def of_grad(call: Any) -> None:
    x = leaf()
    (gx,) = chainer.grad([F.sum(x * x * W)], [x])
    call(F.sum(gx * gx))


def of_a_gradient_itself(call: Any) -> None:
    x = leaf()
    F.sum(x * x).backward(retain_grad=True)
    call(x.grad_var[0])


PLACES: dict[str, tuple[Callable[[Any], None], str]] = {
    'hook': (in_hook, r'computed in the hook in_hook\.<locals>\.my_hook, .* create_graph=True'),
    'hook of a node': (in_hook_of_a_node, r'computed in the hook in_hook_of_a_node\.<locals>\.my_hook'),
    'prehook of a node': (in_prehook_of_a_node, r'computed in the hook in_prehook_of_a_node\.<locals>\.my_hook'),
    'Function': (in_function, r'computed in the backward of Penalized, .* create_graph=True'),
    'FunctionNode': (in_node, r'computed in the backward of PenalizedNode, .* create_graph=True'),
    'mode': (in_mode, r'computed under no_backprop_mode .*no graph was recorded.*outside of it'),
    'mode of a user': (in_mode_of_a_user, r'computed under no_backprop_mode .*no graph was recorded.*outside of it'),
    'after the mode': (after_mode, r'under no_backprop_mode, in a hook, or in the backward of a function'),
    'grad_var': (of_grad_var, r'a gradient that was computed without a graph .*enable_double_backprop=True'),
    'grad': (of_grad, r'a gradient that was computed without a graph .*create_graph=True'),
    'a gradient itself': (of_a_gradient_itself, r'a gradient that was computed without a graph'),
}


@pytest.mark.parametrize('call', CALLS)
@pytest.mark.parametrize('place', PLACES)
def test_it_is_an_error(place: str, call: str) -> None:
    run, words = PLACES[place]
    is_part = call == 'backward of several' and 'a gradient that' in words
    made = []

    def refused(loss: Any) -> None:
        with pytest.raises(NoGraphWarning if is_part else RuntimeError, match=words):
            CALLS[call](loss)
        made.append(loss)

    run(refused)
    assert len(made) == 1


@pytest.mark.parametrize('place', ['hook', 'hook of a node', 'prehook of a node', 'Function', 'FunctionNode', 'mode'])
def test_with_a_graph_it_works(place: str) -> None:
    def recorded(loss: Any) -> None:
        with chainer.force_backprop_mode():
            autograd.backward(F.sum(X * W))

    W.cleargrad()
    PLACES[place][0](recorded)
    np.testing.assert_array_equal(W.grad, X.array)


@pytest.mark.parametrize('double', [True, False])
def test_a_penalty_that_is_a_part_of_the_loss(double: bool) -> None:
    x, w = leaf(), leaf()
    F.sum(x * x * w).backward(enable_double_backprop=double)
    loss = F.sum(w) + F.sum(x.grad_var**2)
    w.cleargrad()
    with contextlib.nullcontext() if double else pytest.warns(NoGraphWarning, match='a part of the loss') as caught:
        autograd.backward(loss)
    assert double or [w.filename for w in caught] == [__file__]
    np.testing.assert_array_equal(w.grad, 1 + 8 * x.array**2 * w.array if double else [1, 1])


# --- Chainer's calls stay as quiet as they may ---------------------------------------------------------------------
def test_a_second_grad_warns_and_returns_none() -> None:
    x = leaf()
    (gx,) = chainer.grad([F.sum(x**3)], [x])
    for outputs in ([gx], [F.sum(gx * gx)]):
        with pytest.warns(NoGraphWarning, match='grad: an output is, or depends on, a gradient') as caught:
            assert chainer.grad(outputs, [x]) == [None]
        assert [w.filename for w in caught] == [__file__]


def test_grad_without_a_graph_returns_none() -> None:
    """In silence, because models that use gradients inside are evaluated under ``no_backprop_mode``, too."""
    x = leaf()
    with chainer.no_backprop_mode():
        y = F.sum(x * x)
        assert chainer.grad([y], [x], enable_double_backprop=True) == [None]
    assert chainer.grad([y], [x]) == [None]


def test_backward_of_a_variable_warns() -> None:
    with chainer.no_backprop_mode():
        y = F.sum(leaf() * 2)
    with pytest.warns(NoGraphWarning, match='backward: the Variable has no graph: it was computed under') as caught:
        y.backward()
    assert [w.filename for w in caught] == [__file__]
    assert y.grad == 1


def test_what_is_right_is_quiet() -> None:
    x, w = leaf(), leaf()
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert chainer.grad([F.sum(w * 2)], [x]) == [None]
        (gx,) = chainer.grad([F.sum(x**3)], [x], enable_double_backprop=True)
        np.testing.assert_array_equal(chainer.grad([F.sum(gx)], [x])[0].array, 6 * x.array)
        with chainer.no_backprop_mode():
            h = x * 3  # features for a model
        loss = F.sum(h * w)
        loss.backward()
        np.testing.assert_array_equal(h.grad, w.array)
        autograd.backward(F.sum(h * w))
        x.backward(gradient=np.ones(2))
        autograd.backward(x, np.ones(2))
        (gx,) = chainer.grad([F.sum(x**3)], [x])
        np.testing.assert_array_equal(chainer.grad([F.sum(gx * gx)], [gx])[0].array, 2 * gx.array)
        y = w * x
        y.grad = np.ones(2)
        chainer.backward([y], enable_double_backprop=True)
        autograd.backward(F.sum(x.grad_var))  # depends on w and on what was set as y.grad
