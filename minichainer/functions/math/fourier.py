"""Discrete Fourier transforms of complex numbers as pairs of real arrays."""

from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module
from minichainer.function_node import FunctionNode
from minichainer.functions._checks import invalid
from minichainer.variable import Variable, as_variable


class FFT(FunctionNode):
    r"""The transform along the last axis; its adjoint is the other transform, but for a factor n.

    Args:
        inverse: whether it is the inverse transform, :math:`x_j = \frac1n \sum_k X_k e^{2 \pi i j k / n}`.
    """

    def __init__(self, inverse: bool) -> None:
        self.inverse = inverse

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        real, imag = inputs
        xp = get_array_module(real)
        self.like = real.dtype, real.shape
        transform = xp.fft.ifft if self.inverse else xp.fft.fft
        wide = 'F' if real.dtype.itemsize <= 4 else 'D'
        z = xp.empty(real.shape, wide)
        z.real, z.imag = real, imag
        y = transform(z)
        return y.real.astype(real.dtype), y.imag.astype(real.dtype)

    def backward(self, target_input_indexes: Any, grad_outputs: Any) -> Any:
        dtype, shape = self.like
        xp = get_array_module(*[g.array for g in grad_outputs if g is not None])
        real, imag = (Variable(xp.zeros(shape, dtype)) if g is None else g for g in grad_outputs)
        gradients = FFT(not self.inverse).apply((real, imag))
        factor = 1.0 / shape[-1] if self.inverse else float(shape[-1])
        return tuple([gradients[i] * factor for i in target_input_indexes])


def fft(x: Any) -> tuple[Variable, Variable]:
    r"""Discrete Fourier transform along the last axis, :math:`X_k = \sum_j x_j e^{-2 \pi i j k / n}`.

    Args:
        x: ``(real, imag)``, the real and the imaginary part: Variables or float arrays of one shape and dtype.

    Returns:
        ``(real, imag)``, Variables of the same shape and dtype.

    Raises:
        InvalidType: shapes or dtypes differ, or are 0-dimensional or no floats.
        ValueError: ``x`` is no pair, or has no elements along the axis.

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
        InvalidType: shapes or dtypes differ, or are 0-dimensional or no floats.
        ValueError: ``x`` is no pair, or has no elements along the axis.

    >>> import numpy as np, minichainer.functions as F
    >>> real, imag = F.ifft((np.array([2., 0.]), np.array([0., 0.])))
    >>> real
    variable([1., 1.])
    """
    return _transformed(x, True)


def _transformed(x: Any, inverse: bool) -> tuple[Variable, Variable]:
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        came = f'{len(x)} of them' if isinstance(x, (tuple, list)) else type(x).__name__
        raise ValueError(f'{"ifft" if inverse else "fft"}: a pair (real, imag) is expected, came {came}')
    real, imag = map(as_variable, x)
    where = 'Invalid operation is performed in: FFT (Forward)'
    if real.dtype.kind != 'f' or real.dtype != imag.dtype:
        raise invalid('real and imag of one float dtype', f'{real.dtype} and {imag.dtype}', where)
    if real.ndim == 0 or real.shape != imag.shape:
        raise invalid('real and imag of one shape, with an axis', f'{real.shape} and {imag.shape}', where)
    if not real.shape[-1]:
        name = 'ifft' if inverse else 'fft'
        raise ValueError(f'{name}: at least one element along the last axis expected, came shape {real.shape}')
    found = FFT(inverse).apply((real, imag))
    return found[0], found[1]
