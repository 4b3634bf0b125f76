"""Samples from distributions, differentiable with respect to the parameters."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer._checks import native
from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import elementwise
from minichainer.functions.activation.softmax import softmax
from minichainer.functions.array.shape import reshape
from minichainer.utils.argument import parse_kwargs
from minichainer.variable import Variable, as_variable

_gaussian = Arguments('Gaussian', 'gaussian')
_gumbel_softmax = Arguments('gumbel_softmax')


@elementwise(
    lambda m, gy: gy, lambda m, gy, ln_var, eps: gy * (m.exp(ln_var * 0.5) * (eps * 0.5)), name='Gaussian'
)  # fmt: skip
def shifted_noise(xp: Any, mean: Any, ln_var: Any, eps: Any) -> Any:
    return mean + xp.exp(ln_var * 0.5) * eps


@on_device_of_arguments
def gaussian(mean: Any, ln_var: Any, **kwargs: Any) -> Any:
    r"""Draws from normal distributions, :math:`y = \mu + \epsilon e^{v / 2}` with standard normal :math:`\epsilon`.

    It is differentiable with respect to the parameters: the reparameterization of Kingma and Welling, *Auto-encoding
    variational Bayes*, 2014.

    Args:
        mean: Variable or float array, the means :math:`\mu`.
        ln_var: Variable or array of the same shape and dtype, logarithms of the variances, :math:`v`.
        eps: keyword only; an array to use as :math:`\epsilon` instead of a drawn one.
        return_eps: keyword only; return the pair of result and :math:`\epsilon`.

    Returns:
        Variable of the same shape and dtype, or a pair.

    Raises:
        InvalidType: shapes or dtypes differ, or are not float.
        ValueError: ``eps`` cannot be broadcast to that shape.
        TypeError: ``eps`` is not an array.

    >>> import numpy as np, minichainer.functions as F
    >>> F.gaussian(np.array([1., 2.]), np.zeros(2), eps=np.array([0.5, -1.]))
    variable([1.5, 1. ])
    """
    eps, return_eps = parse_kwargs(kwargs, ('eps', None), ('return_eps', False))
    _gaussian.flag(return_eps, 'return_eps')
    mean, ln_var = as_variable(mean), as_variable(ln_var)
    if mean.shape != ln_var.shape:
        raise _gaussian.misfit('mean.shape == ln_var.shape', f'{mean.shape} != {ln_var.shape}')
    xp = get_array_module(mean._data)
    if eps is None:
        eps = _draw_normal(xp, mean.shape, mean.dtype)
    else:
        _check_noise(eps, mean)
        eps = native(eps)
    y = shifted_noise(mean, ln_var, eps.astype(mean.dtype, copy=False))
    return (y, eps) if return_eps else y


def _draw_normal(xp: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return xp.asarray(xp.random.standard_normal(shape), dtype)


def _check_noise(eps: Any, mean: Variable) -> None:
    if isinstance(eps, Variable) or not hasattr(eps, 'astype'):
        raise TypeError(f'gaussian: eps must be an array, because it gets no gradient; got {type(eps).__name__}')
    try:
        fits = numpy.broadcast_shapes(eps.shape, mean.shape) == mean.shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f'gaussian: eps of shape {mean.shape} expected, got {eps.shape}')


@on_device_of_arguments
def gumbel_softmax(log_pi: Any, tau: float = 0.1, axis: int = 1) -> Variable:
    r"""Draws almost one-hot vectors, :math:`y = \mathrm{softmax}((\log \pi + g) / \tau)` with Gumbel noise :math:`g`.

    It is differentiable with respect to ``log_pi``. From Jang et al., *Categorical reparameterization with
    Gumbel-softmax*, 2017.

    Args:
        log_pi: Variable or float array: logarithms of the categories' probabilities along ``axis``; without axes,
            that of the only one.
        tau: temperature; the smaller, the nearer to one-hot.
        axis: the axis of the categories.

    Returns:
        Variable of the same shape and dtype; it sums up to 1 along ``axis``.

    Raises:
        InvalidType: ``log_pi`` is not a float array, or has too few axes.
        ZeroDivisionError: ``tau`` is 0.

    >>> import numpy as np, minichainer.functions as F
    >>> y = F.gumbel_softmax(np.log(np.array([[0.2, 0.8]])))
    >>> y.array.sum(axis=1).round(6)
    array([1.])
    """
    _gumbel_softmax.number(tau, 'tau')
    _gumbel_softmax.integer(axis, 'axis')
    if not tau:
        raise ZeroDivisionError('gumbel_softmax: tau must not be 0')
    log_pi = as_variable(log_pi)
    if log_pi.ndim == 0:  # one category
        return reshape(gumbel_softmax(reshape(log_pi, (1, 1)), tau), ())
    if log_pi.dtype.kind != 'f' or not -log_pi.ndim <= axis < log_pi.ndim:
        raise _gumbel_softmax.misfit(f'a float array with axis {axis}', f'{log_pi.dtype} of shape {log_pi.shape}')
    noise = _draw_gumbel(get_array_module(log_pi._data), log_pi.shape, log_pi.dtype)
    return softmax((log_pi + noise) / tau, axis)


def _draw_gumbel(xp: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return xp.asarray(xp.random.gumbel(size=shape), dtype)
