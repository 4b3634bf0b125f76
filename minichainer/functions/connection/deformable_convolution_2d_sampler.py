"""Convolution with movable sampling points."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.backend import on_device_of_arguments
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.pixels import weighted_pixels
from minichainer.functions.array.shape import reshape, transpose
from minichainer.functions.array.stacking import separate
from minichainer.functions.connection._geometry import ConvolutionArguments
from minichainer.functions.math.elementwise_extrema import clip
from minichainer.functions.math.tensordot import tensordot
from minichainer.kernels.conditions import somewhere
from minichainer.utils.conv import get_conv_outsize
from minichainer.variable import Variable, as_variable

_arguments = ConvolutionArguments('deformable_convolution_2d_sampler', planar=True)


@on_device_of_arguments
def deformable_convolution_2d_sampler(
    x: Any, offset: Any, W: Any, b: Any = None, stride: Any = 1, pad: Any = 0
) -> Variable:
    r"""Convolution of images at points that are moved by offsets, interpolated between pixels.

    .. math:: y_{n,o,p} = b_o + \sum_{c,k} W_{o,c,k}\, x_{n,c}(s p + k - \mathrm{pad} + \Delta_{n,k,p})

    Outside of an image is 0. The gradient with respect to an offset jumps where its point meets a pixel; there it is
    the one from the right or from below.

    Args:
        x: images, Variable or float array :math:`(N, C, h, w)`.
        offset: Variable or array :math:`(N, 2 k_h k_w, h', w')` of the same dtype: in pixels, to the right for each
            element of the filters, then downwards for each.
        W: filters :math:`(O, C, k_h, k_w)`, of any float dtype.
        b: bias :math:`(O,)` of the wider dtype of ``x`` and ``W``, or None.
        stride: step of the filters, an int or a pair.
        pad: rows and columns of zeros on each side, an int or a pair.

    Returns:
        Variable :math:`(N, O, h', w')` of the wider dtype of ``x`` and ``W``.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``offset`` has a wrong number of channels, a stride is less than 1, a padding negative.
        TypeError: a stride or padding is not an int.

    Source: `Deformable Convolutional Networks <https://arxiv.org/abs/1703.06211>`_.

    >>> import numpy as np, minichainer.functions as F
    >>> x, W = np.arange(9.).reshape(1, 1, 3, 3), np.ones((1, 1, 1, 1))
    >>> to_the_right = np.stack([np.full((3, 3), 0.5), np.zeros((3, 3))])[None]
    >>> F.deformable_convolution_2d_sampler(x, to_the_right, W).array[0, 0]
    array([[0.5, 1.5, 1. ],
           [3.5, 4.5, 2.5],
           [6.5, 7.5, 4. ]])
    """
    x, offset, W = as_variable(x), as_variable(offset), as_variable(W)
    b = None if b is None else as_variable(b)
    stride, pad = _arguments.per_axis(stride, 'stride', 2), _arguments.per_axis(pad, 'pad', 2, least=0)
    _check(x, offset, W, b, stride, pad)
    dtype = numpy.promote_types(x.dtype, W.dtype)
    wide = numpy.promote_types(dtype, 'f')
    if x.dtype != wide:
        x, offset, W, b = (None if v is None else as_dtype(v, wide) for v in (x, offset, W, b))
    return as_dtype(_convolution(x, offset, as_dtype(W, x.dtype), b, stride, pad), dtype)


def _convolution(x: Any, offset: Any, W: Any, b: Any, stride: Any, pad: Any) -> Variable:
    values = _sampled(x, offset, W.shape[2:], stride, pad)
    y = tensordot(values, reshape(W, (len(W), x.shape[1], -1)), axes=((1, 2), (1, 2)))
    y = transpose(y if b is None else y + b, (0, 3, 1, 2))
    return y


def _check(x: Variable, offset: Variable, W: Variable, b: Any, stride: Any, pad: Any) -> None:
    _arguments.images(x, W)
    if offset.dtype != x.dtype:
        raise _arguments.misfit('x and offset of one dtype', f'{x.dtype} and {offset.dtype}')
    dtype = numpy.promote_types(x.dtype, W.dtype)
    if b is not None and b.dtype != dtype:
        raise _arguments.misfit(f'b.dtype == {dtype}, the wider one of x and W', f'{b.dtype}')
    if b is not None and b.shape != W.shape[:1]:
        raise _arguments.misfit(f'b.shape == {W.shape[:1]}', f'{b.shape}')
    if 0 in W.shape or 0 in x.shape[1:]:
        raise _arguments.misfit('filters and images with elements', f'W.shape = {W.shape} and x.shape = {x.shape}')
    if x.shape[1] != W.shape[1]:
        raise _arguments.misfit(f'x.shape[1] == W.shape[1] = {W.shape[1]}', f'x.shape = {x.shape}')
    elements = W.shape[2] * W.shape[3]
    if offset.ndim != 4 or offset.shape[1] != 2 * elements:
        raise ValueError(
            f'{_arguments.name}: offset with two channels for each of the {elements} elements of W expected, '
            f'got offset.shape = {offset.shape} and W.shape = {W.shape}'
        )
    axes = zip(x.shape[2:], W.shape[2:], stride, pad, strict=True)
    size = tuple([get_conv_outsize(*axis) for axis in axes])
    if len(offset) != len(x) or offset.shape[2:] != size:
        expected = f'offset of shape {(len(x), 2 * elements, *size)}, with the size of the convolution'
        raise _arguments.misfit(expected, f'{offset.shape} (x.shape = {x.shape}, W.shape = {W.shape})')


def _sampled(x: Variable, offset: Variable, ksize: Any, stride: Any, pad: Any) -> Any:
    """The samples under each element of the filters, (N, C, elements, h', w')."""
    xp, (height, width), size = x.xp, ksize, offset.shape[2:]
    across, down = separate(reshape(offset, (len(x), 2, height * width, *size)), 1)
    lines, pixels = (xp.arange(n) * s - p for n, s, p in zip(size, stride, pad, strict=True))
    element = xp.arange(height * width)[:, None, None]
    rows = _neighbours(down + (element // width + lines[:, None]).astype(x.dtype), x.shape[2])
    columns = _neighbours(across + (element % width + pixels).astype(x.dtype), x.shape[3])
    corners = [(row, column) for row, _ in rows for column, _ in columns]
    weights = [v * u for _, v in rows for _, u in columns]
    return transpose(weighted_pixels(x, corners, weights), (0, 4, 1, 2, 3))


def _neighbours(place: Variable, size: int) -> list[tuple[Any, Variable]]:
    """The pixels next to points along an axis, as float arrays, and their weights."""
    if somewhere(place.xp, ~place.xp.isfinite(place._data)):
        place = clip(place, -2.0, size + 1.0)  # pixels from there on are outside; infinity minus itself would be NaN
    lower = place.xp.floor(place._data)
    fraction = place - lower
    return [(lower, 1 - fraction), (lower + 1, fraction)]
