"""Transposed convolutions over one to any number of axes: the data gradients of convolutions."""

from __future__ import annotations

from typing import Any

from minichainer.functions._checks import positive_tuple
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.connection._geometry import (
    check_bias,
    check_images,
    checked_groups,
    invalid_in,
    same_dtype,
)
from minichainer.functions.connection.convolution_nd import ND, PLANAR, Names, deconvolve, deconvolve_with_bias
from minichainer.kernels._windows import Geometry
from minichainer.utils import argument
from minichainer.utils.conv import get_conv_outsize, get_deconv_outsize
from minichainer.variable import Variable, as_variable

_REMOVED = {
    'deterministic': 'deterministic is no longer an argument of it: use chainer.using_config('
    "'cudnn_deterministic', True or False)"
}


def deconvolution_nd(
    x: Any,
    W: Any,
    b: Any = None,
    stride: Any = 1,
    pad: Any = 0,
    outsize: Any = None,
    dilate: Any = 1,
    groups: int = 1,
) -> Variable:
    r"""Transposed convolution over any number of axes: the gradient of :func:`convolution_nd` as a function.

    .. math:: y_{n,c,\; s p + d k - \mathrm{pad}} \mathrel{+}= \sum_o W_{o,c,k}\, x_{n,o,p}

    Args:
        x: Variable or float array :math:`(N, O, d_1, \dots, d_n)`.
        W: filters :math:`(O, C / \mathrm{groups}, k_1, \dots, k_n)`.
        b: bias :math:`(C,)`, or None.
        stride: step of the filters on the result, an int or one per axis.
        pad: what is cut off before and after each axis of the result, an int or one per axis.
        outsize: tuple with the size of the result along each axis; several fit where the stride is not 1. By
            default :math:`\mathrm{stride}\,(d - 1) + \mathrm{dilate}\,(k - 1) + 1 - 2\,\mathrm{pad}`.
        dilate: distance of a filter's elements on the result, an int or one per axis.
        groups: input and output channels fall into so many groups, each convolved on its own.

    Returns:
        Variable :math:`(N, C, l_1, \dots, l_n)` of ``x``'s dtype.

    Raises:
        InvalidType: shapes or dtypes do not fit, or ``outsize`` is not possible.
        TypeError: ``groups`` does not divide the channels.
        ValueError: a stride or dilation is less than 1, a padding negative.
        AssertionError: nothing would be left of the result.

    >>> import numpy as np, minichainer.functions as F
    >>> F.deconvolution_nd(np.array([[[1., 2.]]]), np.array([[[1., 1., 1.]]]), stride=2).array
    array([[[1., 1., 3., 2., 2.]]])
    """
    return _deconvolution(x, W, b, stride, pad, outsize, dilate, groups, ND)


def deconvolution_1d(
    x: Any,
    W: Any,
    b: Any = None,
    stride: Any = 1,
    pad: Any = 0,
    outsize: Any = None,
    dilate: Any = 1,
    groups: int = 1,
) -> Variable:
    r"""Transposed convolution over one axis; see :func:`deconvolution_nd`.

    Args:
        x: Variable or float array :math:`(N, O, d)`.
        W: filters :math:`(O, C / \mathrm{groups}, k)`.
        b: bias :math:`(C,)`, or None.
        stride: step of the filters on the result.
        pad: what is cut off at each end.
        outsize: tuple with the size of the result.
        dilate: distance of a filter's elements on the result.
        groups: number of groups of channels.

    Raises:
        ValueError: ``x`` does not have three axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.deconvolution_1d(np.ones((1, 1, 3)), np.ones((1, 1, 2))).array
    array([[[1., 2., 2., 1.]]])
    """
    _check_axes('deconvolution_1d', x, 1)
    return _deconvolution(x, W, b, stride, pad, outsize, dilate, groups, ND)


def deconvolution_2d(
    x: Any, W: Any, b: Any = None, stride: Any = 1, pad: Any = 0, outsize: Any = None, **kwargs: Any
) -> Variable:
    r"""Transposed convolution of images; see :func:`deconvolution_nd` for the formula.

    Args:
        x: images, Variable or float array :math:`(N, O, h, w)`.
        W: filters :math:`(O, C / \mathrm{groups}, k_h, k_w)`.
        b: bias :math:`(C,)`, or None.
        stride: step of the filters on the result, an int or a pair.
        pad: rows and columns that are cut off on each side, an int or a pair.
        outsize: pair with the size of the result.
        dilate: distance of a filter's elements on the result, an int or a pair (keyword only).
        groups: number of groups of channels (keyword only).

    Returns:
        Variable :math:`(N, C, h', w')`.

    Raises:
        InvalidType: shapes or dtypes do not fit, or ``outsize`` is not possible.
        ValueError: a stride or dilation is less than 1, a padding negative, or ``groups`` does not divide O.
        RuntimeError: nothing would be left of the result.

    >>> import numpy as np, minichainer.functions as F
    >>> F.deconvolution_2d(np.ones((1, 3, 4, 4)), np.ones((3, 2, 3, 3)), stride=2, pad=1, outsize=(8, 8)).shape
    (1, 2, 8, 8)
    """
    dilate, groups = argument.parse_kwargs(kwargs, ('dilate', 1), ('groups', 1), **_REMOVED)
    return _deconvolution(x, W, b, stride, pad, outsize, dilate, groups, PLANAR)


