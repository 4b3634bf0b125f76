"""Updates parameters on a device together: one launch for many of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minichainer.backend import using_device
from minichainer.backends import cuda
from minichainer.kernels.cuda import layerwise, updates
from minichainer.optimizer.formula import FormulaRule, computing_dtype
from minichainer.optimizer.hyperparameters import Hyperparameter
from minichainer.variable import Parameter

_FLOATS = frozenset(map(np.dtype, 'efd'))


class _Target(NamedTuple):
    """The arrays of one parameter: what is updated, and the float16 parameter if that is its float32 copy."""

    grad: Any
    array: Any
    half: Any


class _Group:
    """Parameters of one kernel and one set of coefficients; ``states`` are the names of their states."""

    __slots__ = ('coefficients', 'device', 'how', 'layerwise', 'params', 'states')

    def __init__(self, rule: FormulaRule, hyperparam: Hyperparameter, target: _Target, scale: Any) -> None:
        dtype = target.array.dtype
        values = rule.coefficients(hyperparam, computing_dtype(type(rule).__name__, dtype))
        self.device = target.array.device
        self.states = rule._kept_states(hyperparam)
        self.coefficients = [float(value) for value in values if value is not None]
        self.coefficients += [] if scale is None else [float(scale)]
        self.params: list[list[Any]] = []
        self.layerwise = type(rule).direction is not None
        self.how = updates.Update(
            type(rule).direction if self.layerwise else type(rule).formula,
            f'{type(rule).__name__}_update',
            tuple(value is not None for value in values),
            rule.temporaries,
            len(self.states),
            dtype.name,
            scale is not None,
            target.half is not None,
        )


class DeviceUpdate:
    """Parameters that wait for the launch of their update."""

    def __init__(self) -> None:
        self._groups: dict[Any, _Group] = {}
        # The memory that the waiting parameters use: no other parameter may share it.
        self._used: set[int] = set()

    def add(self, param: Parameter, rule: FormulaRule, hyperparam: Hyperparameter, scale: Any) -> bool:
        """Puts a parameter with its gradient into a group; returns False if it must be updated alone.

        Args:
            param: has an array and a gradient.
            rule: its rule; its ``t`` is the number of this update already.
            hyperparam: the values of the rule.
            scale: the loss scale by which the gradient is multiplied, or None.
        """
        target = _target(param, rule)
        if target is None:
            return False
        kind = (type(rule), id(hyperparam), rule.t, rule.group_token, scale)
        key = (*kind, target.array.dtype, target.array.device.id, target.half is not None)
        group = self._groups.get(key)
        if group is None:
            group = _Group(rule, hyperparam, target, scale)
            if updates.source_of(group.how, 1) is None:
                return False
        arrays = _arrays(rule, group, param, target)
        if arrays is None or not self._use(arrays):
            return False
        self._groups[key] = group
        group.params.append(arrays)
        if scale is not None and target.half is None:
            param._loss_scale = None  # the kernel divides the gradient in place
        return True

    def _use(self, arrays: list[Any]) -> bool:
        """Notes the memory of arrays; returns False if a waiting parameter uses some of it."""
        owners = {_owner(array) for array in arrays if array.size}
        if not owners.isdisjoint(self._used):
            return False
        self._used |= owners
        return True

    def run(self) -> None:
        """Updates the waiting parameters; if some groups fail, raises the first error at the end."""
        groups, errors = list(self._groups.values()), []
        self._groups.clear()
        self._used.clear()
        for group in groups:
            try:
                _launch(group)
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]


def _launch(group: _Group) -> None:
    most = layerwise.limit(group.how) if group.layerwise else updates.limit(group.how)
    with using_device(group.device):
        for begin in range(0, len(group.params), most):
            params = group.params[begin : begin + most]
            if group.layerwise:
                layerwise.update(cuda.cupy, group.how, group.coefficients, params)
            else:
                updates.update(group.how, group.coefficients, params)


def _owner(array: Any) -> int:
    """The address of the memory of an array or of what it is a view of."""
    while array.base is not None:
        array = array.base
    address: int = array.data.ptr
    return address


def _target(param: Parameter, rule: FormulaRule) -> _Target | None:
    """The arrays of a parameter and its gradient; None if a kernel cannot update them."""
    array, grad = param._data, param.grad
    if type(rule).update_core_gpu is not FormulaRule.update_core_gpu or array.dtype not in _FLOATS:
        return None
    if type(grad) is not type(array) or grad.shape != array.shape or grad.dtype != array.dtype:
        return None
    if grad.device != array.device or not grad.flags.c_contiguous:
        return None
    if rule._use_fp32_update and array.dtype == np.float16:
        return _Target(grad, rule._float32_copy(param)._data, array)
    return _Target(grad, array, None)


def _arrays(rule: FormulaRule, group: _Group, param: Parameter, target: _Target) -> list[Any] | None:
    """Gradient, parameter, states and float16 parameter; None if they do not fit."""
    state = rule._state
    if (
        state is None
        or any(type(value) is not type(target.array) for value in state.values())
        or _elsewhere(rule, target)
    ):
        rule._init_states(param if target.half is None else rule._float32_copy(param))
        state = rule._state
    arrays = [target.grad, target.array, *[state.get(name) for name in group.states]]
    like = target.array
    for array in arrays[1:]:
        if array is None or array.dtype != like.dtype or array.shape != like.shape or not array.flags.c_contiguous:
            return None
    return arrays if target.half is None else [*arrays, target.half]


def _elsewhere(rule: FormulaRule, target: _Target) -> bool:
    device = target.array.device
    return any(value.device != device for value in rule._state.values())
