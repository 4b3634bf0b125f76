"""Output sizes of convolutions, and im2col.

The functions work on CuPy arrays too: NumPy delegates to CuPy through ``__array_function__`` and ``like=``.
"""

from __future__ import annotations

from typing import Any

import numpy


def get_conv_outsize(size: int, k: int, s: int, p: int, cover_all: bool = False, d: int = 1) -> int:
    """Output size of a convolution or pooling along one axis; not positive where the kernel does not fit.

    Args:
        size: input size, without padding.
        k: kernel size.
        s: stride.
        p: padding on each side.
        cover_all: whether each input takes part in some output, over the edge if need be.
        d: dilation.

    >>> from minichainer import utils
    >>> utils.get_conv_outsize(10, 3, 2, 1)
    5
    """
    reach = size + 2 * p - (k - 1) * d - 1
    return (reach + s - 1 if cover_all else reach) // s + 1


def get_deconv_outsize(size: int, k: int, s: int, p: int, cover_all: bool = False, d: int = 1) -> int:
    """Output size of a transposed convolution along one axis.

    Args:
        size: input size.
        k: kernel size.
        s: stride.
        p: padding on each side.
        cover_all: as the convolution has it.
        d: dilation.

    >>> from minichainer import utils
    >>> utils.get_deconv_outsize(5, 3, 2, 1)
    9
    """
    full = s * (size - 1) + (k - 1) * d + 1 - 2 * p
    return full - s + 1 if cover_all else full


def _patches(kh: int, kw: int, sy: int, sx: int, dy: int, dx: int, out_h: int, out_w: int) -> Any:
    """For each element of the kernel, its index and the slices of the padded image under it."""
    for i in range(kh):
        rows = slice(i * dy, i * dy + sy * out_h, sy)
        for j in range(kw):
            yield (i, j), (rows, slice(j * dx, j * dx + sx * out_w, sx))


def im2col_cpu(
    img: Any,
    kh: int,
    kw: int,
    sy: int,
    sx: int,
    ph: int,
    pw: int,
    pval: float = 0,
    cover_all: bool = False,
    dy: int = 1,
    dx: int = 1,
    out_h: int | None = None,
    out_w: int | None = None,
) -> Any:
    """The patches of images under a kernel.

    Args:
        img: images, of shape (batch, channels, height, width).
        kh, kw: kernel size.
        sy, sx: stride.
        ph, pw: padding on each side.
        pval: value of the padding.
        cover_all: whether each pixel is in some patch.
        dy, dx: dilation.
        out_h, out_w: number of patches along each axis; from the other arguments by default.

    Returns:
        Array of shape (batch, channels, kh, kw, out_h, out_w).

    >>> import numpy as np
    >>> from minichainer.utils import conv
    >>> conv.im2col_cpu(np.ones((1, 3, 8, 8), 'f'), 3, 3, 1, 1, 1, 1).shape
    (1, 3, 3, 3, 8, 8)
    """
    n, c, h, w = img.shape
    if out_h is None:
        out_h = get_conv_outsize(h, kh, sy, ph, cover_all, dy)
    if out_w is None:
        out_w = get_conv_outsize(w, kw, sx, pw, cover_all, dx)
    if out_h <= 0 or out_w <= 0:
        raise ValueError(
            f'im2col: a kernel of {kh}x{kw} (dilation {dy}x{dx}) does not fit into an image of {h}x{w} '
            f'with padding {ph}x{pw}: the output would be {out_h}x{out_w}'
        )
    padding = ((0, 0), (0, 0), (ph, ph + sy - 1), (pw, pw + sx - 1))
    padded = numpy.pad(img, padding, mode='constant', constant_values=pval)
    col = numpy.empty((n, c, kh, kw, out_h, out_w), img.dtype, like=img)
    for (i, j), (rows, columns) in _patches(kh, kw, sy, sx, dy, dx, out_h, out_w):
        col[:, :, i, j] = padded[:, :, rows, columns]
    return col


def im2col_gpu(
    img: Any,
    kh: int,
    kw: int,
    sy: int,
    sx: int,
    ph: int,
    pw: int,
    cover_all: bool = False,
    dy: int = 1,
    dx: int = 1,
    out_h: int | None = None,
    out_w: int | None = None,
) -> Any:
    """Like :func:`im2col_cpu` with padding of zeros, for CuPy arrays."""
    return im2col_cpu(img, kh, kw, sy, sx, ph, pw, 0, cover_all, dy, dx, out_h, out_w)


def im2col(
    img: Any,
    kh: int,
    kw: int,
    sy: int,
    sx: int,
    ph: int,
    pw: int,
    cover_all: bool = False,
    dy: int = 1,
    dx: int = 1,
    out_h: int | None = None,
    out_w: int | None = None,
) -> Any:
    """Like :func:`im2col_cpu` with padding of zeros, for arrays of either module."""
    return im2col_cpu(img, kh, kw, sy, sx, ph, pw, 0, cover_all, dy, dx, out_h, out_w)


def col2im_cpu(col: Any, sy: int, sx: int, ph: int, pw: int, h: int, w: int, dy: int = 1, dx: int = 1) -> Any:
    """Sums patches to images; the transpose of :func:`im2col_cpu`.

    Args:
        col: patches, of shape (batch, channels, kh, kw, out_h, out_w).
        sy, sx: stride.
        ph, pw: padding on each side.
        h, w: size of the images.
        dy, dx: dilation.

    Returns:
        Array of shape (batch, channels, h, w).

    >>> import numpy as np
    >>> from minichainer.utils import conv
    >>> conv.col2im_cpu(np.ones((1, 1, 2, 2, 1, 2), 'f'), 1, 1, 0, 0, 2, 3)
    array([[[[1., 2., 1.],
             [1., 2., 1.]]]], dtype=float32)
    """
    n, c, kh, kw, out_h, out_w = col.shape
    img = numpy.zeros((n, c, h + 2 * ph + sy - 1, w + 2 * pw + sx - 1), col.dtype, like=col)
    for (i, j), (rows, columns) in _patches(kh, kw, sy, sx, dy, dx, out_h, out_w):
        img[:, :, rows, columns] += col[:, :, i, j]
    return img[:, :, ph : h + ph, pw : w + pw]


def col2im_gpu(col: Any, sy: int, sx: int, ph: int, pw: int, h: int, w: int, dy: int = 1, dx: int = 1) -> Any:
    """Like :func:`col2im_cpu`, for CuPy arrays."""
    return col2im_cpu(col, sy, sx, ph, pw, h, w, dy, dx)


def col2im(col: Any, sy: int, sx: int, ph: int, pw: int, h: int, w: int, dy: int = 1, dx: int = 1) -> Any:
    """Like :func:`col2im_cpu`, for arrays of either module."""
    return col2im_cpu(col, sy, sx, ph, pw, h, w, dy, dx)
