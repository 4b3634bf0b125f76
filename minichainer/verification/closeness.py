"""Arrays that must be equal within a tolerance, as Chainer's tests ask."""

from __future__ import annotations

from typing import Any

import numpy as np

from minichainer.backend import get_array_module
from minichainer.variable import Variable


def assert_allclose(x: Any, y: Any, atol: float = 1e-5, rtol: float = 1e-4, verbose: bool = True) -> None:
    """Asserts that two arrays agree, element by element: ``abs(x - y) <= atol + rtol * abs(y)``.

    It compares arrays of any kind, so NaN equals NaN, as in ``numpy.testing``; the gradient checks reject NaN.

    Args:
        x: An array or number, on CPU or GPU.
        y: The expected one, of the same shape or a number.
        atol: Allowed absolute error, in the unit of the arrays.
        rtol: Allowed error relative to ``y``.
        verbose: Whether the message shows the arrays.

    Raises:
        AssertionError: They differ; the message names the worst element.
        TypeError: ``x`` or ``y`` is a Variable; compare ``variable.array``.

    Source: documentation of ``chainer.testing.assert_allclose``.

    >>> from minichainer import gradient_check
    >>> gradient_check.assert_allclose([1.0, 2.0], [1.0, 2.00001])
    """
    x, y = _host_array(x), _host_array(y)
    try:
        np.testing.assert_allclose(x, y, atol=atol, rtol=rtol, verbose=verbose)
    except AssertionError as error:
        raise AssertionError(f'{error}\n\n{_worst_difference(x, y, atol, rtol)}') from None


def _host_array(value: Any) -> Any:
    if isinstance(value, Variable):
        raise TypeError(f'assert_allclose compares arrays, not {type(value).__name__}; pass variable.array')
    return np.asarray(value.get() if get_array_module(value) is not np else value)


def _worst_difference(x: Any, y: Any, atol: float, rtol: float) -> str:
    """The error message of :func:`assert_allclose`."""
    text = f'assert_allclose failed:\n  shape: {x.shape} {y.shape}\n  dtype: {x.dtype} {y.dtype}'
    if not x.size or (x.shape != y.shape and x.ndim and y.ndim):
        return text
    x, y = np.broadcast_arrays(x, y)
    with np.errstate(invalid='ignore', over='ignore'):
        error = abs(np.subtract(x, y, dtype=np.result_type(x, y, np.float64)))
        tolerance = atol + rtol * abs(y)
        excess = np.where((x == y) | ((x != x) & (y != y)), -np.inf, error - tolerance)
    i = np.unravel_index(np.where(np.isnan(excess), np.inf, excess).argmax(), x.shape)
    return (
        f'{text}\n  worst element: {tuple(map(int, i))}\n  x: {x[i]!r}\n  y: {y[i]!r}\n'
        f'  error: {error[i]:.6g}, allowed: {tolerance[i]:.6g}'
    )
