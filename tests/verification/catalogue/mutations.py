"""Twelve real ops, mutated mechanically: negate, double, one element, drop, swap, detach, transpose, forget a sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import minichainer.functions as F
from minichainer.configuration import config, no_backprop_mode, using_config
from minichainer.differentiate import grad
from minichainer.function_node import FunctionNode
from minichainer.variable import Variable
from tests.verification.catalogue import bases as b
from tests.verification.catalogue.causes import (
    DETACHED,
    FACTOR,
    HALF,
    LEFT_OUT,
    LINEAR,
    NONE,
    SECOND,
    SIGN,
    SINGLE,
    SLICE,
    SUMMED,
    SWAPPED,
    TERM,
    TRANSPOSED,
    UNKNOWN,
)
from tests.verification.catalogue.entry import Case, Planted, as_dtype, generator

OTHER = (TERM, UNKNOWN, LEFT_OUT, FACTOR, SLICE, DETACHED, HALF, SINGLE, SUMMED)


@dataclass(frozen=True)
class Op:
    """A real op, and what is special in mutating it.

    Args:
        call: on Variables.
        draw: its float inputs.
        drop: ``drop(xs, gy)``, the gradient of input ``dropped`` without one of its terms; None: without what
            the last row of the upstream gradient gives.
        forget: the same for the gradient of input ``forgotten`` without its sum.
        alike: the first two inputs have one shape (or it acts on the elements of one), so that they can be swapped.
        broadcasts: the second of two inputs is broadcast over the rows of the first.
        linear: its gradient does not depend on its inputs.
        smooth: no element of its gradient is zero.
    """

    name: str
    call: Callable[..., Any]
    draw: Callable[..., Any]
    drop: Any = None
    dropped: int = 0
    forget: Any = None
    forgotten: int = 1
    alike: bool = False
    broadcasts: bool = False
    linear: bool = False
    smooth: bool = True


class Mutant(FunctionNode):
    """An op whose gradients go through ``mutate(gradients, xs, gy, rule)``; twice differentiable as the op is."""

    def __init__(self, op: Op, mutate: Any) -> None:
        self.op, self.mutate = op, mutate

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs(tuple(range(len(inputs))))
        with no_backprop_mode():
            return (self.op.call(*map(Variable, inputs)).array,)

    def backward(self, indexes: Any, gys: Any) -> Any:
        xs, gy = list(self.get_retained_inputs()), gys[0]
        return tuple(self.mutate(self.rule(xs, gy), xs, gy, self.rule))

    def rule(self, xs: Any, gy: Any) -> list[Any]:
        """The right gradients of the op at ``xs``, differentiable if the graph is kept."""
        if config.enable_backprop:
            return grad([self.op.call(*xs)], xs, [gy], enable_double_backprop=True)
        with using_config('enable_backprop', True):
            leaves = [Variable(x.array) for x in xs]
            return grad([self.op.call(*leaves)], leaves, [gy])


def _without_last(gy: Any) -> Any:
    mask = np.ones(gy.shape, gy.dtype)
    mask[-1:] = 0
    return gy * mask


def _first_row(x: Any) -> Any:
    return F.get_item(x, 0)


def _drop_in_loss(xs: Any, gy: Any) -> Any:
    return F.softmax(xs[0], axis=1) * F.broadcast_to(gy / len(xs[0]), xs[0].shape)


def _cross_entropy(x: Any) -> Any:
    return F.softmax_cross_entropy(x, (np.arange(len(x.array)) * 7 % x.shape[1]).astype('i'))


def _spread(xs: Any, gy: Any) -> Any:
    """Only the first row gets a gradient, as if the mean were the first row's share."""
    mask = np.zeros(xs[0].shape, xs[0].dtype)
    mask[0] = 1.0 / len(mask)
    return F.broadcast_to(gy, xs[0].shape) * mask


def _one(s: Any, r: Any) -> Any:
    return (b.normal(r, *s),)


def _with_row(s: Any, r: Any) -> Any:
    return b.normal(r, *s), b.positive(r, s[1])


def _layer(s: Any, r: Any) -> Any:
    return b.normal(r, *s), b.normal(r, 5, s[1]), b.normal(r, 5)


def _images(s: Any, r: Any) -> Any:
    return b.normal(r, 2, 2, *s), b.normal(r, 3, 2, 2, 2), b.normal(r, 3)


