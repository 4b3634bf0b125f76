"""Updating the parameters of a model together: as one parameter at a time, with fewer and cheaper calls."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from operator import is_
from typing import Any

import numpy as np

from minichainer._update_rule.elementwise import (
    ElementwiseRule,
    apply_in_place,
    block_size,
    computing_dtype,
)
from minichainer._update_rule.hyperparameter import Hyperparameter
from minichainer.variable import Parameter

# Parameters of at most this many elements are gathered: for larger ones copying costs more than the calls it
# saves.
SMALL = 2048

# What a user may replace on one rule; then the rule is asked to update by itself.
_REPLACEABLE = ('update', 'update_core', 'update_core_cpu')


class GroupedUpdate:
    """Updates parameters like ``param.update()`` for each in turn, those with the same rule and values
    together.

    Small parameters of a group are gathered into one block, updated by one evaluation of the formula and
    scattered back; larger ones are updated in place. What does not fit (another rule class, hooks, float32
    updates, arrays that overlap or are not contiguous, another device) is updated alone. Holds scratch memory
    and views only: a copy or a pickle of it is empty.
    """

    def __init__(self) -> None:
        # In the order they were used last time, which is the order in which they will be used next time.
        self._blocks: list[_Block] = []
        self._used = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return (GroupedUpdate, ())

    def update(self, params: Iterable[Parameter]) -> bool:
        """Update every parameter once per time it appears; return whether any code but ours was called for
        it."""
        self._used = 0
        foreign = False
        groups: dict[Any, _Group] = {}
        seen: set[int] = set()
        for param in params:
            rule = param.update_rule
            if not _is_plain(param, rule):
                foreign = True
                self._run(groups, seen)
                param.update()
            elif rule is not None and rule.enabled:
                if id(rule) in seen:  # shared by several links: its second update must follow its first
                    self._run(groups, seen)
                seen.add(id(rule))
                self._add(groups, param, rule)
        self._run(groups, seen)
        del self._blocks[self._used :]
        return foreign

    def _add(self, groups: dict[Any, _Group], param: Parameter, rule: ElementwiseRule) -> None:
        hyperparam = _defining(rule.hyperparam)
        rule.t += 1
        array = param.array
        key = (type(rule), id(hyperparam), rule.t, array.dtype, rule.group_token)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(rule, hyperparam, array.dtype)
        size = array.size
        if size > SMALL:
            alone = group.alone()
            alone.add(param, rule, size)
            self._run_group(alone)
            return
        if group.total + size > group.capacity:
            self._run_group(group)
        group.add(param, rule, size)

    def _run(self, groups: dict[Any, _Group], seen: set[int]) -> None:
        for group in groups.values():
            if group.params:
                self._run_group(group)
        groups.clear()
        seen.clear()

    def _run_group(self, group: _Group) -> None:
        position = self._used
        if position == len(self._blocks):
            self._blocks.append(_Block(group))
        elif not self._blocks[position].holds(group):
            self._blocks[position] = _Block(group)
        self._used += 1
        self._blocks[position].run(group)
        group.clear()


class _Group:
    """Parameters with the same rule class, hyperparameters, update count and dtype, waiting for their
    update."""

    def __init__(self, rule: ElementwiseRule, hyperparam: Hyperparameter, dtype: np.dtype[Any]) -> None:
        self.dtype = computing_dtype(rule, dtype)
        self.operands = rule.operands(hyperparam, self.dtype)
        self.capacity = block_size(self.dtype)
        self.rule = rule
        self.state_names = rule.state_names
        self.clear()

    def clear(self) -> None:
        self.params: list[Parameter] = []
        # The arrays of each parameter followed by its states.
        self.written: list[Any] = []
        self.grads: list[np.ndarray] = []
        self.total = 0
        self.fresh = True

    def alone(self) -> _Group:
        """Return an empty group with the same values."""
        other = copy.copy(self)
        other.clear()
        return other

    def add(self, param: Parameter, rule: ElementwiseRule, size: int) -> None:
        state = rule._state
        if state is None:
            rule._init_states(param)
            state = rule._state
        else:
            self.fresh = False
        self.params.append(param)
        self.written.append(param.array)
        self.written.extend(map(state.get, self.state_names))
        self.grads.append(param.grad)
        self.total += size


class _Block:
    """Where a group is updated: the memory to gather it in and the way back, or views of its own arrays."""

    def __init__(self, group: _Group) -> None:
        self._held = list(group.written)
        self._width = 1 + len(group.state_names)
        self._flat: list[np.ndarray] | None = None
        self._gathered: list[tuple[np.ndarray, list[np.ndarray]]] = []
        self._back: list[tuple[np.ndarray, np.ndarray]] = []
        self._fits = _fit(self._held, self._width) and not _overlap(self._held)
        if not self._fits:
            return
        if len(group.params) == 1:
            if group.written[0].dtype == group.dtype:
                self._flat = [array.reshape(-1) for array in self._held]
        else:
            self._gather(group)

    def _gather(self, group: _Group) -> None:
        arrays = self._held[:: self._width]
        blocks = np.empty((1 + self._width + group.rule.temporaries, group.total), group.dtype)
        self._grad, self._param, *self._states = blocks[: 1 + self._width]
        self._temporaries = list(blocks[1 + self._width :])
        self._gathered = [(self._param, arrays)]
        self._back = _parts(self._param, arrays)
        # Where nobody has seen the states yet they may live in the block, and need no copying.
        adopt = group.fresh and arrays[0].dtype == group.dtype
        for index, (name, block) in enumerate(zip(group.state_names, self._states, strict=True), 1):
            states = self._held[index :: self._width]
            if adopt:
                np.concatenate(states, axis=None, out=block)
                self._held[index :: self._width] = [part for _, part in _parts(block, states)]
                for param, state in zip(group.params, self._held[index :: self._width], strict=True):
                    param.update_rule._state[name] = state
            else:
                self._gathered.append((block, states))
                self._back += _parts(block, states)

    def holds(self, group: _Group) -> bool:
        """Whether it was made for exactly these arrays."""
        held, written = self._held, group.written
        return len(held) == len(written) and all(map(is_, held, written))

    def run(self, group: _Group) -> None:
        """Update the group's parameters."""
        rule, grad = group.rule, group.grads[0]
        if self._gathered:
            for block, arrays in self._gathered:
                np.concatenate(arrays, axis=None, out=block)
            np.concatenate(group.grads, axis=None, out=self._grad)
            rule.formula(np, group.operands, self._temporaries, self._param, self._grad, *self._states)
            for array, part in self._back:
                array[...] = part
        elif self._flat is not None and grad.flags.c_contiguous:
            array, *states = self._flat
            apply_in_place(rule, group.operands, group.dtype, [array, grad.reshape(-1), *states])
        else:
            for param in group.params:
                param.update_rule._init_states(param)
                param.update_rule.apply(param, group.operands, group.dtype)


