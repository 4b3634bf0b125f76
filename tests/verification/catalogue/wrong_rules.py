"""Ops with a wrong rule for one gradient, and the names that its cause may have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minichainer.configuration import no_backprop_mode, using_config
from minichainer.differentiate import grad
from minichainer.function_node import FunctionNode
from minichainer.gradient_check import check_gradients
from minichainer.variable import Variable

#: A gradient from the inputs and the upstream gradient, as arrays, and the right rule.
Wrong = Callable[[list[Any], Any, 'RightRule'], Any]
RightRule = Callable[[list[Any], Any], list[Any]]


@dataclass(frozen=True)
class WrongRule:
    """An op and its wrong gradient.

    Args:
        name: unique.
        family: of mistakes.
        call: the op, on Variables.
        draw: ``draw(rng, n)`` gives its inputs, with axes of about ``n`` elements.
        at: position of the input with the wrong gradient.
        wrong: the wrong gradient; of all inputs, as a list, if ``at`` is None.
        names: accepted names of the cause.
    """

    name: str
    family: str
    call: Callable[..., Any]
    draw: Callable[[Any, int], tuple[Any, ...]]
    at: int | None
    wrong: Wrong
    names: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


class Node(FunctionNode):
    """The op with its wrong rule."""

    def __init__(self, rule: WrongRule) -> None:
        self.rule = rule

    def forward(self, inputs: Any) -> Any:
        self.retain_inputs(tuple(range(len(inputs))))
        with no_backprop_mode():
            return (self.rule.call(*map(Variable, inputs)).array,)

    def backward(self, indexes: Any, gys: Any) -> Any:
        xs = [x.array for x in self.get_retained_inputs()]
        found = gradients(self.rule, xs, gys[0].array)
        return tuple([Variable(np.asarray(found[i]).copy()) for i in indexes])


def right_gradients(rule: WrongRule, xs: list[Any], gy: Any) -> list[Any]:
    """By the op's own rules."""
    with using_config('enable_backprop', True):
        leaves = [Variable(x) for x in xs]
        found = grad([rule.call(*leaves)], leaves, [Variable(gy)])
    return [np.zeros_like(x) if g is None else g.array for g, x in zip(found, xs, strict=True)]


def gradients(rule: WrongRule, xs: list[Any], gy: Any) -> list[Any]:
    """The gradients of all inputs, one of them wrong."""
    wrong = rule.wrong(xs, gy, lambda others, upstream: right_gradients(rule, others, upstream))
    if rule.at is None:
        return list(wrong)
    found = right_gradients(rule, xs, gy)
    assert wrong.shape == xs[rule.at].shape, (rule.name, wrong.shape)
    return [wrong if i == rule.at else g for i, g in enumerate(found)]


def is_wrong(rule: WrongRule, seed: int) -> bool:
    """Whether the rule differs from the right one."""
    xs = list(rule.draw(np.random.RandomState(seed), size(seed)))
    y = rule.call(*map(Variable, xs)).array
    gy = np.random.RandomState(seed + 1).uniform(0.5, 1, y.shape)
    pairs = zip(gradients(rule, xs, gy), right_gradients(rule, xs, gy), strict=True)
    return any(bool((abs(a - b) > 1e-3 * abs(b).max()).any()) for a, b in pairs)


def size(seed: int) -> int:
    """The length of axes."""
    return 4 + seed % 3


def named(rule: WrongRule, seed: int) -> list[str]:
    """The causes that a check reports, one for each wrong input."""
    inputs = rule.draw(np.random.RandomState(seed), size(seed))
    report = check_gradients(lambda *xs: Node(rule).apply(xs)[0], inputs, seed=seed)
    return [cause for cause, _ in {(f.cause, f.input): None for f in report.failures}]


def is_named(rule: WrongRule, causes: list[str]) -> bool:
    """Whether all reported causes have one of the accepted names."""
    return bool(causes) and all(cause.partition(':')[0] in rule.names for cause in causes)


def shifted(array: Any, step: int, axis: int = 0) -> Any:
    """The array shifted along an axis, with zeros where nothing follows."""
    moved = np.moveaxis(np.roll(array, step, axis), axis, 0).copy()
    moved[: step if step > 0 else None] = 0
    if step < 0:
        moved = np.moveaxis(np.roll(array, step, axis), axis, 0).copy()
        moved[step:] = 0
    return np.moveaxis(moved, 0, axis)


def without(array: Any, index: Any) -> Any:
    """The array with zeros at an index."""
    copy = array.copy()
    copy[index] = 0
    return copy


def normal(rng: Any, *shape: int) -> Any:
    return rng.normal(size=shape)


def positive(rng: Any, *shape: int) -> Any:
    return rng.uniform(0.3, 3, shape)
