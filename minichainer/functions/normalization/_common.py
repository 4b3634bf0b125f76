"""Shared code of the normalizations: checks, running statistics, and the gradient in differentiable functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy

from minichainer.backend import get_array_module
from minichainer.functions._arguments import Arguments, as_integer
from minichainer.functions.array.shape import sum_to
from minichainer.functions.math.reductions import sum as sum_
from minichainer.functions.util._first_pass import about_to_write
from minichainer.kernels.huge_parts import into_range
from minichainer.kernels.normalization import move
from minichainer.variable import Variable, as_array


class NormalizationArguments(Arguments):
    """The checks that all normalizations share; arrays are passed by name."""

    def float_arrays(self, **xs: Any) -> None:
        """Raises InvalidType if an argument is not a float array."""
        for name, x in xs.items():
            self.floats(x, name=name)

    def eps(self, eps: Any) -> None:
        """Raises TypeError unless ``eps`` is a number, ValueError if it is negative."""
        self.number(eps, 'eps')
        if not eps >= 0:
            raise ValueError(f'{self.name}: eps is added to a variance\nExpect: eps >= 0\nActual: eps = {eps}')

    def shapes(self, shape: tuple[int, ...], why: str, **params: Any) -> None:
        """Raises InvalidType unless all arguments have this shape."""
        for name, param in params.items():
            if param.shape != shape:
                raise self.misfit(f'{name}.shape == {shape}, {why}', f'{name}.shape = {param.shape}')

    def same_dtype(self, **params: Any) -> None:
        """Raises InvalidType if the dtypes of the arguments differ."""
        first, *names = params
        for name in names:
            if params[name].dtype != params[first].dtype:
                raise self.misfit(f'{first}.dtype == {name}.dtype', f'{params[first].dtype} != {params[name].dtype}')

    def statistics_axes(self, x: Any, gamma: Any, axis: Any) -> tuple[int, ...]:
        """The axes over which batch normalization takes statistics; checks the shape of ``gamma``.

        If ``axis`` is None, the axes of gamma are those after the first.
        """
        axes = self.ascending_axes(axis, x.ndim)
        if axes is None:
            if x.ndim <= gamma.ndim:
                actual = f'x.ndim = {x.ndim} (shape {x.shape})'
                raise self.misfit(f'x.ndim >= gamma.ndim + 1 = {gamma.ndim + 1}', actual)
            axes = (0, *range(gamma.ndim + 1, x.ndim))
        key = tuple([size for i, size in enumerate(x.shape) if i not in axes])
        self.shapes(key, f'what is left of x.shape = {x.shape} without the axes {axes}', gamma=gamma)
        return axes

    def ascending_axes(self, axis: Any, ndim: int) -> tuple[int, ...] | None:
        """None as it is, an int or a tuple of ints as a tuple of non-negative ints.

        Raises:
            RuntimeError: they are not ints, or not in ascending order.
            InvalidType: an axis is out of range.
        """
        if axis is None:
            return None
        given = axis if isinstance(axis, tuple) else (axis,)
        numbers = [as_integer(a) for a in given]
        if None in numbers:
            raise RuntimeError(f'{self.name}: axis must be int, tuple of int or None, got {axis!r}')
        axes = tuple([self.axis(a, ndim) for a in numbers])
        if any(a >= b for a, b in pairwise(axes)):
            raise RuntimeError(f'{self.name}: axis must be in ascending order, got {axis}')
        return axes

    def running(self, shape: tuple[int, ...], **running: Any) -> None:
        """Raises ValueError unless the running statistics have this shape."""
        for name, value in running.items():
            if self.array(value, name).shape != shape:
                raise ValueError(f'{self.name}: {name} must have shape {shape}, got {as_array(value).shape}')


def key_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with ones at ``axes``, so that a parameter broadcasts against the array."""
    return tuple([1 if i in axes else size for i, size in enumerate(shape)])


def update_running(running: Any, decay: float, value: Any) -> None:
    """Updates a running statistic towards ``value``, in place.

    Args:
        running: array or Variable, which is written to.
        decay: how much of it stays.
        value: array of as many elements.
    """
    array = as_array(running)
    about_to_write(array)
    move(get_array_module(array), array, decay, value.reshape(array.shape))


def affine_gradients(
    wanted: Sequence[bool], x: Variable, gamma: Variable, gy: Variable, axes: Any, eps: Any, centered: bool = True
) -> tuple[Variable | None, ...]:
    r"""Gradients of :math:`\gamma z + \beta`, where z is x normalized over axes, in differentiable functions.

    With :math:`g = \gamma\, gy` and a bar for the mean over ``axes``, they are :math:`\frac{1}{\sigma}(g - \bar g -
    z\,\overline{g z})`, the sum of gy z, and the sum of gy. Mean and variance are computed from x, so that the
    gradients can be differentiated any number of times.

    Args:
        wanted: whether the gradients of x and gamma are wanted.
        x: Variable of float32 or float64.
        gamma: Variable that can be broadcast against x.
        gy: gradient of the result.
        axes: axes of the statistics.
        eps: added to the variance; a number, or an array with one number for each part.
        centered: False: nothing is subtracted, and the variance is the mean of squares.

    Returns:
        Gradients of x and gamma, None where not wanted, and of beta; the last two have the shape of gamma.
    """
    over = 1.0 / max(math.prod([x.shape[i] for i in axes]), 1)

    def mean(v: Any) -> Any:
        return sum_(v, axes, True) * over

    gbeta = sum_to(gy, gamma.shape)
    if not any(wanted[:2]):
        return None, None, gbeta
    moved = into_range(x._data, axes, centered) if type(x._data) is numpy.ndarray else None
    if moved is not None:  # norm(x) with eps is norm(scale x) with scale^2 eps
        shift, scale = moved
        gx, *others = affine_gradients(wanted, (x - shift) * scale, gamma, gy, axes, eps * scale * scale, centered)
        return None if gx is None else gx * scale, *others
    centre = centred(x, mean) if centered else x
    inv_std = (mean(centre * centre) + eps) ** -0.5
    z = centre * inv_std
    ggamma = sum_to(gy * z, gamma.shape) if wanted[1] else None
    if not wanted[0]:
        return None, ggamma, gbeta
    g = gy * gamma
    gx = g - z * mean(g * z)
    if centered:
        gx = gx - mean(g)
    return gx * inv_std, ggamma, gbeta


def centred(x: Variable, mean: Callable[[Any], Variable]) -> Variable:
    """``x - mean(x)`` without loss of digits if the mean is large: a constant near it is subtracted first.

    Args:
        x: Variable.
        mean: gives the mean of an array or a Variable, as a Variable that can be broadcast against it.
    """
    near = x - mean(x._data)
    return near - mean(near)
