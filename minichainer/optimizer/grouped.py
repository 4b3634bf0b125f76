"""Updates the parameters of a model together: the same result as one at a time, with fewer and cheaper calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from itertools import pairwise
from operator import is_
from typing import Any

import numpy as np

from minichainer._inplace import clock, wrote
from minichainer._tape import native
from minichainer.backends import cuda
from minichainer.kernels.updates import HAS_KERNELS, compiled_update
from minichainer.optimizer.formula import BLOCK_BYTES, FormulaRule, apply_in_place, computing_dtype
from minichainer.optimizer.grouped_device import DeviceUpdate
from minichainer.optimizer.hyperparameters import Hyperparameter
from minichainer.variable import Parameter

# Parameters of at most this many elements are gathered: for larger ones, copying costs more than the saved calls.
SMALL = 8192

# The attributes of a rule of a groupable class. A rule with other attributes, such as a replaced method or additional
# data, is updated alone.
ATTRIBUTES = frozenset(vars(FormulaRule())) | {'group_token'}


class GroupedUpdate:
    """Does ``param.update()`` for each parameter in order, for parameters with equal rules and values together.

    If there is a compiled kernel, it updates the parameters of a group one after another. If not, small ones are
    gathered into one block, updated by one evaluation of the formula, and scattered back; larger ones are updated in
    place. Parameters that cannot be grouped (another rule class, hooks, float32 updates, arrays that overlap or are
    not contiguous, another device) are updated alone. Contains only scratch memory and views: a copy or a pickle of
    it is empty.
    """

    def __init__(self) -> None:
        # Groups to be updated, in order; those that accept more parameters also by their common properties.
        self._groups: list[_Group] = []
        self._open: dict[Any, _Group] = {}
        # Rules of the parameters in the groups.
        self._waiting: set[int] = set()
        # In the order of the last update, which will be the order of the next one.
        self._blocks: list[_Block] = []
        self._used = 0
        self._on_device: DeviceUpdate | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return (GroupedUpdate, ())

    def update(self, params: Iterable[Parameter]) -> bool:
        """Updates every parameter as often as it appears; returns whether code of others was called."""
        params = list(params)
        self._used = 0
        for left in (self._groups, self._open, self._waiting):  # since Ctrl-C, or so, has broken off an update
            left.clear()
        self._on_device = None
        foreign = False
        try:
            for param in params[0 if native is None else _by_the_tape(params) :]:
                if not self._add(param):
                    foreign = True
                    self._run()
                    param.update()
        except Exception:
            with contextlib.suppress(Exception):  # the rules of waiting parameters have counted the update
                self._run()
            raise
        self._run()
        del self._blocks[self._used :]
        return foreign

    def _add(self, param: Parameter) -> bool:
        """Puts a parameter into a group; returns False if its update is more than a formula."""
        rule = param.update_rule
        if type(param) is not Parameter or 'update' in param.__dict__:
            return False
        if rule is None:
            return True
        if not (isinstance(rule, FormulaRule) and ATTRIBUTES.issuperset(rule.__dict__)):
            return False
        on_device = type(param._data) is cuda.ndarray
        if not (rule.groupable_on_device if on_device else rule.groupable):
            return False
        if not rule.enabled:
            return True
        node: Any = param._node
        array, grad = param._data, node.grad_value
        if on_device:
            return rule._hooks is None and grad is not None and self._add_on_device(param, rule)
        if (
            type(array) is not np.ndarray
            or type(grad) is not np.ndarray
            or array.shape != grad.shape
            or array.dtype != grad.dtype
            or rule._hooks is not None
            or rule._use_fp32_update
            or node.loss_scale is not None
        ):
            return False
        if node.guard.__class__ is int:  # as _inplace.wrote does
            clock[0] += 1
            node.guard = clock[0]
        self._place(param, rule, array, grad)
        return True

    def _place(self, param: Parameter, rule: FormulaRule, array: np.ndarray, grad: np.ndarray) -> None:
        """Puts a parameter into the group for the class, values and update count of its rule, in order."""
        if id(rule) in self._waiting:  # shared by several links: its second update must follow its first
            self._run()
        self._waiting.add(id(rule))
        rule.t += 1
        values = rule.hyperparam
        if type(values) is Hyperparameter and not values.__dict__ and values._parent is not None:
            values = values._parent  # usually the optimizer's, shared by all of its rules
        size = array.size
        key = (type(rule), id(values), rule.t, array.dtype, rule.group_token)
        group = self._open.get(key)
        if group is None or (group.update is None and (size > SMALL or group.total + size > group.capacity)):
            group = _Group(rule, values, array.dtype)
            self._groups.append(group)
            if size <= SMALL or group.update is not None:
                self._open[key] = group
        state = rule._state
        if state is None:
            rule._init_states(param)
            state = rule._state
        else:
            group.fresh = False
        group.total += size
        group.params.append(param)
        group.grads.append(grad)
        group.arrays.append(array)
        for name in group.states:
            group.arrays.append(state.get(name))

    def _add_on_device(self, param: Parameter, rule: FormulaRule) -> bool:
        """Puts a parameter on a device into the group of its rule; returns False if it must be updated alone."""
        if id(rule) in self._waiting:
            self._run()
        values = rule.hyperparam
        if type(values) is Hyperparameter and not values.__dict__ and values._parent is not None:
            values = values._parent
        rule.t += 1
        self._on_device = self._on_device or DeviceUpdate()
        if not self._on_device.add(param, rule, values, param._loss_scale):
            rule.t -= 1
            return False
        wrote(param.edge)
        self._waiting.add(id(rule))
        return True

    def _run(self) -> None:
        """Updates the waiting parameters, group by group; if some groups fail, raises the first error at the end."""
        self._waiting.clear()
        self._open.clear()
        errors: list[Exception] = []
        if self._on_device is not None:
            try:
                self._on_device.run()
            except Exception as error:
                errors.append(error)
        blocks = self._blocks
        while self._groups:
            group, position = self._groups.pop(0), self._used
            held = blocks[position].held if position < len(blocks) else []
            try:
                if group.update is not None:
                    _one_by_one(group)
                    continue
                if len(held) != len(group.arrays) or not all(map(is_, held, group.arrays)):
                    blocks[position : position + 1] = [_Block(group)]
                self._used = position + 1
                blocks[position].run(group)
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]


class _Group:
    """Parameters with the same rule class, hyperparameters, update count and dtype, and their common values."""

    __slots__ = (
        *('arrays', 'capacity', 'coefficients', 'dtype', 'fresh'),
        *('grads', 'hyperparam', 'operands', 'params', 'rule', 'states', 'total', 'update'),
    )

    def __init__(self, rule: FormulaRule, hyperparam: Hyperparameter, dtype: np.dtype[Any]) -> None:
        self.rule = rule
        self.hyperparam = hyperparam
        self.dtype = computing_dtype(type(rule).__name__, dtype)
        self.coefficients = rule.coefficients(hyperparam, self.dtype)
        self.states = rule._kept_states(hyperparam)
        # The compiled kernel, which updates one parameter after another, or the operands of the formula.
        self.update: Any = None
        if HAS_KERNELS:
            self.update = compiled_update(rule.formula, self.dtype, self.coefficients, len(self.states))
        self.operands = rule.operands(self.coefficients, self.dtype) if self.update is None else None
        self.capacity = BLOCK_BYTES // self.dtype.itemsize
        self.total = 0
        self.params: list[Parameter] = []
        self.grads: list[np.ndarray] = []
        # The arrays of each parameter followed by its states.
        self.arrays: list[Any] = []
        # Whether the states have not been accessed yet.
        self.fresh = True


class _Block:
    """The memory of a group: a block to gather it in, with the parts of each parameter, or views of one parameter."""

    def __init__(self, group: _Group) -> None:
        #: The arrays for which it was made.
        self.held = list(group.arrays)
        self._width = 1 + len(group.states)
        # The parameter and its states as passed to the formula; None if they must be updated one by one.
        self._arrays: list[np.ndarray] | None = None
        self._gathered: list[tuple[np.ndarray, list[np.ndarray]]] = []
        self._back: list[tuple[np.ndarray, np.ndarray]] = []
        self._temporaries: list[np.ndarray] = []
        if not _fit(self.held, self._width) or _overlap(self.held):
            return
        if len(group.params) > 1 or (self.held[0].dtype != group.dtype and group.total <= SMALL):
            self._gather(group)
        elif self.held[0].dtype == group.dtype:
            self._arrays = [array.reshape(-1) for array in self.held]
            if group.total <= SMALL:
                self._temporaries = list(np.empty((group.rule.temporaries, group.total), group.dtype))

    def _gather(self, group: _Group) -> None:
        """Allocates a block for the group, and plans the copies to it and back."""
        blocks = np.empty((1 + self._width + group.rule.temporaries, group.total), group.dtype)
        self._grad, *self._arrays = blocks[: 1 + self._width]
        self._temporaries = list(blocks[1 + self._width :])
        # States that have not been accessed yet may live in the block, which avoids copies.
        adopt = group.fresh and self.held[0].dtype == group.dtype
        for index, block in enumerate(self._arrays):
            arrays = self.held[index :: self._width]
            if index and adopt:
                self._adopt(group, index, block, arrays)
            else:
                self._gathered.append((block, arrays))
                self._back += _parts(block, arrays)

    def _adopt(self, group: _Group, index: int, block: np.ndarray, states: list[np.ndarray]) -> None:
        """Makes states views of the block, so that they need no copies."""
        np.concatenate(states, axis=None, out=block)
        parts = [part for _, part in _parts(block, states)]
        self.held[index :: self._width] = parts
        for param, part in zip(group.params, parts, strict=True):
            param.update_rule._state[group.states[index - 1]] = part

    def run(self, group: _Group) -> None:
        """Updates the parameters."""
        if self._arrays is None:
            _one_by_one(group)
            return
        param, *states = self._arrays
        if self._gathered:
            for block, arrays in self._gathered:
                np.concatenate(arrays, axis=None, out=block)
            grad = np.concatenate(group.grads, axis=None, out=self._grad)
        else:
            grad = group.grads[0].reshape(-1)
        if group.total > SMALL and len(group.params) == 1:
            apply_in_place(group.rule, group.operands, group.dtype, [param, grad, *states])
        else:
            group.rule.formula(np, group.operands, self._temporaries, param, grad, *states)
        for array, part in self._back:
            array[...] = part


def _by_the_tape(params: list[Parameter]) -> int:
    """Lets the compiled tape update the first parameters that belong to one group; returns how many."""
    rule = params[0].update_rule if params else None
    if not isinstance(rule, FormulaRule) or not rule.groupable or type(rule.hyperparam) is not Hyperparameter:
        return 0
    values, array = rule.hyperparam._parent, params[0]._data
    if values is None or type(array) is not np.ndarray:
        return 0
    rule.t += 1  # because coefficients are those of the update that begins
    try:
        coefficients = rule.coefficients(values, array.dtype)
    except MemoryError:
        raise
    except Exception:  # the loop that comes to this parameter raises it
        return 0
    finally:
        rule.t -= 1
    states = rule._kept_states(values)
    update = compiled_update(rule.formula, array.dtype, coefficients, len(states))
    if update is None:
        return 0
    common = type(rule), values, rule.t + 1, rule.group_token, array.dtype, states, *update
    done: int = native.update(params, (Parameter, Hyperparameter, ATTRIBUTES, *common))
    return done


def _one_by_one(group: _Group) -> None:
    """Updates the parameters of a group one by one; if some fail, raises the first error at the end."""
    errors: list[Exception] = []
    kernel, last = group.update or (None, ())
    if set(map(type, group.arrays)) != {np.ndarray}:  # a state is missing, or on a device
        kernel = None
    width = 1 + len(group.states)
    for number, (param, grad) in enumerate(zip(group.params, group.grads, strict=True)):
        arrays = group.arrays[number * width : (number + 1) * width]
        try:
            if kernel is None or not kernel(grad, *arrays, *last):
                rule = param.update_rule
                rule._init_states(param)
                rule.apply(param, group.coefficients, group.dtype)
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _fit(arrays: list[Any], width: int) -> bool:
    """Whether arrays and their states are contiguous and writeable, and states have the layout of parameters."""
    return all(
        type(array) is np.ndarray
        and array.flags.c_contiguous
        and array.flags.writeable
        and array.shape == arrays[index - index % width].shape
        and array.dtype == arrays[index - index % width].dtype
        for index, array in enumerate(arrays)
    )


def _overlap(arrays: list[np.ndarray]) -> bool:
    """Whether two contiguous arrays share memory, so that the second update must see the result of the first."""
    spans = sorted((a.__array_interface__['data'][0], a.nbytes) for a in arrays if a.size)
    return any(start + size > after for (start, size), (after, _) in pairwise(spans))


def _parts(block: np.ndarray, arrays: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs each array with its part of the block, in its shape."""
    pairs, start = [], 0
    for array in arrays:
        pairs.append((array, block[start : start + array.size].reshape(array.shape)))
        start += array.size
    return pairs
