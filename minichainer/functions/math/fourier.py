"""Discrete Fourier transforms of complex numbers, which are pairs of real arrays."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer.functions._arguments import Arguments
from minichainer.functions._define import primitive
from minichainer.variable import Variable, as_variable

_fft, _ifft = Arguments('FFT', 'fft'), Arguments('FFT', 'ifft')


def _adjoint(m: Any, gy: Any, real_shape: Any, inverse: bool) -> tuple[Any, Any]:
    """The adjoint: the other transform, up to a factor n."""
    real, imag = m.transformed(*gy, inverse=not inverse)
    factor = 1.0 / real_shape[-1] if inverse else float(real_shape[-1])
    return real * factor, imag * factor


@primitive(rule=_adjoint, name='FFT', several_outputs=True, linear_in=('real imag',))
def transformed(xp: Any, real: Any, imag: Any, *, inverse: bool) -> tuple[Any, Any]:
    """The transform along the last axis, or its inverse."""
    z = xp.empty(real.shape, 'F' if real.dtype.itemsize <= 4 else 'D')
    if inverse or z.dtype.char == 'D':
        z.real, z.imag = real, imag
        y = xp.fft.ifft(z) if inverse else xp.fft.fft(z)
        return y.real.astype(real.dtype), y.imag.astype(real.dtype)
    # NumPy computes this one in float64, but not the inverse one, which is the same with both parts exchanged.
    z.real, z.imag = imag, real
    y, count = xp.fft.ifft(z), numpy.float32(real.shape[-1])
    return (y.imag * count).astype(real.dtype, copy=False), (y.real * count).astype(real.dtype, copy=False)


def fft(x: Any) -> tuple[Variable, Variable]:
    r"""Discrete Fourier transform along the last axis, :math:`X_k = \sum_j x_j e^{-2 \pi i j k / n}`.

    Args:
        x: ``(real, imag)``, the real and the imaginary part: Variables or float arrays of one shape and dtype.

    Returns:
        ``(real, imag)``, Variables of the same shape and dtype.

    Raises:
        InvalidType: shapes or dtypes differ, or are 0-dimensional or not floats.
        ValueError: ``x`` is not a pair, or has no elements along the axis.

    >>> import numpy as np, minichainer.functions as F
    >>> real, imag = F.fft((np.array([1., 1.]), np.array([0., 0.])))
    >>> real
    variable([2., 0.])
    """
    return _transformed(x, False)


def ifft(x: Any) -> tuple[Variable, Variable]:
    r"""Inverse discrete Fourier transform along the last axis, :math:`x_j = \frac1n \sum_k X_k e^{2 \pi i j k / n}`.

    Args:
        x: ``(real, imag)``, the real and the imaginary part: Variables or float arrays of one shape and dtype.

    Returns:
        ``(real, imag)``, Variables of the same shape and dtype.

    Raises:
        InvalidType: shapes or dtypes differ, or are 0-dimensional or not floats.
        ValueError: ``x`` is not a pair, or has no elements along the axis.

    >>> import numpy as np, minichainer.functions as F
    >>> real, imag = F.ifft((np.array([2., 0.]), np.array([0., 0.])))
    >>> real
    variable([1., 1.])
    """
    return _transformed(x, True)


def _transformed(x: Any, inverse: bool) -> tuple[Variable, Variable]:
    """Checks the pair of arrays, and applies the transform."""
    arguments = _ifft if inverse else _fft
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        got = f'{len(x)} of them' if isinstance(x, (tuple, list)) else type(x).__name__
        raise ValueError(f'{arguments.name}: a pair (real, imag) is expected, got {got}')
    real, imag = map(as_variable, x)
    if real.dtype.kind != 'f' or real.dtype != imag.dtype:
        raise arguments.misfit('real and imag of one float dtype', f'{real.dtype} and {imag.dtype}')
    if real.ndim == 0 or real.shape != imag.shape:
        raise arguments.misfit('real and imag of one shape, with an axis', f'{real.shape} and {imag.shape}')
    if not real.shape[-1]:
        raise ValueError(
            f'{arguments.name}: at least one element along the last axis expected, got shape {real.shape}'
        )
    real, imag = transformed(real, imag, inverse=inverse)
    return real, imag
