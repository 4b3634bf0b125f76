"""Convolutions over one to any number of axes.

Convolution, its data gradient (the transposed convolution) and its filter gradient are bilinear, and the gradients of
each are the two others: three ops, differentiable any number of times.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minichainer.functions._define import linear_map, primitive
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import reshape, transpose
from minichainer.functions.connection._geometry import ConvolutionArguments, same_dtype
from minichainer.kernels import convolution as kernels
from minichainer.kernels._windows import Geometry
from minichainer.utils import argument
from minichainer.utils.conv import get_conv_outsize
from minichainer.variable import Variable, as_variable

_REMOVED = {
    'deterministic': 'deterministic is not supported anymore: use chainer.using_config('
    "'cudnn_deterministic', True or False)"
}


class Names(NamedTuple):
    """The labels of one family of ops, in graphs and errors; one family is for 2-d images only."""

    convolution: str
    deconvolution: str
    filter_gradient: str
    planar: bool


ND = Names('ConvolutionND', 'DeconvolutionND', 'ConvolutionNDGradW', False)
PLANAR = Names('Convolution2DFunction', 'Deconvolution2DFunction', 'Convolution2DGradW', True)

_CONVOLUTION: tuple[Any, ...] = (
    lambda m, gy, W, geometry, names: m.deconvolve(gy, W, geometry, names),
    lambda m, gy, x, geometry, names: m.correlate(x, gy, geometry, names),
)
_DECONVOLUTION: tuple[Any, ...] = (
    lambda m, gy, W, geometry, names: m.convolve(gy, W, geometry, names),
    lambda m, gy, x, geometry, names: m.correlate(gy, x, geometry, names),
)
_CORRELATION: tuple[Any, ...] = (
    lambda m, gW, gy, geometry, names: m.deconvolve(gy, gW, geometry, names),
    lambda m, gW, x, geometry, names: m.convolve(x, gW, geometry, names),
)


def _of_bias(m: Any, gy: Any) -> Any:
    return m.sum_of_channels(gy)


@primitive(
    rule=_CONVOLUTION,
    name='ConvolutionND',
    label=lambda geometry, names: names.convolution,
    kinds='f',
    linear_in=('x', 'W'),
)
def convolve(xp: Any, x: Any, W: Any, geometry: Geometry, names: Names) -> Any:
    """Convolution of images with filters."""
    return kernels.convolve(xp, x, W, None, geometry)


@primitive(
    rule=(*_CONVOLUTION, _of_bias),
    name='ConvolutionND',
    label=lambda geometry, names: names.convolution,
    kinds='f',
    linear_in=('x b', 'W b'),
)
def convolve_with_bias(xp: Any, x: Any, W: Any, b: Any, geometry: Geometry, names: Names) -> Any:
    """Convolution of images with filters, plus a bias for each channel."""
    return kernels.convolve(xp, x, W, b, geometry)


@primitive(
    rule=_DECONVOLUTION,
    name='DeconvolutionND',
    label=lambda geometry, names: names.deconvolution,
    kinds='f',
    linear_in=('x', 'W'),
)
def deconvolve(xp: Any, x: Any, W: Any, geometry: Geometry, names: Names) -> Any:
    """Data gradient of the convolution with the same geometry."""
    return kernels.data_gradient(xp, x, W, None, geometry)


@primitive(
    rule=(*_DECONVOLUTION, _of_bias),
    name='DeconvolutionND',
    label=lambda geometry, names: names.deconvolution,
    kinds='f',
    linear_in=('x b', 'W b'),
)
def deconvolve_with_bias(xp: Any, x: Any, W: Any, b: Any, geometry: Geometry, names: Names) -> Any:
    """Data gradient of the convolution with the same geometry, plus a bias for each channel."""
    return kernels.data_gradient(xp, x, W, b, geometry)


@primitive(
    rule=_CORRELATION,
    name='ConvolutionNDGradW',
    label=lambda geometry, names: names.filter_gradient,
    kinds='f',
    linear_in=('x', 'gy'),
)
def correlate(xp: Any, x: Any, gy: Any, geometry: Geometry, names: Names) -> Any:
    """Filter gradient of the convolution with the same geometry."""
    return kernels.filter_gradient(xp, x, gy, geometry)


@linear_map(lambda m, g, x_shape: m.over_channels(g, x_shape), kinds='f')
def sum_of_channels(xp: Any, x: Any) -> Any:
    """The sum of each channel over batch and spatial axes."""
    return kernels.sum_of_channels(xp, x)


@linear_map(lambda m, g: m.sum_of_channels(g), kinds='f')
def over_channels(xp: Any, x: Any, shape: tuple[int, ...]) -> Any:
    """Images that are constant in each channel."""
    return xp.broadcast_to(x.reshape(-1, *[1] * (len(shape) - 2)), shape)


def convolution_nd(
    x: Any,
    W: Any,
    b: Any = None,
    stride: Any = 1,
    pad: Any = 0,
    cover_all: bool = False,
    dilate: Any = 1,
    groups: int = 1,
) -> Variable:
    r"""Convolution over any number of axes (cross-correlation, as usual in neural networks).

    .. math:: y_{n,o,p} = b_o + \sum_{c,k} W_{o,c,k}\, x_{n,c,\; s p + d k - \mathrm{pad}}

    Args:
        x: Variable or float array :math:`(N, C, d_1, \dots, d_n)`.
        W: filters :math:`(O, C / \mathrm{groups}, k_1, \dots, k_n)`.
        b: bias :math:`(O,)`, or None.
        stride: step of the filters, an int or one per axis.
        pad: zeros before and after each axis, an int or one per axis.
        cover_all: also use an incomplete window at the end, so that each element is used.
        dilate: distance of a filter's elements on ``x``, an int or one per axis.
        groups: number of groups of input and output channels, convolved separately.

    Returns:
        Variable :math:`(N, O, l_1, \dots, l_n)` of ``x``'s dtype with :math:`l = \lfloor (d + 2\,\mathrm{pad} -
        \mathrm{dilate}\,(k - 1) - 1) / \mathrm{stride} \rfloor + 1`, rounded up where ``cover_all``.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        TypeError: ``groups`` does not divide the channels.
        ValueError: a stride or dilation is less than 1, a padding negative.
        TypeError: one of the numbers is not an int.
        AssertionError: the filters are larger than the padded input.

    >>> import numpy as np, minichainer.functions as F
    >>> F.convolution_nd(np.ones((1, 2, 5, 6)), np.ones((3, 2, 2, 3)), stride=(2, 1)).shape
    (1, 3, 2, 4)
    """
    return _convolution(x, W, b, stride, pad, cover_all, dilate, groups, ND)


def convolution_1d(
    x: Any,
    W: Any,
    b: Any = None,
    stride: Any = 1,
    pad: Any = 0,
    cover_all: bool = False,
    dilate: Any = 1,
    groups: int = 1,
) -> Variable:
    r"""Convolution over one axis; see :func:`convolution_nd`.

    Args:
        x: Variable or float array :math:`(N, C, d)`.
        W: filters :math:`(O, C / \mathrm{groups}, k)`.
        b: bias :math:`(O,)`, or None.
        stride: step of the filters.
        pad: zeros at each end.
        cover_all: also use an incomplete window at the end.
        dilate: distance of a filter's elements on ``x``.
        groups: number of groups of channels.

    Raises:
        ValueError: ``x`` does not have three axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.convolution_1d(np.arange(4.).reshape(1, 1, 4), np.array([[[1., -1.]]])).array
    array([[[-1., -1., -1.]]])
    """
    ConvolutionArguments('convolution_1d').axes_of(x, 1)
    return _convolution(x, W, b, stride, pad, cover_all, dilate, groups, ND)


def convolution_2d(
    x: Any, W: Any, b: Any = None, stride: Any = 1, pad: Any = 0, cover_all: bool = False, **kwargs: Any
) -> Variable:
    r"""Convolution of images; see :func:`convolution_nd` for the formula.

    Args:
        x: images, Variable or float array :math:`(N, C, h, w)`.
        W: filters :math:`(O, C / \mathrm{groups}, k_h, k_w)`.
        b: bias :math:`(O,)`, or None.
        stride: step of the filters, an int or a pair.
        pad: rows and columns of zeros on each side, an int or a pair.
        cover_all: also use an incomplete window at the end.
        dilate: distance of a filter's elements on ``x``, an int or a pair (keyword only).
        groups: number of groups of channels (keyword only).

    Returns:
        Variable :math:`(N, O, h', w')`.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: a stride or dilation is less than 1, a padding negative, or ``groups`` does not divide O.
        AssertionError: the filters are larger than the padded images.

    >>> import numpy as np, minichainer.functions as F
    >>> F.convolution_2d(np.ones((1, 2, 5, 5)), np.ones((3, 2, 3, 3)), pad=1, dilate=2).shape
    (1, 3, 3, 3)
    """
    dilate, groups = argument.parse_kwargs(kwargs, ('dilate', 1), ('groups', 1), **_REMOVED)
    return _convolution(x, W, b, stride, pad, cover_all, dilate, groups, PLANAR)


def convolution_3d(
    x: Any,
    W: Any,
    b: Any = None,
    stride: Any = 1,
    pad: Any = 0,
    cover_all: bool = False,
    dilate: Any = 1,
    groups: int = 1,
) -> Variable:
    r"""Convolution over three axes; see :func:`convolution_nd`.

    Args:
        x: Variable or float array :math:`(N, C, d_1, d_2, d_3)`.
        W: filters :math:`(O, C / \mathrm{groups}, k_1, k_2, k_3)`.
        b: bias :math:`(O,)`, or None.
        stride: step of the filters, an int or one per axis.
        pad: zeros before and after each axis, an int or one per axis.
        cover_all: also use an incomplete window at the end.
        dilate: distance of a filter's elements on ``x``, an int or one per axis.
        groups: number of groups of channels.

    Raises:
        ValueError: ``x`` does not have five axes.

    >>> import numpy as np, minichainer.functions as F
    >>> F.convolution_3d(np.ones((1, 2, 4, 4, 4)), np.ones((3, 2, 2, 2, 2))).shape
    (1, 3, 3, 3, 3)
    """
    ConvolutionArguments('convolution_3d').axes_of(x, 3)
    return _convolution(x, W, b, stride, pad, cover_all, dilate, groups, ND)


def dilated_convolution_2d(
    x: Any, W: Any, b: Any = None, stride: Any = 1, pad: Any = 0, dilate: Any = 1, cover_all: bool = False
) -> Variable:
    """Convolution of images with gaps in the filters: :func:`convolution_2d` with ``dilate``.

    Args:
        x: images (N, C, h, w).
        W: filters (O, C, kh, kw).
        b: bias (O,), or None.
        stride: as in :func:`convolution_2d`.
        pad: as in :func:`convolution_2d`.
        dilate: distance of a filter's elements on ``x``, an int or a pair.
        cover_all: as in :func:`convolution_2d`.

    >>> import numpy as np, minichainer.functions as F
    >>> F.dilated_convolution_2d(np.ones((1, 1, 7, 7)), np.ones((1, 1, 3, 3)), dilate=3).array
    array([[[[9.]]]])
    """
    return _convolution(x, W, b, stride, pad, cover_all, dilate, 1, PLANAR)


def depthwise_convolution_2d(x: Any, W: Any, b: Any = None, stride: Any = 1, pad: Any = 0) -> Variable:
    """Convolution of each channel of images with its own filters.

    Args:
        x: images (N, C, h, w).
        W: D filters for each channel, (D, C, kh, kw).
        b: bias (D * C,), or None.
        stride: as in :func:`convolution_2d`.
        pad: as in :func:`convolution_2d`.

    Returns:
        Variable (N, C * D, h', w'); the D results of a channel stand together.

    >>> import numpy as np, minichainer.functions as F
    >>> F.depthwise_convolution_2d(np.ones((1, 3, 4, 4)), np.ones((2, 3, 3, 3))).shape
    (1, 6, 2, 2)
    """
    W = as_variable(W)
    if W.ndim != 4:
        raise ValueError(f'depthwise_convolution_2d: W with four axes expected, got W.shape = {W.shape}')
    multiplier, channels, *ksize = W.shape
    filters = reshape(transpose(W, (1, 0, 2, 3)), (multiplier * channels, 1, *ksize))
    return _convolution(x, filters, b, stride, pad, False, 1, channels, PLANAR)


def _convolution(
    x: Any, W: Any, b: Any, stride: Any, pad: Any, cover_all: bool, dilate: Any, groups: int, names: Names
) -> Variable:
    """Checks the arguments, and applies the op of a family."""
    x, W = as_variable(x), as_variable(W)
    b = None if b is None else as_variable(b)
    arguments = ConvolutionArguments(names.convolution, names.planar)
    arguments.images(x, W)
    n = x.ndim - 2
    stride, dilate = arguments.per_axis(stride, 'stride', n), arguments.per_axis(dilate, 'dilate', n)
    pad = arguments.per_axis(pad, 'pad', n, least=0)
    groups = arguments.groups(groups)
    if cover_all is not False:
        arguments.flag(cover_all, 'cover_all')
    arguments.channels(x, W, groups)
    arguments.bias(x, W, b, len(W))
    size, ksize = x.shape[2:], W.shape[2:]
    axes = zip(size, ksize, stride, pad, dilate, strict=True)
    out = tuple([get_conv_outsize(i, k, s, p, bool(cover_all), d) for i, k, s, p, d in axes])
    if any(o <= 0 for o in out):
        raise AssertionError(
            f'{arguments.name}: expected filters that fit into the padded input, got filters of size {ksize} '
            f'(dilation {dilate}) and an input of size {size} (padding {pad}): the output size would be {out}, '
            'and must be positive'
        )
    geometry = Geometry(size, ksize, stride, pad, dilate, out, groups, bool(cover_all))
    dtype = x.dtype
    x, W, b = same_dtype(arguments, x, W, b)
    y = convolve(x, W, geometry, names) if b is None else convolve_with_bias(x, W, b, geometry, names)
    return y if y.dtype == dtype else as_dtype(y, dtype)
