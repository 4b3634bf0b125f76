"""The nodes of what normalizes each sample for itself: rows of a matrix, and groups of channels."""

from __future__ import annotations

import math
from typing import Any

from minichainer.backend import get_array_module
from minichainer.function_node import FunctionNode
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import reshape, sum_to
from minichainer.functions.normalization._common import affine_gradients, as_inputs, wide
from minichainer.kernels import normalization as channels_kernels
from minichainer.kernels import sample_normalization as kernels
from minichainer.kernels.sample_normalization import Groups
from minichainer.variable import Variable, as_variable


class RowNormalization(FunctionNode):
    """Normalizes the rows of a matrix, then scales columns, and shifts them where there is a third input.

    Args:
        name: what graphs and errors show.
        eps: added to the variance.
    """

    takes_any_layout = True

    def __init__(self, name: str, eps: float) -> None:
        self.name_of_op = name
        self.eps = eps
        self.centered = True

    @property
    def label(self) -> str:
        return self.name_of_op

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs((0, 1))
        x = _contiguous(channels_kernels.wide(inputs[0]))
        gamma, *beta = [v.astype(x.dtype, copy=False) for v in inputs[1:]]
        self.centered = bool(beta)
        y, self.moments = kernels.normalize_rows(get_array_module(x), x, gamma, beta[0] if beta else None, self.eps)
        return (y.astype(inputs[0].dtype, copy=False),)

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> list[Any]:
        retained_x, gamma = self._retained_inputs
        x = _contiguous(channels_kernels.wide(retained_x))
        g = grad_outputs[0].astype(x.dtype, copy=False)
        found = kernels.rows_gradient(get_array_module(x), g, x, gamma.astype(x.dtype, copy=False), self.moments)
        dtypes = retained_x.dtype, gamma.dtype, gamma.dtype
        return [found[i].astype(dtypes[i], copy=False) for i in indexes]

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        x, gamma = self.get_retained_inputs()
        columns = as_dtype(reshape(gamma, (1, gamma.size)), wide(x).dtype)
        gradients = affine_gradients(
            target_input_indexes, wide(x), columns, wide(grad_outputs[0]), (1,), self.eps, self.centered
        )
        found = as_inputs(gradients, (x, gamma, gamma))
        return tuple([found[i] for i in target_input_indexes])


class GroupNormalization(FunctionNode):
    """Normalizes groups of channels of each sample, then scales and shifts channels.

    Args:
        name: what graphs and errors show.
        groups: number of groups of channels.
        eps: added to the variance.
    """

    takes_any_layout = True

    def __init__(self, name: str, groups: int, eps: float) -> None:
        self.name_of_op = name
        self.groups = groups
        self.eps = eps

    @property
    def label(self) -> str:
        return self.name_of_op

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs((0, 1))
        x, gamma, beta = inputs
        last = _channels_are_last(x)
        laid = _lay(channels_kernels.wide(x), last)
        y, self.moments = kernels.normalize_groups(
            get_array_module(x), laid, Groups(self.groups, last), gamma.astype('d'), beta.astype('d'), self.eps
        )
        return (_unlay(y, x.shape, last).astype(x.dtype, copy=False),)

    def backward_arrays(self, indexes: Any, grad_outputs: Any) -> list[Any]:
        x, gamma = self._retained_inputs
        last = _channels_are_last(x)
        laid = _lay(channels_kernels.wide(x), last)
        g = _lay(channels_kernels.wide(grad_outputs[0]), last)
        gx, *sums = kernels.groups_gradient(
            get_array_module(x), g, laid, Groups(self.groups, last), gamma.astype('d'), self.moments
        )
        found = [_unlay(gx, x.shape, last).astype(x.dtype, copy=False), *[v.astype(gamma.dtype) for v in sums]]
        return [found[i] for i in indexes]

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        x, gamma = self.get_retained_inputs()
        n, c = x.shape[:2]
        shape = (n, self.groups, c // self.groups, math.prod(x.shape[2:]))
        per_channel = reshape(as_dtype(gamma, wide(x).dtype), (1, self.groups, c // self.groups, 1))
        grouped, g = reshape(wide(x), shape), reshape(wide(grad_outputs[0]), shape)
        gradients = affine_gradients(target_input_indexes, grouped, per_channel, g, (2, 3), self.eps)
        found = as_inputs(gradients, (x, gamma, gamma))
        return tuple([found[i] for i in target_input_indexes])


def _contiguous(x: Any) -> Any:
    return x if x.flags.c_contiguous else x.copy(order='C')


def _channels_are_last(x: Any) -> bool:
    """Whether channels are to be treated as the last axis in memory; so are those of (N, C)."""
    if x.ndim == 2:
        return True
    return not x.flags.c_contiguous and x.transpose(0, *range(2, x.ndim), 1).flags.c_contiguous


def _lay(x: Any, last: bool) -> Any:
    """An array (N, C, ...) as (N, C, S), or (N, S, C) where channels are last; C-contiguous."""
    n, c = x.shape[:2]
    size = math.prod(x.shape[2:])
    if last:
        return _contiguous(x.transpose(0, *range(2, x.ndim), 1).reshape(n, size, c))
    return _contiguous(x.reshape(n, c, size))


def _unlay(y: Any, shape: tuple[int, ...], last: bool) -> Any:
    """The inverse of :func:`_lay`."""
    if not last:
        return y.reshape(shape)
    return y.reshape(shape[0], *shape[2:], shape[1]).transpose(0, len(shape) - 1, *range(1, len(shape) - 1))


def _reference(x: Any, gamma: Any, beta: Any, groups: int, eps: float, centered: bool = True) -> Variable:
    """The plain composition of both: documentation, and oracle of the tests."""
    x = as_variable(x)
    n, c = x.shape[:2]
    s = math.prod(x.shape[2:])
    rows = reshape(x, (n * groups, c // groups * s))
    size = max(rows.shape[1], 1)
    if centered:
        rows = rows - sum_to(rows, (len(rows), 1)) / size
    rows = rows / (sum_to(rows * rows, (len(rows), 1)) / size + eps) ** 0.5
    y = reshape(rows, (n, c, s)) * reshape(gamma, (1, c, 1)) + reshape(beta, (1, c, 1))
    return reshape(y, x.shape)
