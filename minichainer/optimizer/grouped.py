"""Updating the parameters of a model together: as one parameter at a time, with fewer and cheaper calls."""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_
from typing import Any

import numpy as np

from minichainer.optimizer.formula import (
    ElementwiseRule,
    apply_in_place,
    block_size,
    computing_dtype,
)
from minichainer.optimizer.hyperparameters import Hyperparameter
from minichainer.variable import Parameter

# Parameters of at most this many elements are gathered: for larger ones copying costs more than the calls it
# saves.
SMALL = 8192


class GroupedUpdate:
    """Does ``param.update()`` for each parameter in turn, for those with equal rules and values together.

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
        """Update every parameter once per time it appears; return whether other code than ours was called."""
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
        hyperparam = rule.hyperparam
        if len(hyperparam.__dict__) == 1:
            hyperparam = _defining(hyperparam)
        rule.t += 1
        array = param.array
        key = (type(rule), id(hyperparam), rule.t, array.dtype, rule.group_token)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(rule, hyperparam, array.dtype)
        size = array.size
        if size > SMALL:
            alone = _Members()
            alone.add(param, array, rule, group.state_names)
            self._run_members(group, alone)
            return
        if group.total + size > group.capacity:
            self._run_members(group, group.waiting)
            group.clear()
        group.total += size
        group.waiting.add(param, array, rule, group.state_names)

    def _run(self, groups: dict[Any, _Group], seen: set[int]) -> None:
        for group in groups.values():
            if group.waiting.params:
                self._run_members(group, group.waiting)
        groups.clear()
        seen.clear()

    def _run_members(self, group: _Group, members: _Members) -> None:
        position, blocks = self._used, self._blocks
        if position == len(blocks):
            blocks.append(_Block(group, members))
        elif not blocks[position].holds(members):
            blocks[position] = _Block(group, members)
        self._used = position + 1
        blocks[position].run(group, members)


class _Members:
    """Parameters that are updated together, with the arrays this takes."""

    __slots__ = ('fresh', 'grads', 'params', 'written')

    def __init__(self) -> None:
        self.params: list[Parameter] = []
        # The arrays of each parameter followed by its states.
        self.written: list[Any] = []
        self.grads: list[np.ndarray] = []
        # Whether nobody has seen the states yet.
        self.fresh = True

    def add(self, param: Parameter, array: Any, rule: ElementwiseRule, state_names: tuple[str, ...]) -> None:
        state = rule._state
        if state is None:
            rule._init_states(param)
            state = rule._state
        else:
            self.fresh = False
        self.params.append(param)
        self.written.append(array)
        for name in state_names:
            self.written.append(state.get(name))
        self.grads.append(param.grad)


class _Group:
    """The values that parameters of one rule class, hyperparameters, update count and dtype have in common."""

    __slots__ = ('capacity', 'dtype', 'operands', 'rule', 'state_names', 'total', 'waiting')

    def __init__(self, rule: ElementwiseRule, hyperparam: Hyperparameter, dtype: np.dtype[Any]) -> None:
        self.dtype = computing_dtype(rule, dtype)
        self.operands = rule.operands(hyperparam, self.dtype)
        self.capacity = block_size(self.dtype)
        self.rule = rule
        self.state_names = rule.state_names
        self.clear()

    def clear(self) -> None:
        self.waiting = _Members()
        self.total = 0


class _Block:
    """Where parameters are updated: memory to gather them in and the way back, or views of their own arrays."""

    def __init__(self, group: _Group, members: _Members) -> None:
        self._held = list(members.written)
        self._width = 1 + len(group.state_names)
        self._flat: list[np.ndarray] | None = None
        self._gathered: list[tuple[np.ndarray, list[np.ndarray]]] = []
        self._back: list[tuple[np.ndarray, np.ndarray]] = []
        if not _fit(self._held, self._width) or _overlap(self._held):
            return
        if len(members.params) == 1:
            if members.written[0].dtype == group.dtype:
                self._flat = [array.reshape(-1) for array in self._held]
        else:
            self._gather(group, members)

    def _gather(self, group: _Group, members: _Members) -> None:
        arrays = self._held[:: self._width]
        total = sum(array.size for array in arrays)
        blocks = np.empty((1 + self._width + group.rule.temporaries, total), group.dtype)
        self._grad, self._param, *self._states = blocks[: 1 + self._width]
        self._temporaries = list(blocks[1 + self._width :])
        self._gathered = [(self._param, arrays)]
        self._back = _parts(self._param, arrays)
        # States that nobody has seen yet may live in the block, and need no copying.
        adopt = members.fresh and arrays[0].dtype == group.dtype
        for index, (name, block) in enumerate(zip(group.state_names, self._states, strict=True), 1):
            states = self._held[index :: self._width]
            if adopt:
                np.concatenate(states, axis=None, out=block)
                self._held[index :: self._width] = [part for _, part in _parts(block, states)]
                for param, state in zip(members.params, self._held[index :: self._width], strict=True):
                    param.update_rule._state[name] = state
            else:
                self._gathered.append((block, states))
                self._back += _parts(block, states)

    def holds(self, members: _Members) -> bool:
        """Whether it was made for exactly these arrays."""
        held, written = self._held, members.written
        return len(held) == len(written) and all(map(is_, held, written))

    def run(self, group: _Group, members: _Members) -> None:
        """Update the parameters."""
        rule, grads = group.rule, members.grads
        if self._gathered:
            for block, arrays in self._gathered:
                np.concatenate(arrays, axis=None, out=block)
            np.concatenate(grads, axis=None, out=self._grad)
            rule.formula(np, group.operands, self._temporaries, self._param, self._grad, *self._states)
            for array, part in self._back:
                array[...] = part
        elif self._flat is not None:
            array, *states = self._flat
            apply_in_place(rule, group.operands, group.dtype, [array, grads[0].reshape(-1), *states])
        else:
            for param in members.params:
                param.update_rule._init_states(param)
                param.update_rule.apply(param, group.operands, group.dtype)


def _is_plain(param: Any, rule: Any) -> bool:
    """Whether ``param.update()`` would do nothing but apply the rule's formula to NumPy arrays (or nothing)."""
    if (type(param) is not Parameter and type(param).update is not Parameter.update) or 'update' in param.__dict__:
        return False
    if rule is None:
        return True
    own = rule.__dict__
    if 'groupable' not in type(rule).__dict__ or 'update_core' in own or 'update_core_cpu' in own or 'update' in own:
        return False
    if not rule.enabled:
        return True
    array, grad = param.array, param.grad
    return (
        type(array) is np.ndarray
        and type(grad) is np.ndarray
        and array.shape == grad.shape
        and (array.dtype is grad.dtype or array.dtype == grad.dtype)
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
