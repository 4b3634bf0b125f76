"""im2col for any number of axes; for two there is :mod:`minichainer.utils.conv`.

The functions work on CuPy arrays too: NumPy delegates to CuPy through ``__array_function__`` and ``like=``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from minichainer.errors import CountError
from minichainer.utils.conv import get_conv_outsize

__all__ = [
    'as_tuple',
    'col2im_nd',
    'col2im_nd_cpu',
    'col2im_nd_gpu',
    'get_conv_outsize',
    'im2col_nd',
    'im2col_nd_cpu',
    'im2col_nd_gpu',
]


#: All batches and channels.
_ALL: tuple[Any, ...] = (slice(None), slice(None))


def as_tuple(x: Any, n: int) -> tuple[Any, ...]:
    """A tuple with an entry for each axis.

    Args:
        x: a number, for all axes, or a sequence of ``n`` numbers.
        n: number of axes.

    Raises:
        ValueError: the sequence has another length (also an AssertionError, as in Chainer).

    >>> from minichainer.utils import conv_nd
    >>> conv_nd.as_tuple(3, 2), conv_nd.as_tuple([1, 2], 2)
    ((3, 3), (1, 2))
    """
    values = tuple(x) if hasattr(x, '__getitem__') else (x,) * n
    if len(values) != n:
        raise CountError(f'as_tuple: expected a number or {n} numbers, got {x!r}')
    return values


def _patches(
    ksize: Sequence[int], stride: Sequence[int], dilate: Sequence[int], outs: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """For each element of the kernel, its index and the slices of the padded image under it."""
    for place in itertools.product(*map(range, ksize)):
        axes = zip(place, stride, dilate, outs, strict=True)
        yield place, tuple(slice(i * d, i * d + s * out, s) for i, s, d, out in axes)


def im2col_nd_cpu(
    img: Any, ksize: Sequence[int], stride: Sequence[int], pad: Sequence[int], pval: float = 0,
    cover_all: bool = False, dilate: Any = 1,
) -> Any:  # fmt: skip
    """The patches of images under a kernel.

    Args:
        img: images, of shape (batch, channels, size_1, ..., size_n).
        ksize, stride, pad: kernel size, stride and padding for each axis.
        pval: value of the padding.
        cover_all: whether each element is in some patch.
        dilate: dilation, a number or one for each axis.

    Returns:
        Array of shape (batch, channels, *ksize, out_1, ..., out_n).

    Raises:
        ValueError: the kernel does not fit, or the numbers of axes differ.

    >>> import numpy as np
    >>> from minichainer.utils import conv_nd
    >>> conv_nd.im2col_nd_cpu(np.ones((1, 3, 8, 8, 8)), (3, 3, 3), (1, 1, 1), (0, 0, 0)).shape
    (1, 3, 3, 3, 3, 6, 6, 6)
    """
    sizes = img.shape[2:]
    n = len(sizes)
    ksize, stride, pad, dilate = (as_tuple(value, n) for value in (ksize, stride, pad, dilate))
    axes = zip(sizes, ksize, stride, pad, dilate, strict=True)
    outs = tuple(get_conv_outsize(size, k, s, p, cover_all, d) for size, k, s, p, d in axes)
    if any(out <= 0 for out in outs):
        raise ValueError(
            f'im2col_nd: a kernel of {ksize} (dilation {dilate}) does not fit into an image of {sizes} with padding '
            f'{pad}: the output would be {outs}'
        )
    padding = ((0, 0), (0, 0), *((p, p + s - 1) for p, s in zip(pad, stride, strict=True)))
    padded = numpy.pad(img, padding, mode='constant', constant_values=pval)
    col = numpy.empty((*img.shape[:2], *ksize, *outs), img.dtype, like=img)
    for place, window in _patches(ksize, stride, dilate, outs):
        col[_ALL + place] = padded[_ALL + window]
    return col


def im2col_nd_gpu(
    img: Any,
    ksize: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    cover_all: bool = False,
    dilate: Any = 1,
) -> Any:
    """Like :func:`im2col_nd_cpu` with padding of zeros, for CuPy arrays."""
    return im2col_nd_cpu(img, ksize, stride, pad, 0, cover_all, dilate)


def im2col_nd(
    img: Any,
    ksize: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    cover_all: bool = False,
    dilate: Any = 1,
) -> Any:
    """Like :func:`im2col_nd_cpu` with padding of zeros, for arrays of either module."""
    return im2col_nd_cpu(img, ksize, stride, pad, 0, cover_all, dilate)


def col2im_nd_cpu(col: Any, stride: Sequence[int], pad: Sequence[int], dims: Sequence[int], dilate: Any = 1) -> Any:
    """Sums patches to images; the transpose of :func:`im2col_nd_cpu`.

    Args:
        col: patches, of shape (batch, channels, *ksize, out_1, ..., out_n).
        stride, pad: stride and padding for each axis.
        dims: size of the images.
        dilate: dilation, a number or one for each axis.

    Returns:
        Array of shape (batch, channels, *dims).

    Raises:
        ValueError: the numbers of axes differ.

    >>> import numpy as np
    >>> from minichainer.utils import conv_nd
    >>> conv_nd.col2im_nd_cpu(np.ones((1, 1, 2, 3)), (1,), (0,), (4,))
    array([[[1., 2., 2., 1.]]])
    """
    n = col.ndim // 2 - 1
    ksize, outs = col.shape[2 : 2 + n], col.shape[2 + n :]
    stride, pad, dims, dilate = (as_tuple(value, n) for value in (stride, pad, dims, dilate))
    axes = list(zip(dims, stride, pad, strict=True))
    img = numpy.zeros((*col.shape[:2], *(d + 2 * p + s - 1 for d, s, p in axes)), col.dtype, like=col)
    for place, window in _patches(ksize, stride, dilate, outs):
        img[_ALL + window] += col[_ALL + place]
    return img[_ALL + tuple(slice(p, d + p) for d, _, p in axes)]


def col2im_nd_gpu(col: Any, stride: Sequence[int], pad: Sequence[int], dims: Sequence[int], dilate: Any = 1) -> Any:
    """Like :func:`col2im_nd_cpu`, for CuPy arrays."""
    return col2im_nd_cpu(col, stride, pad, dims, dilate)


def col2im_nd(col: Any, stride: Sequence[int], pad: Sequence[int], dims: Sequence[int], dilate: Any = 1) -> Any:
    """Like :func:`col2im_nd_cpu`, for arrays of either module."""
    return col2im_nd_cpu(col, stride, pad, dims, dilate)