def _is_plain(param: Any, rule: Any) -> bool:
    """Whether ``param.update()`` would do nothing but apply the rule's formula to NumPy arrays (or
    nothing)."""
    if type(param).update is not Parameter.update or 'update' in param.__dict__:
        return False
    if rule is None:
        return True
    if 'groupable' not in type(rule).__dict__ or not rule.__dict__.keys().isdisjoint(_REPLACEABLE):
        return False
    if not rule.enabled:
        return True
    array, grad = param.array, param.grad
    return (
        type(array) is np.ndarray
        and type(grad) is np.ndarray
        and array.shape == grad.shape
        and array.dtype == grad.dtype
        and rule._hooks is None
        and not rule._use_fp32_update
        and param._loss_scale is None
    )


def _defining(hyperparam: Hyperparameter) -> Hyperparameter:
    """Return the nearest set, from here upwards, that has values of its own."""
    while type(hyperparam) is Hyperparameter and len(hyperparam.__dict__) == 1:
        if hyperparam._parent is None:
            break
        hyperparam = hyperparam._parent
    return hyperparam


def _fit(written: list[Any], width: int) -> bool:
    """Whether arrays and their states are contiguous and writeable, the states like their parameters."""
    return all(
        type(array) is np.ndarray
        and array.flags.c_contiguous
        and array.flags.writeable
        and array.shape == written[index - index % width].shape
        and array.dtype == written[index - index % width].dtype
        for index, array in enumerate(written)
    )


def _overlap(arrays: list[np.ndarray]) -> bool:
    """Whether two contiguous arrays share memory, so that the second update must see the first."""
    spans = sorted((a.__array_interface__['data'][0], a.nbytes) for a in arrays if a.size)
    return any(start + size > after for (start, size), (after, _) in zip(spans, spans[1:], strict=False))


def _parts(block: np.ndarray, arrays: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pair each array with its part of the block, in its shape."""
    pairs, start = [], 0
    for array in arrays:
        pairs.append((array, block[start : start + array.size].reshape(array.shape)))
        start += array.size
    return pairs