def deconvolution_3d(
    x: Any,
    W: Any,
    b: Any = None,
    stride: Any = 1,
    pad: Any = 0,
    outsize: Any = None,
    dilate: Any = 1,
    groups: int = 1,
) -> Variable:
    r"""Transposed convolution over three axes; see :func:`deconvolution_nd`.

    Args:
        x: Variable or float array :math:`(N, O, d_1, d_2, d_3)`.
        W: filters :math:`(O, C / \mathrm{groups}, k_1, k_2, k_3)`.
        b: bias :math:`(C,)`, or None.
        stride: step of the filters on the result, an int or one per axis.
        pad: what is cut off before and after each axis, an int or one per axis.
        outsize: tuple with the size of the result along each axis.
        dilate: distance of a filter's elements on the result, an int or one per axis.
        groups: number of groups of channels.

    Raises:
        ValueError: ``x`` does not have five axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.deconvolution_3d(np.ones((1, 3, 2, 2, 2)), np.ones((3, 2, 2, 2, 2))).shape
    (1, 2, 3, 3, 3)
    """
    _check_axes('deconvolution_3d', x, 3)
    return _deconvolution(x, W, b, stride, pad, outsize, dilate, groups, ND)


def _check_axes(op: str, x: Any, n: int) -> None:
    if x.ndim != n + 2:
        raise ValueError(
            f'{op}: x with {n + 2} axes (batch, channels, {n} of space) expected, came x.shape = {x.shape}'
        )


def _deconvolution(
    x: Any, W: Any, b: Any, stride: Any, pad: Any, outsize: Any, dilate: Any, groups: int, names: Names
) -> Variable:
    x, W = as_variable(x), as_variable(W)
    b = None if b is None else as_variable(b)
    name, planar = names.deconvolution, names is PLANAR
    check_images(name, x, W, planar)
    n = x.ndim - 2
    stride, dilate = positive_tuple(name, 'stride', stride, n), positive_tuple(name, 'dilate', dilate, n)
    pad = positive_tuple(name, 'pad', pad, n, least=0)
    groups = checked_groups(name, groups)
    _check_channels(name, x, W, groups, planar)
    check_bias(name, x, b, W.shape[1] * groups, planar)
    size, ksize = x.shape[2:], W.shape[2:]
    if outsize is None:
        axes = zip(size, ksize, stride, pad, dilate, strict=True)
        out = tuple([get_deconv_outsize(i, k, s, p, d=d) for i, k, s, p, d in axes])
    else:
        out = _checked_outsize(name, outsize, Geometry((), ksize, stride, pad, dilate, size))
    if any(o <= 0 for o in out):
        error = RuntimeError if planar else AssertionError
        raise error(
            f'{name}: a padding that leaves something of the result expected, came pad = {pad} for an input of size '
            f'{size} and filters of size {ksize}: the output size would be {out}, and must be positive'
        )
    geometry = Geometry(out, ksize, stride, pad, dilate, size, groups)
    dtype = x.dtype
    x, W, b = same_dtype(x, W, b)
    y = deconvolve(x, W, geometry, names) if b is None else deconvolve_with_bias(x, W, b, geometry, names)
    return y if y.dtype == dtype else as_dtype(y, dtype)


def _check_channels(name: str, x: Variable, W: Variable, groups: int, planar: bool) -> None:
    channels = x.shape[1]
    if channels != len(W):
        raise invalid_in(
            name, f'x.shape[1] == W.shape[0] = {len(W)}', f'{channels} (x.shape = {x.shape}, W.shape = {W.shape})'
        )
    if channels % groups:
        error = ValueError if planar else TypeError
        raise error(f'{name}: groups that divides the {channels} input channels expected, came groups = {groups}')


def _checked_outsize(name: str, outsize: Any, geometry: Geometry) -> tuple[int, ...]:
    """The sizes wanted; InvalidType where a convolution of such an array would not give the input's size."""
    if not hasattr(outsize, '__len__'):
        raise TypeError(f'{name}: outsize as a tuple of {len(geometry.ksize)} ints expected, came {outsize!r}')
    out = positive_tuple(name, 'outsize', outsize, len(geometry.ksize))
    axes = zip(out, geometry.ksize, geometry.stride, geometry.pad, geometry.dilate, geometry.out_size, strict=True)
    for o, k, s, p, d, size in axes:
        least, most = get_conv_outsize(o, k, s, p, False, d), get_conv_outsize(o, k, s, p, True, d)
        if not least <= size <= most:
            wanted = f'{least}' if least == most else f'{least} to {most}'
            expected = f'an input of size {wanted} along an axis whose outsize is {o}'
            raise invalid_in(name, expected, f'{size} (kernel {k}, stride {s}, padding {p}, dilation {d})')
    return out
