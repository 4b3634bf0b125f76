"""Initializers that make a convolution resample images by linear interpolation."""

from __future__ import annotations

import functools
from typing import Any

import numpy

from minichainer.backend import get_array_module
from minichainer.initializer import Initializer


class _SamplingFilter(Initializer):
    _upsampling: bool

    def __init__(self, interpolation: str = 'linear', dtype: Any = None) -> None:
        if interpolation != 'linear':
            raise ValueError(f"{type(self).__name__}: expected interpolation 'linear', got {interpolation!r}")
        super().__init__(dtype)

    def __call__(self, array: Any) -> None:
        self._check_dtype(array)
        n_out, n_in, size = self._sizes(array.shape)
        axis = _linear_filter(size, self._upsampling)
        kernel = functools.reduce(numpy.multiply.outer, [axis] * (array.ndim - 2))
        kernel = get_array_module(array).asarray(kernel)
        array[...] = 0
        array[range(n_out), range(n_in)] = kernel

    def _sizes(self, shape: tuple[int, ...]) -> tuple[int, int, int]:
        name = type(self).__name__
        if len(shape) < 3:
            raise ValueError(f'{name}: expected the weight of a convolution, of at least 3 axes, got shape {shape}')
        n_out, n_in, *sizes = shape
        if len(set(sizes)) > 1:
            raise ValueError(f'{name}: expected one kernel size along all axes, got shape {shape}')
        if n_in not in (1, n_out):
            raise ValueError(f'{name}: expected as many input channels as output channels, or one, got shape {shape}')
        return n_out, n_in, sizes[0]


def _linear_filter(size: int, upsampling: bool) -> Any:
    """Weights of linear interpolation along one axis; their sum is 1 for downsampling."""
    factor = (size + 1) // 2
    centre = factor - 1 if size % 2 else factor - 0.5
    weights = 1 - abs(numpy.arange(size) - centre) / factor
    return weights if upsampling else weights / factor


class UpsamplingDeconvFilter(_SamplingFilter):
    """Initializes a deconvolution so that it enlarges images by linear interpolation.

    Each channel is enlarged separately, or the only input channel for all. J. Long et al., Fully convolutional
    networks for semantic segmentation (2015).

    Args:
        interpolation: ``'linear'``.
        dtype: dtype of the arrays it is meant for.

    >>> import numpy as np
    >>> from minichainer import initializers
    >>> initializers.generate_array(initializers.UpsamplingDeconvFilter(), (1, 1, 4), np)
    array([[[0.25, 0.75, 0.75, 0.25]]], dtype=float32)
    """

    _upsampling = True


class DownsamplingConvFilter(_SamplingFilter):
    """Initializes a convolution so that it shrinks images by linear interpolation.

    Args:
        interpolation: ``'linear'``.
        dtype: dtype of the arrays it is meant for.

    >>> import numpy as np
    >>> from minichainer import initializers
    >>> initializers.generate_array(initializers.DownsamplingConvFilter(), (1, 1, 2), np)
    array([[[0.5, 0.5]]], dtype=float32)
    """

    _upsampling = False
