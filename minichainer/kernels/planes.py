"""Convolution of images with few channels by a compiled kernel, which needs no patches.

Patches of few channels are short: copying them takes half as long as their products with filters, and BLAS multiplies
matrices of so few columns at half its speed. Images have their channels first here, and results have them last.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from minichainer._native.library import kernels as native
from minichainer.kernels._dispatch import DECLINED
from minichainer.kernels._windows import Geometry, fit, numbers_of

_MOST_CHANNELS = 3
#: From so many filters on; the kernel computes up to 32 at a time.
_FEWEST_FILTERS = 12
#: The kernel computes so many windows of a row together.
_FEWEST_WINDOWS = 8
#: For smaller filters, patches cost less. Of larger ones, sums in one sequence lose more digits than those of BLAS.
_ELEMENTS = range(9, 257)
#: Numbers of scratch memory for each element of a filter.
_ACROSS = 32


def applies(geometry: Geometry, channels: int, filters: int) -> bool:
    """Whether the kernel is for such images and filters."""
    elements = channels * math.prod(geometry.ksize)
    few = geometry.groups == 1 and channels <= _MOST_CHANNELS and elements in _ELEMENTS
    many = filters >= _FEWEST_FILTERS and geometry.out_size[-1:] >= (_FEWEST_WINDOWS,)
    return few and many and numbers_of(geometry) is not None


def convolve(x: Any, W: Any, b: Any, geometry: Geometry) -> Any:
    """The convolution plus a bias or None, (N, *out_size, O)."""
    elements = W.shape[1] * math.prod(geometry.ksize)
    scratch = numpy.empty(_ACROSS * (1 + elements), x.dtype)
    y = numpy.empty((len(x), *geometry.out_size, len(W)), x.dtype)
    done = native.convolve_planes(_padded(x, geometry), W, b, y, scratch, *_sizes(x, geometry), len(W))
    return y if done else DECLINED


def _padded(x: Any, geometry: Geometry) -> Any:
    return numpy.ascontiguousarray(fit(numpy, x, geometry, 0))


def _sizes(x: Any, geometry: Geometry) -> tuple[int, ...]:
    """The windows on padded images."""
    of_span = geometry._replace(in_size=geometry.span, pad=(0,) * len(geometry.ksize))
    return len(x), x.shape[1], *(numbers_of(of_span) or ())
