"""Sampling images at given points: resizing and spatial transformers."""

from __future__ import annotations

import functools
from typing import Any

import numpy

from minichainer.backend import on_device_of_arguments
from minichainer.configuration import using_config
from minichainer.differentiate import grad
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import linear_map, primitive
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.pixels import weighted_pixels
from minichainer.functions.array.stacking import separate
from minichainer.functions.math.elementwise_extrema import clip
from minichainer.kernels import interpolation
from minichainer.kernels import sampling as kernels
from minichainer.kernels.interpolation import Taps
from minichainer.kernels.precision import accumulator
from minichainer.utils import argument
from minichainer.variable import Variable, as_variable

_resize = Arguments('ResizeImages', 'resize_images')
_grid = Arguments('SpatialTransformerGrid', 'spatial_transformer_grid')
_sampler = Arguments('SpatialTransformerSampler', 'spatial_transformer_sampler')


@linear_map(
    lambda m, gy, x_shape, rows, columns: m.uninterpolated(gy, x_shape, rows, columns), name='ResizeImages', kinds='f'
)
def interpolated(xp: Any, x: Any, rows: Taps, columns: Taps) -> Any:
    return interpolation.interpolated(xp, x, rows, columns)


@linear_map(lambda m, gy, rows, columns: m.interpolated(gy, rows, columns), kinds='f')
def uninterpolated(xp: Any, y: Any, shape: tuple[int, ...], rows: Taps, columns: Taps) -> Any:
    """The adjoint of :func:`interpolated`."""
    return interpolation.uninterpolated(xp, y, shape, rows, columns)


def resize_images(x: Any, output_shape: Any, *, mode: str = 'bilinear', align_corners: bool = True) -> Variable:
    """Resizes images by interpolation.

    Args:
        x: images, Variable or float array (B, C, H, W).
        output_shape: height and width of the result, a pair of positive ints.
        mode: ``'bilinear'`` or ``'nearest'``.
        align_corners: bilinear mode: whether the centres of corner pixels stay corners, else the borders of the
            images stay borders.

    Returns:
        Variable (B, C, *output_shape).

    Raises:
        InvalidType: ``x`` is not a float array with four axes.
        AssertionError: the mode is unknown.
        ValueError: the output shape or ``x`` has no pixels.

    >>> import numpy as np, minichainer.functions as F
    >>> F.resize_images(np.array([[[[0., 2.]]]]), (1, 3))
    variable([[[[0., 1., 2.]]]])
    """
    _resize.flag(align_corners, 'align_corners')
    if not isinstance(mode, str) or mode not in ('bilinear', 'nearest'):
        raise AssertionError(f"resize_images: mode 'bilinear' or 'nearest' expected, got {mode!r}")
    x = as_variable(x)
    _resize.floats(x)
    if x.ndim != 4:
        raise _resize.misfit('x.ndim == 4', f'x.ndim = {x.ndim}')
    height, width = _pair(_resize, output_shape)
    if min(height, width, *x.shape[2:]) < 1:
        raise ValueError(f'resize_images: at least one pixel expected, got {x.shape[2:]} to be made {output_shape}')
    if mode == 'nearest':
        return interpolated(x, _nearest(x.shape[2], height), _nearest(x.shape[3], width))
    rows, columns = _bilinear(x.shape[2], height, align_corners), _bilinear(x.shape[3], width, align_corners)
    return interpolated(x, rows, columns)


def _pair(arguments: Arguments, shape: Any) -> tuple[int, ...]:
    """Height and width as ints."""
    height_and_width = arguments.shape(shape, 'output_shape')
    if len(height_and_width) != 2:
        raise arguments.wrong_value('height and width', 'output_shape', shape)
    if min(height_and_width) < 0:
        raise arguments.wrong_value('a shape without negative numbers', 'output_shape', shape)
    arguments.addressable(height_and_width)
    return height_and_width


