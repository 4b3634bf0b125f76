"""Convolution with different filters at each pixel.

The op and its two gradients are bilinear, and the gradients of each are the two others.
"""

from __future__ import annotations

from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import primitive
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.connection._geometry import same_dtype
from minichainer.kernels import patches as kernels
from minichainer.kernels._windows import Geometry
from minichainer.variable import Variable, as_variable

_arguments = Arguments('LocalConvolution2DFunction')
_RULES: tuple[Any, ...] = (
    lambda m, gy, W, geometry: m.local_deconvolve(gy, W, geometry),
    lambda m, gy, x, geometry: m.local_correlate(x, gy, geometry),
)


@primitive(rule=_RULES, name=_arguments.label, kinds='f', linear_in=('x', 'W'))
def local_convolve(xp: Any, x: Any, W: Any, geometry: Geometry) -> Any:
    """Local convolution of images with filters."""
    return kernels.local_convolve(xp, x, W, geometry)


@primitive(rule=(*_RULES, lambda m, gy: gy), name=_arguments.label, kinds='f', linear_in=('x b', 'W b'))
def local_convolve_with_bias(xp: Any, x: Any, W: Any, b: Any, geometry: Geometry) -> Any:
    """Local convolution of images with filters, plus a bias for each pixel."""
    return kernels.local_convolve(xp, x, W, geometry) + b


@primitive(
    rule=(
        lambda m, gx, W, geometry: m.local_convolve(gx, W, geometry),
        lambda m, gx, gy, geometry: m.local_correlate(gx, gy, geometry),
    ),
    name='LocalConvolution2DGradX',
    kinds='f',
    linear_in=('gy', 'W'),
)
def local_deconvolve(xp: Any, gy: Any, W: Any, geometry: Geometry) -> Any:
    """The data gradient of the local convolution."""
    return kernels.local_data_gradient(xp, gy, W, geometry)


@primitive(
    rule=(
        lambda m, gW, gy, geometry: m.local_deconvolve(gy, gW, geometry),
        lambda m, gW, x, geometry: m.local_convolve(x, gW, geometry),
    ),
    name='LocalConvolution2DGradW',
    kinds='f',
    linear_in=('x', 'gy'),
)
def local_correlate(xp: Any, x: Any, gy: Any, geometry: Geometry) -> Any:
    """The filter gradient of the local convolution."""
    return kernels.local_filter_gradient(xp, x, gy, geometry)


def local_convolution_2d(x: Any, W: Any, b: Any = None, stride: Any = 1) -> Variable:
    r"""Convolution of images with separate filters for each output pixel.

    .. math:: y_{n,o,i,j} = b_{o,i,j} + \sum_{c,k,l} W_{o,i,j,c,k,l}\, x_{n,c,\; s_h i + k,\; s_w j + l}

    Args:
        x: images, Variable or float array :math:`(N, C, h, w)`.
        W: filters :math:`(O, h', w', C, k_h, k_w)`.
        b: bias :math:`(O, h', w')`, or None.
        stride: step of the filters, an int or a pair.

    Returns:
        Variable :math:`(N, O, h', w')` of ``x``'s dtype.

    Raises:
        InvalidType: shapes or dtypes do not fit, or the filters reach beyond the images.
        ValueError: a stride is less than 1.
        TypeError: a stride is not an int.

    >>> import numpy as np, minichainer.functions as F
    >>> W = np.arange(4.).reshape(1, 2, 2, 1, 1, 1)
    >>> F.local_convolution_2d(np.ones((1, 1, 2, 2)), W).array
    array([[[[0., 1.],
             [2., 3.]]]])
    """
    x, W = as_variable(x), as_variable(W)
    b = None if b is None else as_variable(b)
    stride = _arguments.per_axis(stride, 'stride', 2)
    _check(x, W, b)
    geometry = Geometry(x.shape[2:], W.shape[4:], stride, (0, 0), (1, 1), W.shape[1:3])
    if any(span > size for span, size in zip(geometry.span, geometry.in_size, strict=True)):
        expected = f'images of size {geometry.span} at least for filters W.shape = {W.shape}'
        raise _arguments.misfit(expected, f'x.shape = {x.shape} (stride {stride})')
    dtype = x.dtype
    x, W, b = same_dtype(_arguments, x, W, b)
    y = local_convolve(x, W, geometry) if b is None else local_convolve_with_bias(x, W, b, geometry)
    return y if y.dtype == dtype else as_dtype(y, dtype)


def _check(x: Variable, W: Variable, b: Any) -> None:
    if any(v is not None and v.dtype.kind != 'f' for v in (x, W, b)):
        dtypes = [f'{v.dtype}' for v in (x, W, b) if v is not None]
        raise _arguments.misfit('x, W and b of a float dtype', ', '.join(dtypes))
    if x.ndim != 4 or W.ndim != 6 or x.shape[1] != W.shape[3] or 0 in W.shape[1:3] or 0 in W.shape[4:]:
        expected = "x of shape (N, C, h, w) and W of shape (O, h', w', C, kh, kw)"
        raise _arguments.misfit(expected, f'{x.shape} and {W.shape}')
    if b is not None and b.shape != W.shape[:3]:
        raise _arguments.misfit(f'b.shape == {W.shape[:3]}', f'{b.shape}')
