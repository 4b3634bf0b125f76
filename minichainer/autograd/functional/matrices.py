"""Jacobians and Hessians."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from minichainer.autograd.functional._tape import gradients, pushed, recording, value_and_gradient
from minichainer.autograd.functional._values import Func, called, complete, filled, inputs_of, returned, units
from minichainer.functions.array.joining import stack
from minichainer.functions.array.shape import reshape
from minichainer.variable import Variable


class _UnknownStrategy(ValueError, AssertionError):
    """An unknown strategy: an AssertionError in torch, a ValueError by its nature."""


def jacobian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = 'reverse-mode',
) -> Any:
    r"""Jacobian of a function, :math:`J_{ij} = \partial y_i / \partial x_j`.

    Args:
        func: function of Variables that returns a Variable or a tuple of them.
        inputs: Variable or array of floats, or a tuple of them.
        create_graph: the result can be differentiated with respect to inputs and what ``func`` closes over.
        strict: raise where the result would be zero because an output does not depend on an input.
        vectorize: accepted for compatibility. There is no vectorized map here: the numbers and the time are the same.
        strategy: ``'reverse-mode'``, one backward pass per element of the outputs, or, with ``vectorize=True``,
            ``'forward-mode'``, one pass per element of the inputs.

    Returns:
        Variable with the axes of the output, then those of the input; for a tuple of inputs a tuple of these; for a
        tuple of outputs a tuple of what belongs to each. The dtype is that of the input, and that of the output in
        forward mode.

    Raises:
        TypeError: inputs or outputs are not Variables.
        RuntimeError: inputs are not floats, strict mode found an independence, or it is combined with ``vectorize``.
        NotImplementedError: forward mode without ``vectorize``, or with ``create_graph``.
        ValueError: ``strategy`` is unknown (also an AssertionError).

    >>> import numpy as np
    >>> from minichainer.autograd import functional
    >>> functional.jacobian(lambda x, y: x * y, (np.array([1., 2.]), np.array([3., 4.])))
    (variable([[3., 0.],
               [0., 4.]]), variable([[1., 0.],
                                     [0., 2.]]))
    """
    _check_strategy('jacobian', strategy, create_graph, strict, vectorize)
    with recording():
        return _jacobian('jacobian', func, inputs, create_graph, strict, strategy)


def hessian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = 'reverse-mode',
) -> Any:
    r"""Hessian of a scalar function, :math:`H_{ij} = \partial^2 y / \partial x_i \partial x_j`.

    Args:
        func: function of Variables that returns one Variable with one element.
        inputs: Variable or array of floats, or a tuple of them.
        create_graph: the result can be differentiated with respect to inputs and what ``func`` closes over.
        strict: raise where the result would be zero because the output or a gradient does not depend on an input.
        vectorize: accepted for compatibility. There is no vectorized map here: the numbers and the time are the same.
        outer_jacobian_strategy: how the gradient is differentiated: ``'reverse-mode'`` or, with ``vectorize=True``,
            ``'forward-mode'``.

    Returns:
        Variable with the axes of the input twice; for a tuple of inputs a tuple of tuples, where ``[i][j]`` belongs
        to inputs ``i`` and ``j``.

    Raises:
        TypeError: inputs or output are not Variables.
        RuntimeError: inputs are not floats, the output is not one element, strict mode found an independence, or
            it is combined with ``vectorize``.
        NotImplementedError: forward mode without ``vectorize``, or with ``create_graph``.
        ValueError: ``outer_jacobian_strategy`` is unknown (also an AssertionError).

    >>> import numpy as np, minichainer.functions as F
    >>> from minichainer.autograd import functional
    >>> functional.hessian(lambda x: F.sum(x ** 3), np.array([1., 2.]))
    variable([[ 6.,  0.],
              [ 0., 12.]])
    """
    _check_strategy('hessian', outer_jacobian_strategy, create_graph, strict, vectorize)

    def gradient(*xs: Variable) -> tuple[Variable, ...]:
        return tuple(value_and_gradient('hessian', func, xs, strict)[1])

    with recording():
        blocks = _jacobian('hessian', gradient, inputs, create_graph, strict, outer_jacobian_strategy)
    return blocks if isinstance(inputs, tuple) else blocks[0]


def _jacobian(name: str, func: Func, inputs: Any, create_graph: bool, strict: bool, strategy: str) -> Any:
    """The Jacobian in the structure of outputs and inputs."""
    xs, is_tuple = inputs_of(name, inputs, create_graph)
    if strategy == 'forward-mode':
        blocks, several = _by_columns(name, func, xs)
    else:
        ys, several = called(name, func, xs, strict)
        blocks = [_by_rows(name, y, xs, create_graph, strict) for y in ys]
    parts = [returned(row, is_tuple, create_graph) for row in blocks]
    return tuple(parts) if several else parts[0]


def _by_rows(name: str, y: Variable, xs: Sequence[Variable], create_graph: bool, strict: bool) -> list[Variable]:
    """The Jacobian of an output with respect to each input, one backward pass per row."""
    rows = [complete(name, gradients([y], xs, [unit], create_graph), xs, strict) for unit in units(y)]
    blocks = [_block([row[j] for row in rows], x, y.shape + x.shape, 0) for j, x in enumerate(xs)]
    return complete(name, blocks, xs, strict, ends=xs if create_graph else ())


def _by_columns(name: str, func: Func, xs: Sequence[Variable]) -> tuple[list[list[Variable]], bool]:
    """The Jacobian of each output with respect to each input, one tangent per column; whether outputs are a tuple."""
    directions = ([unit if k == j else None for k in range(len(xs))] for j, x in enumerate(xs) for unit in units(x))
    ys, is_tuple, tangents = pushed(name, func, xs, directions, False, False)
    columns = iter([complete(name, t, ys, False) for t in tangents])
    groups = [list(islice(columns, x.size)) for x in xs]
    return [
        [_block([c[k] for c in group], y, y.shape + x.shape, -1) for group, x in zip(groups, xs, strict=True)]
        for k, y in enumerate(ys)
    ], is_tuple


def _block(parts: Sequence[Variable], like: Variable, shape: tuple[int, ...], axis: int) -> Variable:
    """Rows (axis 0) or columns (axis -1) as one array of a shape; without any, an empty one like ``like``."""
    return reshape(stack(parts, axis) if parts else filled(like, 0, (0,)), shape)


def _check_strategy(name: str, strategy: str, create_graph: bool, strict: bool, vectorize: bool) -> None:
    if strategy not in ('reverse-mode', 'forward-mode'):
        raise _UnknownStrategy(f"{name}: the strategy must be 'reverse-mode' or 'forward-mode', got {strategy!r}")
    if strategy == 'forward-mode':
        if create_graph:
            raise NotImplementedError(f"{name}: 'forward-mode' has no create_graph=True; use 'reverse-mode'")
        if strict:
            raise RuntimeError(f"{name}: 'forward-mode' has no strict=True; use 'reverse-mode'")
        if not vectorize:
            raise NotImplementedError(f"{name}: 'forward-mode' needs vectorize=True; pass it, or use 'reverse-mode'")
    if strict and vectorize:
        raise RuntimeError(f'{name}: strict=True and vectorize=True exclude each other; pass only one of them')