OPS = [
    Op('tanh', F.tanh, _one, lambda xs, gy: gy, alike=True),
    Op('sigmoid', F.sigmoid, _one, lambda xs, gy: gy * F.sigmoid(xs[0]), alike=True),
    Op('softmax', lambda x: F.softmax(x, axis=1), _one, lambda xs, gy: gy * F.softmax(xs[0], axis=1), alike=True),
    Op('multiply', lambda x, w: x * w, _with_row, None, 1, lambda xs, gy: _first_row(xs[0] * gy), broadcasts=True),
    Op(
        'divide',
        lambda x, w: x / w,
        _with_row,
        None,
        1,
        lambda xs, gy: -_first_row(xs[0] * gy) / xs[1] ** 2,
        broadcasts=True,
    ),
    Op(
        'matmul',
        F.matmul,
        lambda s, r: (b.normal(r, *s), b.normal(r, s[1], s[0])),
        lambda xs, gy: F.matmul(gy[:, :-1], xs[1][:, :-1], transb=True),
        0,
        lambda xs, gy: F.matmul(xs[0][:1], gy[:1], transa=True),
        alike=True,
    ),
    Op('linear', F.linear, _layer, None, 1, lambda xs, gy: _first_row(gy), 2),
    Op('mean', lambda x: F.mean(x, 0), _one, None, 0, _spread, 0, linear=True),
    Op('logsumexp', lambda x: F.logsumexp(x, axis=1), _one),
    Op('max', lambda x: F.max(x, axis=1), b.GREATEST.draw, linear=True, smooth=False),
    Op('convolution_2d', F.convolution_2d, _images, None, 1, lambda xs, gy: gy[0, :, 0, 0], 2),
    Op('softmax_cross_entropy', _cross_entropy, _one, _drop_in_loss),
]


def _replace(g: Any, at: int, new: Any) -> list[Any]:
    return [new if i == at else gradient for i, gradient in enumerate(g)]


def _one_element(op: Op, g: Any, x: Any) -> Any:
    mask = np.ones(g.shape, g.dtype)
    chosen = 5 if op.smooth else x.shape[1] + x.array[1].argmax()  # where the gradient is not zero
    mask.flat[chosen] = 1.001
    return g * mask


def _transposed(g: Any) -> Any:
    return F.reshape(F.swapaxes(g, -1, -2), g.shape)


def _dropped(op: Op) -> Any:
    def mutate(g: Any, xs: Any, gy: Any, rule: Any) -> Any:
        new = rule(xs, _without_last(gy))[op.dropped] if op.drop is None else op.drop(xs, gy)
        return _replace(g, op.dropped, new)

    return mutate


def _swapped(op: Op) -> Any:
    def mutate(g: Any, xs: Any, gy: Any, rule: Any) -> Any:
        if len(xs) == 1:
            return [rule([gy], xs[0])[0]]
        if op.broadcasts:
            return [rule([F.broadcast_to(xs[1], xs[0].shape), xs[0]], gy)[0], g[1]]
        return [F.reshape(g[1], g[0].shape), F.reshape(g[0], g[1].shape)]

    return mutate


def _constants(g: Any, xs: Any, gy: Any, rule: Any) -> Any:
    return rule([Variable(x.array) for x in xs], gy)


def mutants(op: Op) -> list[Planted]:
    """The mutations that make sense for an op."""
    at = len(op.draw((3, 4), np.random.RandomState(0))) - 1
    made = [
        _entry(op, 'negated', lambda g, xs, gy, rule: _replace(g, 0, -g[0]), 0, SIGN),
        _entry(op, 'doubled', lambda g, xs, gy, rule: _replace(g, at, g[at] * 2.0), at, FACTOR),
        _entry(
            op,
            'one element',
            lambda g, xs, gy, rule: _replace(g, 0, _one_element(op, g[0], xs[0])),
            0,
            SINGLE,
            FACTOR,
        ),
        _entry(op, 'term dropped', _dropped(op), op.dropped, *OTHER),
        _entry(op, 'detached', lambda g, xs, gy, rule: _replace(g, at, g[at] * 0.0), at, DETACHED),
        _entry(op, 'transposed', lambda g, xs, gy, rule: _replace(g, 0, _transposed(g[0])), 0, TRANSPOSED),
    ]
    if op.alike and len(op.draw((3, 4), np.random.RandomState(0))) == 1:
        made.append(_entry(op, 'swapped', _swapped(op), 0, LINEAR, UNKNOWN, where='whole'))
    elif op.alike:
        made.append(_entry(op, 'swapped', _swapped(op), None, SWAPPED, UNKNOWN, TRANSPOSED))
    elif op.broadcasts:
        made.append(_entry(op, 'swapped', _swapped(op), 0, SWAPPED, *OTHER))
    if op.forget is not None:
        made.append(_entry(op, 'sum forgotten', _forgotten(op), op.forgotten, SUMMED, *OTHER))
    if not op.linear:
        made.append(_entry(op, 'constants at second order', _constants, None, SECOND, NONE, *OTHER, order=2))
    return made


def _forgotten(op: Op) -> Any:
    return lambda g, xs, gy, rule: _replace(g, op.forgotten, op.forget(xs, gy))


def _entry(op: Op, mutation: str, mutate: Any, at: Any, *causes: str, **more: Any) -> Planted:
    name = f'{op.name}, {mutation}'

    def build(shape: Any, dtype: str, seed: int) -> Case:
        inputs = as_dtype(op.draw(shape, generator(name, seed)), dtype)
        return Case(lambda *xs: Mutant(op, mutate).apply(xs)[0], inputs, op.call)

    return Planted(name, 'mutation', build, at, causes, **more)


ENTRIES = [entry for op in OPS for entry in mutants(op)]
