"""Patches of images under sliding windows, and convolution with separate filters for each window.

Images are (N, C, *in_size), patches (N, C, *ksize, *out_size). ``local_convolve``, ``local_data_gradient`` and
``local_filter_gradient`` are each other's gradients, like the kernels of convolution. float16 is computed in float32.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer.kernels._dispatch import kernel
from minichainer.kernels._windows import Geometry, fit, unfit

_EVERY: Any = (slice(None), slice(None))


def patches(xp: Any, x: Any, geometry: Geometry) -> Any:
    """The elements under each window, with zeros in the padding.

    Args:
        xp: numpy or cupy.
        x: array (N, C, *in_size).
        geometry: the windows.

    Returns:
        C-contiguous array (N, C, *ksize, *out_size).
    """
    padded = fit(xp, x, geometry, 0)
    result = xp.empty((*x.shape[:2], *geometry.ksize, *geometry.out_size), x.dtype)
    for tap, slices in geometry.taps():
        result[_EVERY + tap] = padded[_EVERY + slices]
    return result


@kernel(widens=True)
def add_patches(xp: Any, patches: Any, geometry: Geometry) -> Any:
    """Sums patches to images; the transpose of :func:`patches`.

    Args:
        xp: numpy or cupy.
        patches: array (N, C, *ksize, *out_size).
        geometry: the windows.

    Returns:
        Array (N, C, *in_size).
    """
    span = xp.zeros((*patches.shape[:2], *geometry.span), patches.dtype)
    for tap, slices in geometry.taps():
        span[_EVERY + slices] += patches[_EVERY + tap]
    return unfit(xp, span, geometry)


@kernel(widens=True)
def local_convolve(xp: Any, x: Any, W: Any, geometry: Geometry) -> Any:
    """Convolution with separate filters for each window.

    Args:
        xp: numpy or cupy.
        x: images (N, C, *in_size).
        W: filters (O, *out_size, C, *ksize).
        geometry: the windows.

    Returns:
        Array (N, O, *out_size).
    """
    columns = _columns(xp, x, geometry)
    y = xp.matmul(columns, _filters(W, geometry).transpose(0, 2, 1))
    return _images(y, geometry.out_size)


@kernel(widens=True)
def local_data_gradient(xp: Any, gy: Any, W: Any, geometry: Geometry) -> Any:
    """The transpose of :func:`local_convolve` for images: (N, C, *in_size) from (N, O, *out_size)."""
    columns = xp.matmul(_places(gy), _filters(W, geometry))
    n = len(geometry.ksize)
    parted = columns.reshape(*geometry.out_size, len(gy), W.shape[n + 1], *geometry.ksize)
    axes = (n, n + 1, *range(n + 2, 2 * n + 2), *range(n))
    return add_patches(xp, parted.transpose(axes), geometry)


@kernel(widens=True)
def local_filter_gradient(xp: Any, x: Any, gy: Any, geometry: Geometry) -> Any:
    """The transpose of :func:`local_convolve` for filters: (O, *out_size, C, *ksize), C-contiguous."""
    rows = _places(gy).transpose(0, 2, 1)
    gW = xp.matmul(rows, _columns(xp, x, geometry)).transpose(1, 0, 2)
    gW = gW.reshape(gy.shape[1], *geometry.out_size, x.shape[1], *geometry.ksize)
    return xp.ascontiguousarray(gW)


def _columns(xp: Any, x: Any, geometry: Geometry) -> Any:
    """Patches as matrices (places, N, elements of a patch)."""
    found, n = patches(xp, x, geometry), len(geometry.ksize)
    axes = (*range(n + 2, 2 * n + 2), *range(n + 2))
    places = math.prod(geometry.out_size)
    return found.transpose(axes).reshape(places, len(x), math.prod(geometry.ksize) * x.shape[1])


def _filters(W: Any, geometry: Geometry) -> Any:
    """Filters as matrices (places, O, elements of a patch)."""
    n = len(geometry.ksize)
    places, elements = math.prod(geometry.out_size), math.prod(geometry.ksize) * W.shape[n + 1]
    return W.reshape(len(W), places, elements).transpose(1, 0, 2)


def _places(y: Any) -> Any:
    """Images (N, O, *out_size) as matrices (places, N, O)."""
    return y.reshape(*y.shape[:2], math.prod(y.shape[2:])).transpose(2, 0, 1)


def _images(y: Any, size: tuple[int, ...]) -> Any:
    """Matrices (places, N, O) as images (N, O, *size)."""
    return y.transpose(1, 2, 0).reshape(*y.shape[1:], *size)


# --- the plain form ----------------------------------------------------------------------------------------------
def local_convolve_reference(x: Any, W: Any, geometry: Geometry) -> Any:
    """The definition of :func:`local_convolve` for 2-d images without padding, in NumPy: slow."""
    y = numpy.zeros((len(x), len(W), *geometry.out_size), x.dtype)
    (kh, kw), (sy, sx) = geometry.ksize, geometry.stride
    for i, j in numpy.ndindex(*geometry.out_size):
        seen = x[:, :, i * sy : i * sy + kh, j * sx : j * sx + kw]
        y[:, :, i, j] = numpy.einsum('nckl,ockl->no', seen, W[:, i, j])
    return y
