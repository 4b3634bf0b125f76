"""Patches of images as channels."""

from __future__ import annotations

import math
from typing import Any

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import linear_map
from minichainer.kernels import patches as kernels
from minichainer.kernels._windows import Geometry
from minichainer.utils.conv import get_conv_outsize
from minichainer.variable import Variable, as_variable

_arguments = Arguments('Im2Col', 'im2col')


@linear_map(lambda m, gy, geometry: m.images_of_columns(gy, geometry), name='Im2Col', kinds='f')
def columns_of_images(xp: Any, x: Any, geometry: Geometry) -> Any:
    """The patch under each window, (N, C * elements of a window, *out_size)."""
    channels = x.shape[1] * math.prod(geometry.ksize)
    return kernels.patches(xp, x, geometry).reshape(len(x), channels, *geometry.out_size)


@linear_map(lambda m, g, geometry: m.columns_of_images(g, geometry), name='Im2ColGrad', kinds='f')
def images_of_columns(xp: Any, y: Any, geometry: Geometry) -> Any:
    """The transpose of :func:`columns_of_images`."""
    channels = y.shape[1] // math.prod(geometry.ksize)
    return kernels.add_patches(xp, y.reshape(len(y), channels, *geometry.ksize, *geometry.out_size), geometry)


def im2col(x: Any, ksize: Any, stride: Any = 1, pad: Any = 0, cover_all: bool = False, dilate: Any = 1) -> Variable:
    r"""Cuts images into patches: a convolution is a product of filters with these columns.

    Args:
        x: images, Variable or float array :math:`(N, C, h, w)`.
        ksize: size of the patches :math:`(k_h, k_w)`, an int or a pair.
        stride: step of the patches, an int or a pair.
        pad: rows and columns of zeros on each side, an int or a pair.
        cover_all: also use an incomplete window at the end.
        dilate: distance of a patch's elements on ``x``, an int or a pair.

    Returns:
        Variable :math:`(N, C k_h k_w, h', w')`; the elements of a channel's patch are adjacent.

    Raises:
        InvalidType: ``x`` is not a float array with four axes.
        ValueError: a size, stride or dilation is less than 1, a padding negative.
        TypeError: an argument is neither an int nor a sequence of ints.
        AssertionError: the patches are larger than the padded images.

    >>> import numpy as np, minichainer.functions as F
    >>> F.im2col(np.arange(4.).reshape(1, 1, 2, 2), 2).array.ravel()
    array([0., 1., 2., 3.])
    """
    x = as_variable(x)
    _arguments.floats(x)
    _arguments.flag(cover_all, 'cover_all')
    if x.ndim != 4:
        raise _arguments.misfit('x.ndim == 4', f'x.shape = {x.shape}')
    y: Variable = columns_of_images(x, _geometry(x.shape[2:], ksize, stride, pad, bool(cover_all), dilate))
    return y


def _geometry(size: Any, ksize: Any, stride: Any, pad: Any, cover_all: bool, dilate: Any) -> Geometry:
    ksize, stride = _arguments.per_axis(ksize, 'ksize', 2), _arguments.per_axis(stride, 'stride', 2)
    dilate, pad = _arguments.per_axis(dilate, 'dilate', 2), _arguments.per_axis(pad, 'pad', 2, least=0)
    axes = zip(size, ksize, stride, pad, dilate, strict=True)
    out = tuple([get_conv_outsize(i, k, s, p, cover_all, d) for i, k, s, p, d in axes])
    if any(o <= 0 for o in out):
        raise AssertionError(
            f'im2col: patches that fit into the padded input expected, got patches of size {ksize} (dilation '
            f'{dilate}) and images of size {size} (padding {pad}): the output size would be {out}, and must be '
            'positive'
        )
    return Geometry(size, ksize, stride, pad, dilate, out, cover_all=cover_all)
