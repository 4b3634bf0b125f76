"""What the normalizations have in common: checks, running statistics, and the gradient in differentiable terms."""

from __future__ import annotations

import math
from typing import Any

from minichainer.functions._checks import check_number, invalid
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import reshape, sum_to
from minichainer.functions.math.reductions import sum as sum_
from minichainer.functions.util._first_pass import about_to_write
from minichainer.variable import Variable, as_array


def where(label: str) -> str:
    """The head of an error of the op with that label."""
    return f'Invalid operation is performed in: {label} (Forward)'


def check_float(label: str, **xs: Any) -> None:
    """Raises InvalidType where an argument is no float array."""
    for name, x in xs.items():
        if x.dtype.kind != 'f':
            remedy = 'convert it first, for example by x.astype(numpy.float32)'
            raise invalid(f'{name}.dtype of kind float', f'{x.dtype}; {remedy}', where(label))


def check_eps(label: str, eps: float) -> None:
    """Raises TypeError where ``eps`` is no number, ValueError where it would make a variance negative."""
    check_number(eps, label, 'eps')
    if not eps >= 0:
        raise ValueError(f'{label}: eps is added to a variance\nExpect: eps >= 0\nActual: eps = {eps}')


def check_shapes(label: str, shape: tuple[int, ...], why: str, **params: Any) -> None:
    """Raises InvalidType where an argument has another shape than ``shape``."""
    for name, param in params.items():
        if param.shape != shape:
            raise invalid(f'{name}.shape == {shape}, {why}', f'{name}.shape = {param.shape}', where(label))


def check_one_dtype(label: str, **params: Any) -> None:
    """Raises InvalidType where arguments differ in dtype."""
    names = list(params)
    for name in names[1:]:
        if params[name].dtype != params[names[0]].dtype:
            actual = f'{params[names[0]].dtype} != {params[name].dtype}'
            raise invalid(f'{names[0]}.dtype == {name}.dtype', actual, where(label))


def checked_axis(label: str, axis: Any, ndim: int) -> tuple[int, ...] | None:
    """The axes of the statistics as a tuple of non-negative ints; None stays None.

    Raises:
        RuntimeError: they are no ints, or not in ascending order.
        InvalidType: an axis is out of range.
    """
    if axis is None:
        return None
    axes = (axis,) if isinstance(axis, int) else axis
    if not isinstance(axes, tuple) or not all(isinstance(a, int) for a in axes):
        raise RuntimeError(f'{label}: axis must be int, tuple of int or None, came {axis!r}')
    for a in axes:
        if not -ndim <= a < ndim:
            raise invalid(f'-{ndim} <= axis < {ndim}', f'axis = {axis}', where(label))
    axes = tuple([a % ndim for a in axes])
    if any(a >= b for a, b in zip(axes, axes[1:], strict=False)):
        raise RuntimeError(f'{label}: numbers in axis must be sorted in ascending order, came {axis}')
    return axes


def statistics_axes(label: str, x: Any, gamma: Any, axis: Any) -> tuple[int, ...]:
    """The axes over which batch normalization takes statistics, after ``gamma``'s shape has been checked.

    Where ``axis`` is None the axes of gamma are those after the first.
    """
    axes = checked_axis(label, axis, x.ndim)
    if axes is None:
        if x.ndim <= gamma.ndim:
            raise invalid(
                f'x.ndim >= gamma.ndim + 1 = {gamma.ndim + 1}', f'x.ndim = {x.ndim} (shape {x.shape})', where(label)
            )
        axes = (0, *range(gamma.ndim + 1, x.ndim))
    key = tuple([size for i, size in enumerate(x.shape) if i not in axes])
    why = f'what is left of x.shape = {x.shape} without the axes {axes}'
    check_shapes(label, key, why, gamma=gamma)
    return axes


def key_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with ones at ``axes``: how a parameter is broadcast against the array."""
    return tuple([1 if i in axes else size for i, size in enumerate(shape)])


def wide(x: Any) -> Any:
    """A Variable of float16 in float32, all else as it is: what is computed in."""
    return as_dtype(x, 'f') if x.dtype.char == 'e' else x


def update_running(running: Any, decay: float, value: Any) -> None:
    """Moves a running statistic towards ``value``, in place.

    Args:
        running: array or Variable, which is written to.
        decay: how much of it stays.
        value: array of as many elements.
    """
    array = as_array(running)
    about_to_write(array)
    array *= decay
    array += ((1 - decay) * value).reshape(array.shape)


def check_running(label: str, shape: tuple[int, ...], **running: Any) -> None:
    """Raises ValueError where a running statistic has another shape than ``shape``."""
    for name, value in running.items():
        if as_array(value).shape != shape:
            raise ValueError(f'{label}: {name} must have shape {shape}, came {as_array(value).shape}')


def affine_gradients(
    indexes: tuple[int, ...], x: Variable, gamma: Variable, gy: Variable, axes: Any, eps: float, centered: bool = True
) -> tuple[Variable | None, ...]:
    r"""Gradients of :math:`\gamma z + \beta`, z being x normalized over axes, in differentiable terms.

    With :math:`g = \gamma\, gy` and the mean over ``axes`` as a bar, they are :math:`\frac{1}{\sigma}(g - \bar g -
    z\,\overline{g z})`, the sum of gy z, and the sum of gy. All depends on x through its mean and variance again, so
    that they may be differentiated any number of times.

    Args:
        indexes: which are wanted: 0 for x, 1 for gamma, 2 for beta.
        x: Variable of float32 or float64.
        gamma: Variable that can be broadcast against x.
        gy: gradient of the result.
        axes: axes of the statistics.
        eps: added to the variance.
        centered: False: nothing is subtracted, and the variance is the mean of squares.
    """
    over = 1.0 / max(math.prod([x.shape[i] for i in axes]), 1)

    def mean(v: Any) -> Any:
        return sum_(v, axes, True) * over

    z = ggamma = None
    if 0 in indexes or 1 in indexes:
        centre = x - mean(x) if centered else x
        inv_std = (mean(centre * centre) + eps) ** -0.5
        z = centre * inv_std
    if 1 in indexes:
        ggamma = sum_to(gy * z, gamma.shape)
    if 0 not in indexes:
        return None, ggamma, sum_to(gy, gamma.shape)
    g = gy * gamma
    gx = g - z * mean(g * z)
    if centered:
        gx = gx - mean(g)
    return gx * inv_std, ggamma, sum_to(gy, gamma.shape) if 2 in indexes else None


def as_inputs(gradients: tuple[Any, ...], inputs: Any) -> list[Any]:
    """Gradients (Variables or None) in the shapes and dtypes of what they are the gradients of."""
    pairs = zip(gradients, inputs, strict=True)
    return [None if g is None else as_dtype(reshape(g, x.shape), x.dtype) for g, x in pairs]
