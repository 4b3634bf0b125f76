"""Functions that change the order of elements or axes."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.functions._arguments import Arguments, as_integer
from minichainer.functions._define import linear_map
from minichainer.variable import Variable, as_variable

_flip, _moveaxis = Arguments('Flip', 'flip'), Arguments('Moveaxis', 'moveaxis')
_rollaxis, _swapaxes = Arguments('Rollaxis', 'rollaxis'), Arguments('Swapaxes', 'swapaxes')
_depth2space, _space2depth = Arguments('Depth2Space', 'depth2space'), Arguments('Space2Depth', 'space2depth')


@linear_map(lambda m, gy, axis: m.flipped(gy, axis), name='Flip')
def flipped(xp: Any, x: Any, axis: int) -> Any:
    return xp.flip(x, axis)


def flip(x: Any, axis: int) -> Variable:
    """Reverses the order of elements along an axis.

    Args:
        x: Variable or array.
        axis: the axis, an int.

    Returns:
        Variable of the same shape, a view of ``x``.

    Raises:
        TypeError: ``axis`` is not an int.
        InvalidType: ``axis`` is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> F.flip(np.array([[1., 2.], [3., 4.]]), 0)
    variable([[3., 4.],
              [1., 2.]])
    """
    x = as_variable(x)
    return flipped(x, _flip.axis(axis, x.shape))


@linear_map(lambda m, gy: m.flipped(gy, 1), name='FlipLR')
def flipped_left_right(xp: Any, x: Any) -> Any:
    return xp.flip(x, 1)


def fliplr(a: Any) -> Variable:
    """Reverses the order of columns (axis 1).

    Args:
        a: Variable or array with at least two axes.

    Returns:
        Variable of the same shape, a view of ``a``.

    Raises:
        InvalidType: ``a`` has fewer axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.fliplr(np.array([[1., 2.], [3., 4.]]))
    variable([[2., 1.],
              [4., 3.]])
    """
    a = as_variable(a)
    if a.ndim < 2:
        raise Arguments('FlipLR').misfit('a.ndim >= 2', f'a.ndim = {a.ndim}')
    return flipped_left_right(a)


@linear_map(lambda m, gy: m.flipped(gy, 0), name='FlipUD')
def flipped_up_down(xp: Any, x: Any) -> Any:
    return xp.flip(x, 0)


def flipud(a: Any) -> Variable:
    """Reverses the order of rows (axis 0).

    Args:
        a: Variable or array with at least one axis.

    Returns:
        Variable of the same shape, a view of ``a``.

    Raises:
        InvalidType: ``a`` has no axis.

    >>> import numpy as np, minichainer.functions as F
    >>> F.flipud(np.array([[1., 2.], [3., 4.]]))
    variable([[3., 4.],
              [1., 2.]])
    """
    a = as_variable(a)
    if a.ndim < 1:
        raise Arguments('FlipUD').misfit('a.ndim >= 1', 'a.ndim = 0')
    return flipped_up_down(a)


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))


@linear_map(lambda m, gy, order: m.permute(gy, _inverse(order)), name='Moveaxis', on_numpy=numpy.ndarray.transpose)
def axes_moved(xp: Any, x: Any, order: tuple[int, ...]) -> Any:
    return x.transpose(order)


def moveaxis(x: Any, source: Any, destination: Any) -> Variable:
    """Moves axes to other places; the others keep their order.

    Args:
        x: Variable or array.
        source: an axis, or a tuple of axes.
        destination: where each of them is in the result, an int or as many as in ``source``.

    Returns:
        Variable, a view of ``x``.

    Raises:
        TypeError: ``source`` or ``destination`` is neither int nor tuple of ints.
        InvalidType: an axis is out of range.
        ValueError: an axis appears twice, or the numbers of axes differ.

    >>> import numpy as np, minichainer.functions as F
    >>> F.moveaxis(np.ones((2, 3, 4)), 0, 2).shape
    (3, 4, 2)
    """
    x = as_variable(x)
    if type(source) is int and type(destination) is int:
        order = list(range(x.ndim))
        axis = order.pop(_moveaxis.axis(source, x.ndim, 'source'))
        order.insert(_moveaxis.axis(destination, x.ndim, 'destination'), axis)
        return axes_moved(x, tuple(order))
    sources = _distinct_axes(source, x.ndim, 'source')
    places = _distinct_axes(destination, x.ndim, 'destination')
    if len(sources) != len(places):
        raise ValueError(f'moveaxis: as many destinations as sources expected, got {source} and {destination}')
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return axes_moved(x, tuple(order))


def _distinct_axes(axes: Any, ndim: int, name: str) -> list[int]:
    """The axes as non-negative ints, all different."""
    if type(axes) is int:
        return [_moveaxis.axis(axes, ndim, name)]
    given = (axes,) if as_integer(axes) is not None else axes
    if not isinstance(given, (tuple, list)):
        raise _moveaxis.wrong_type('int or tuple of ints', name, axes)
    checked = [_moveaxis.axis(axis, ndim, name) for axis in given]
    if len(set(checked)) != len(checked):
        raise ValueError(f'moveaxis: an axis appears twice in {name}: {axes}')
    return checked


@linear_map(lambda m, gy, order: m.permute(gy, _inverse(order)), name='Rollaxis', on_numpy=numpy.ndarray.transpose)
def axis_rolled(xp: Any, x: Any, order: tuple[int, ...]) -> Any:
    return x.transpose(order)


def rollaxis(x: Any, axis: int, start: int = 0) -> Variable:
    """Moves one axis so that it is before another one; :func:`moveaxis` is easier to read.

    Args:
        x: Variable or array.
        axis: the axis that is moved.
        start: the axis of ``x`` before which it is put, from ``-ndim`` to ``ndim``.

    Returns:
        Variable, a view of ``x``.

    Raises:
        TypeError: ``axis`` or ``start`` is not an int.
        InvalidType: one of them is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> F.rollaxis(np.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = as_variable(x)
    axis = _rollaxis.axis(axis, x.shape)
    if as_integer(start) != x.ndim:
        start = _rollaxis.axis(start, x.shape, 'start')
    order = list(range(x.ndim))
    del order[axis]
    order.insert(start - (axis < start), axis)
    return axis_rolled(x, tuple(order))


@linear_map(lambda m, gy, order: m.permute(gy, order), name='Swapaxes', on_numpy=numpy.ndarray.transpose)
def axes_swapped(xp: Any, x: Any, order: tuple[int, ...]) -> Any:
    return x.transpose(order)


def swapaxes(x: Any, axis1: int, axis2: int) -> Variable:
    """Exchanges two axes.

    Args:
        x: Variable or array.
        axis1: an axis.
        axis2: another one.

    Returns:
        Variable, a view of ``x``.

    Raises:
        TypeError: an axis is not an int.
        InvalidType: an axis is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> F.swapaxes(np.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    x = as_variable(x)
    first = _swapaxes.axis(axis1, x.shape, 'axis1')
    second = _swapaxes.axis(axis2, x.shape, 'axis2')
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    return axes_swapped(x, tuple(order))


@linear_map(lambda m, gy, r: m.depth_from_space(gy, r), name='Depth2Space', kinds='f')
def space_from_depth(xp: Any, x: Any, r: int) -> Any:
    batch, depth, height, width = x.shape
    blocks = x.reshape(batch, r, r, depth // r**2, height, width)
    return blocks.transpose(0, 3, 4, 1, 5, 2).reshape(batch, depth // r**2, height * r, width * r)


@linear_map(lambda m, gy, r: m.space_from_depth(gy, r), name='Space2Depth', kinds='f')
def depth_from_space(xp: Any, x: Any, r: int) -> Any:
    batch, depth, height, width = x.shape
    blocks = x.reshape(batch, depth, height // r, r, width // r, r)
    return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(batch, depth * r**2, height // r, width // r)


def depth2space(X: Any, r: int) -> Variable:
    r"""Rearranges blocks of channels into blocks of pixels ("pixel shuffle").

    Channel :math:`(i r + j) C + c` at pixel :math:`(a, b)` goes to channel :math:`c` at :math:`(a r + i, b r + j)`.

    Args:
        X: images, Variable or float array :math:`(B, C r^2, H, W)`.
        r: the factor by which images grow, a positive int.

    Returns:
        Variable :math:`(B, C, H r, W r)`.

    Raises:
        InvalidType: ``X`` is not a float array with four axes, or its channels are not a multiple of :math:`r^2`.

    Source: `Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural
    Network <https://arxiv.org/abs/1609.05158>`_.

    >>> import numpy as np, minichainer.functions as F
    >>> F.depth2space(np.arange(4.).reshape(1, 4, 1, 1), 2)
    variable([[[[0., 1.],
                [2., 3.]]]])
    """
    X, r = _images(_depth2space, X, r)
    if X.shape[1] % r**2:
        raise _depth2space.misfit(f'X.shape[1] % {r**2} == 0', f'X.shape = {X.shape}')
    return space_from_depth(X, r)


def space2depth(X: Any, r: int) -> Variable:
    r"""Rearranges blocks of pixels into blocks of channels: the inverse of :func:`depth2space`.

    Args:
        X: images, Variable or float array :math:`(B, C, H r, W r)`.
        r: the factor by which images shrink, a positive int.

    Returns:
        Variable :math:`(B, C r^2, H, W)`.

    Raises:
        InvalidType: ``X`` is not a float array with four axes, or its height or width is not a multiple of ``r``.

    >>> import numpy as np, minichainer.functions as F
    >>> F.space2depth(np.ones((1, 1, 4, 6)), 2).shape
    (1, 4, 2, 3)
    """
    X, r = _images(_space2depth, X, r)
    if X.shape[2] % r or X.shape[3] % r:
        raise _space2depth.misfit(f'X.shape[2] % {r} == 0 and X.shape[3] % {r} == 0', f'X.shape = {X.shape}')
    return depth_from_space(X, r)


def _images(arguments: Arguments, x: Any, r: Any) -> tuple[Variable, int]:
    x = as_variable(x)
    arguments.floats(x, name='X')
    if x.ndim != 4:
        raise arguments.misfit('X.ndim == 4', f'X.ndim = {x.ndim}')
    return x, arguments.integer(r, 'r', 1)
