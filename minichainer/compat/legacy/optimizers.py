"""Optimizers of Chainer v1: their methods, and those that programs defined."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy

from minichainer.compat.changes import Changes
from minichainer.optimizer.base import Optimizer
from minichainer.optimizer.gradient_method import GradientMethod
from minichainer.optimizer.rule import UpdateRule
from minichainer.optimizer_hooks import GradientClipping


def zero_grads(optimizer: Any) -> None:
    for param in optimizer.target.params():
        param.grad = None if param.data is None else param.xp.zeros_like(param.data)


def compute_grads_norm(optimizer: Any) -> float:
    grads = [param.grad for param in optimizer.target.params() if param.grad is not None]
    return math.sqrt(sum(float((grad * grad).sum()) for grad in grads))


def clip_grads(optimizer: Any, maxnorm: float) -> None:
    GradientClipping(maxnorm)(optimizer)


def weight_decay(optimizer: Any, decay: float) -> None:
    for param in optimizer.target.params():
        _add_to_grad(param, decay * param.data)


def accumulate_grads(optimizer: Any, grads: Iterable[Any]) -> None:
    for param, grad in zip(optimizer.target.params(), grads, strict=True):
        _add_to_grad(param, grad)


def _add_to_grad(param: Any, grad: Any) -> None:
    """The sum as an array: NumPy's sum of arrays without axes is a scalar."""
    param.grad = param.xp.asarray(param.grad + grad)


class RuleOfMethods(UpdateRule):
    """Updates a parameter by the methods of an optimizer: ``init_state``, ``update_one`` or those for a device.

    Args:
        optimizer: of a program of v1.
    """

    def __init__(self, optimizer: Any) -> None:
        super().__init__()
        self._optimizer = optimizer

    def init_state(self, param: Any) -> None:
        self._optimizer.init_state(param, self.state)

    def update_core(self, param: Any) -> None:
        self._optimizer.update_one(param, self.state)


def init_state(optimizer: Any, param: Any, state: dict[str, Any]) -> None:
    """Optimizers without states need not define it."""


def update_one(optimizer: Any, param: Any, state: dict[str, Any]) -> None:
    """Updates a parameter where its array is."""
    on_cpu = isinstance(param.data, numpy.ndarray)
    (optimizer.update_one_cpu if on_cpu else optimizer.update_one_gpu)(param, state)


def _create_update_rule(original: Any) -> Any:
    def create_update_rule(self: Any) -> Any:
        own = any(hasattr(self, name) for name in ('update_one_cpu', 'update_one_gpu'))
        return RuleOfMethods(self) if own or type(self).update_one is not update_one else original(self)

    return create_update_rule


def install(changes: Changes) -> None:
    """Gives optimizers the methods, and lets them be defined by methods.

    Args:
        changes: that undo it.
    """
    for method in (zero_grads, compute_grads_norm, clip_grads, weight_decay, accumulate_grads):
        changes.set(Optimizer, method.__name__, method)
    for step in (init_state, update_one):
        changes.set(GradientMethod, step.__name__, step)
    changes.set(GradientMethod, 'create_update_rule', _create_update_rule(GradientMethod.create_update_rule))