@functools.lru_cache(maxsize=64)
def _nearest(size: int, new_size: int) -> Taps:
    return ((numpy.arange(new_size) * size // new_size, numpy.ones(new_size)),)


@functools.lru_cache(maxsize=64)
def _bilinear(size: int, new_size: int, align_corners: bool) -> Taps:
    """Indices and weights of the two neighbours of each new element along an axis: no weight is 0.

    A new element in the place of an old one is two halves of it: 0 times another one could be 0 times infinity.
    """
    if align_corners:
        places = numpy.linspace(0, size - 1, new_size)
    else:
        places = numpy.clip((numpy.arange(new_size) + 0.5) * size / new_size - 0.5, 0, size - 1)
    lower = numpy.minimum(places.astype(int), max(size - 2, 0))
    upper, fraction = numpy.minimum(lower + 1, size - 1), places - lower
    lower, upper = numpy.where(fraction == 1, upper, lower), numpy.where(fraction == 0, lower, upper)
    fraction[(fraction == 0) | (fraction == 1)] = 0.5
    return (lower, 1 - fraction), (upper, fraction)


@linear_map(lambda m, gy, output_shape: m.theta_gradient(gy, output_shape), name='SpatialTransformerGrid', kinds='f')
def affine_grid(xp: Any, theta: Any, output_shape: tuple[int, int]) -> Any:
    return interpolation.affine_grid(xp, theta, output_shape)


@linear_map(lambda m, gy, output_shape: m.affine_grid(gy, output_shape), kinds='f')
def theta_gradient(xp: Any, y: Any, output_shape: tuple[int, int]) -> Any:
    """The adjoint of :func:`affine_grid`."""
    return interpolation.theta_gradient(xp, y, output_shape)


def spatial_transformer_grid(theta: Any, output_shape: Any, **kwargs: Any) -> Variable:
    r"""Grid of sampling points that an affine transformation makes of the pixels of an image.

    Pixel :math:`(i, j)` has coordinates :math:`(x_j, y_i)` from -1 to 1 and goes to
    :math:`\theta (x_j, y_i, 1)^\top`.

    Args:
        theta: matrices, Variable or float array (B, 2, 3).
        output_shape: height and width of the grid, a pair of ints.

    Returns:
        Variable (B, 2, H, W), x coordinates first, for :func:`spatial_transformer_sampler`.

    Raises:
        InvalidType: ``theta`` is not a float array of that shape.

    Source: `Spatial Transformer Networks <https://arxiv.org/abs/1506.02025>`_.

    >>> import numpy as np, minichainer.functions as F
    >>> identity = np.array([[[1., 0., 0.], [0., 1., 0.]]])
    >>> F.spatial_transformer_grid(identity, (2, 2)).array[0, 0]
    array([[-1.,  1.],
           [-1.,  1.]])
    """
    _refuse_use_cudnn(kwargs)
    theta = as_variable(theta)
    _grid.floats(theta, name='theta')
    if theta.ndim != 3 or theta.shape[1:] != (2, 3):
        raise _grid.misfit('theta of shape (B, 2, 3)', f'{theta.shape}')
    height, width = _pair(_grid, output_shape)
    return affine_grid(theta, (height, width))


def _refuse_use_cudnn(kwargs: dict[str, Any]) -> None:
    argument.check_unexpected_kwargs(
        kwargs,
        use_cudnn='The argument "use_cudnn" is not supported anymore. Use chainer.using_config(\'use_cudnn\', value) '
        'context where value can be `always`, `never`, or `auto`.',
    )
    argument.assert_kwargs_empty(kwargs)


def _sampled_rule(m: Any, gy: Any, x: Any, grid: Any, wanted: tuple[bool, ...]) -> Any:
    """Higher derivatives come from the plain composition."""
    inputs = [v for v, is_wanted in zip((x, grid), wanted, strict=True) if is_wanted]
    with using_config('enable_backprop', True):
        found = iter(grad([_reference(x, grid)], inputs, [gy], enable_double_backprop=True))
    return tuple([next(found) if is_wanted else None for is_wanted in wanted])


def _sampled_gradients(xp: Any, gy: Any, x: Any, grid: Any, wanted: tuple[bool, ...]) -> Any:
    return (
        kernels.images_gradient(xp, gy, grid, x.shape) if wanted[0] else None,
        kernels.points_gradient(xp, gy, x, grid) if wanted[1] else None,
    )


@primitive(rule=_sampled_rule, fast=_sampled_gradients, name='SpatialTransformerSampler', kinds='f', linear_in=('x',))
def sampled(xp: Any, x: Any, grid: Any) -> Any:
    return kernels.sampled(xp, x, grid)


@linear_map(lambda m, gy: m.transpose(gy, (0, 2, 3, 1)), kinds='f')
def channels_first(xp: Any, y: Any) -> Any:
    """Converts (B, H, W, C) to (B, C, H, W)."""
    return y.transpose(0, 3, 1, 2)


def _reference(x: Variable, grid: Variable) -> Variable:
    """The plain composition: the source of higher derivatives."""
    across, down = separate(grid, 1)
    columns, column_weights = _neighbours(across, x.shape[3])
    rows, row_weights = _neighbours(down, x.shape[2])
    corners = [(row, column) for row in rows for column in columns]
    return channels_first(weighted_pixels(x, corners, [v * u for v in row_weights for u in column_weights]))


@on_device_of_arguments
def spatial_transformer_sampler(x: Any, grid: Any, **kwargs: Any) -> Variable:
    r"""Samples images at the points of a grid by bilinear interpolation; outside of an image is 0.

    Args:
        x: images, Variable or float array (B, C, H, W).
        grid: coordinates of the points, Variable or array (B, 2, H', W') of the same dtype, x first; -1 and 1 are the
            centres of corner pixels.

    Returns:
        Variable (B, C, H', W').

    Raises:
        InvalidType: shapes do not fit, dtypes differ, or the arrays are not float.

    Source: `Spatial Transformer Networks <https://arxiv.org/abs/1506.02025>`_.

    >>> import numpy as np, minichainer.functions as F
    >>> image = np.array([[[[0., 2.], [4., 6.]]]])
    >>> F.spatial_transformer_sampler(image, np.zeros((1, 2, 1, 1)))
    variable([[[[3.]]]])
    """
    _refuse_use_cudnn(kwargs)
    x, grid = as_variable(x), as_variable(grid)
    _check_sampled(x, grid)
    wide = accumulator(x.dtype)
    if x.dtype != wide:
        return as_dtype(spatial_transformer_sampler(as_dtype(x, wide), as_dtype(grid, wide)), x.dtype)
    return sampled(x, grid)


def _check_sampled(x: Variable, grid: Variable) -> None:
    """Raises InvalidType unless images and grid fit."""
    if x.dtype != grid.dtype or x.dtype.kind != 'f':
        raise _sampler.misfit('float arrays x and grid of one dtype', f'{x.dtype} and {grid.dtype}')
    if x.ndim != 4 or grid.ndim != 4 or grid.shape[1] != 2 or x.shape[0] != grid.shape[0]:
        raise _sampler.misfit(
            "x of shape (B, C, H, W) and grid of shape (B, 2, H', W')", f'{x.shape} and {grid.shape}'
        )
    if 0 in x.shape[2:]:
        raise _sampler.misfit('images of at least one pixel', f'x.shape = {x.shape}')


def _neighbours(coordinate: Variable, size: int) -> tuple[list[Any], list[Variable]]:
    """The two pixels next to each point along an axis, as float arrays, and their weights."""
    place = (clip(coordinate, -kernels.FAR, kernels.FAR) + 1) * (size - 1) / 2
    lower = place.xp.floor(place._data + kernels.slack_of(place._data, size))
    fraction = place - lower
    return [lower, lower + 1], [1 - fraction, fraction]
