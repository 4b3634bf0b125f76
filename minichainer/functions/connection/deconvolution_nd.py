"""Transposed convolutions over one to any number of axes: the data gradients of convolutions."""

from __future__ import annotations

from typing import Any

from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.connection._geometry import ConvolutionArguments, same_dtype
from minichainer.functions.connection.convolution_nd import ND, PLANAR, Names, deconvolve, deconvolve_with_bias
from minichainer.kernels._windows import Geometry
from minichainer.utils import argument
from minichainer.utils.conv import get_conv_outsize, get_deconv_outsize
from minichainer.variable import Variable, as_variable

_REMOVED = {
    'deterministic': 'deterministic is not supported anymore: use chainer.using_config('
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
        pad: number of elements removed before and after each axis of the result, an int or one per axis.
        outsize: tuple with the size of the result along each axis; several fit where the stride is not 1. By
            default :math:`\mathrm{stride}\,(d - 1) + \mathrm{dilate}\,(k - 1) + 1 - 2\,\mathrm{pad}`.
        dilate: distance of a filter's elements on the result, an int or one per axis.
        groups: number of groups of input and output channels, convolved separately.

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
        pad: number of elements removed at each end.
        outsize: tuple with the size of the result.
        dilate: distance of a filter's elements on the result.
        groups: number of groups of channels.

    Raises:
        ValueError: ``x`` does not have three axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.deconvolution_1d(np.ones((1, 1, 3)), np.ones((1, 1, 2))).array
    array([[[1., 2., 2., 1.]]])
    """
    ConvolutionArguments('deconvolution_1d').axes_of(x, 1)
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
        pad: number of elements removed before and after each axis, an int or one per axis.
        outsize: tuple with the size of the result along each axis.
        dilate: distance of a filter's elements on the result, an int or one per axis.
        groups: number of groups of channels.

    Raises:
        ValueError: ``x`` does not have five axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.deconvolution_3d(np.ones((1, 3, 2, 2, 2)), np.ones((3, 2, 2, 2, 2))).shape
    (1, 2, 3, 3, 3)
    """
    ConvolutionArguments('deconvolution_3d').axes_of(x, 3)
    return _deconvolution(x, W, b, stride, pad, outsize, dilate, groups, ND)


def _deconvolution(
    x: Any, W: Any, b: Any, stride: Any, pad: Any, outsize: Any, dilate: Any, groups: int, names: Names
) -> Variable:
    """Checks the arguments, and applies the op of a family."""
    x, W = as_variable(x), as_variable(W)
    b = None if b is None else as_variable(b)
    arguments = ConvolutionArguments(names.deconvolution, names.planar)
    arguments.images(x, W, is_transposed=True)
    n = x.ndim - 2
    stride, dilate = arguments.per_axis(stride, 'stride', n), arguments.per_axis(dilate, 'dilate', n)
    pad = arguments.per_axis(pad, 'pad', n, least=0)
    groups = arguments.groups(groups)
    _check_channels(arguments, x, W, groups)
    arguments.bias(x, W, b, W.shape[1] * groups)
    size, ksize = x.shape[2:], W.shape[2:]
    if outsize is None:
        axes = zip(size, ksize, stride, pad, dilate, strict=True)
        out = tuple([get_deconv_outsize(i, k, s, p, d=d) for i, k, s, p, d in axes])
    else:
        out = _checked_outsize(arguments, outsize, Geometry((), ksize, stride, pad, dilate, size))
    if any(o <= 0 for o in out):
        error = RuntimeError if names.planar else AssertionError
        raise error(
            f'{arguments.name}: expected a smaller padding, got pad = {pad} for an input '
            f'of size {size} and filters of size {ksize}: the output size would be {out}, and must be positive'
        )
    geometry = Geometry(out, ksize, stride, pad, dilate, size, groups)
    dtype = x.dtype
    x, W, b = same_dtype(arguments, x, W, b)
    y = deconvolve(x, W, geometry, names) if b is None else deconvolve_with_bias(x, W, b, geometry, names)
    return y if y.dtype == dtype else as_dtype(y, dtype)


def _check_channels(arguments: ConvolutionArguments, x: Variable, W: Variable, groups: int) -> None:
    channels = x.shape[1]
    if channels != len(W):
        got = f'{channels} (x.shape = {x.shape}, W.shape = {W.shape})'
        raise arguments.misfit(f'x.shape[1] == W.shape[0] = {len(W)}', got)
    if channels % groups:
        error = ValueError if arguments.planar else TypeError
        expected = f'expected groups to divide the {channels} input channels'
        raise error(f'{arguments.name}: {expected}, got groups = {groups}')


def _checked_outsize(arguments: ConvolutionArguments, outsize: Any, geometry: Geometry) -> tuple[int, ...]:
    """The requested sizes; InvalidType if a convolution of that size would not give the input's size."""
    n = len(geometry.ksize)
    if not hasattr(outsize, '__len__'):
        raise arguments.wrong_type(f'tuple of {n} ints', 'outsize', outsize)
    out = arguments.per_axis(outsize, 'outsize', n)
    axes = zip(out, geometry.ksize, geometry.stride, geometry.pad, geometry.dilate, geometry.out_size, strict=True)
    for o, k, s, p, d, size in axes:
        least, most = get_conv_outsize(o, k, s, p, False, d), get_conv_outsize(o, k, s, p, True, d)
        if not least <= size <= most:
            wanted = f'{least}' if least == most else f'{least} to {most}'
            expected = f'an input of size {wanted} along an axis whose outsize is {o}'
            raise arguments.misfit(expected, f'{size} (kernel {k}, stride {s}, padding {p}, dilation {d})')
    return out
