"""Batch renormalization: batch normalization corrected towards the running statistics."""

from __future__ import annotations

import warnings
from typing import Any

from minichainer import ops
from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions._precision import in_float32
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.normalization._common import NormalizationArguments
from minichainer.functions.normalization.batch_normalization import (
    checked_axes,
    fixed_batch_normalization,
    move_statistics,
    normalize_channels,
)
from minichainer.kernels import normalization as kernels
from minichainer.variable import Variable, as_array, as_variable

_arguments = NormalizationArguments('BatchRenormalizationFunction', 'batch_renormalization')


@on_device_of_arguments
def batch_renormalization(
    x: Any,
    gamma: Any,
    beta: Any,
    rmax: float,
    dmax: float,
    eps: float = 2e-5,
    running_mean: Any = None,
    running_var: Any = None,
    decay: float = 0.9,
    update_statistics: bool = False,
) -> Variable:
    r"""Batch renormalization.

    .. math:: y = \gamma \left(\frac{x - \mu}{\sigma}\, r + d\right) + \beta, \qquad
        r = \mathrm{clip}\!\left(\frac{\sigma}{\sigma_r}, \frac{1}{r_{max}}, r_{max}\right), \qquad
        d = \mathrm{clip}\!\left(\frac{\mu - \mu_r}{\sigma_r}, -d_{max}, d_{max}\right)

    where :math:`\mu, \sigma` are mean and standard deviation (with ``eps``) of the batch and :math:`\mu_r, \sigma_r`
    those of the running statistics. r and d are treated as constants in the gradient.

    Args:
        x: Variable or float array :math:`(N, C, \dots)`.
        gamma: scale of each channel, of the shape of ``x``'s axes after the first, up to gamma's number of axes.
        beta: shift of each channel, of gamma's shape and dtype.
        rmax: largest correction of the scale, at least 1.
        dmax: largest correction of the shift.
        eps: added to the variance.
        running_mean: array of gamma's shape.
        running_var: array of gamma's shape.
        decay: how much of the running statistics stays when they are updated.
        update_statistics: update the running statistics in place, as :func:`batch_normalization` does.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        TypeError: a running statistic is missing.
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``eps`` is negative, or running statistics do not have gamma's shape.

    Source: Ioffe, Batch Renormalization: Towards Reducing Minibatch Dependence in Batch-Normalized Models, 2017.

    >>> import numpy as np, minichainer.functions as F
    >>> x, one, zero = np.array([[1.], [3.]]), np.ones(1), np.zeros(1)
    >>> F.batch_renormalization(x, one, zero, 1., 0., running_mean=zero, running_var=one).array.round(3)
    array([[-1.],
           [ 1.]])
    """
    for name, value in (('running_mean', running_mean), ('running_var', running_var)):
        if value is None:
            raise TypeError(f'batch_renormalization: {name} is required')
    x, gamma, beta = as_variable(x), as_variable(gamma), as_variable(beta)
    axes = checked_axes(_arguments, x, gamma, beta, eps, None)
    for name, value in (('rmax', rmax), ('dmax', dmax), ('decay', decay)):
        _arguments.number(value, name)
    _arguments.flag(update_statistics, 'update_statistics')
    _arguments.running(gamma.shape, running_mean=running_mean, running_var=running_var)
    xp = get_array_module(x._data)
    statistics = kernels.statistics(xp, x._data, axes)
    corrections = kernels.renormalization(
        xp, statistics.moments, as_array(running_mean), as_array(running_var), rmax, dmax, eps
    )
    wide_gamma, wide_beta = in_float32(ops, gamma), in_float32(ops, beta)
    r, d = (v.reshape(gamma.shape).astype(wide_gamma.dtype) for v in corrections)
    scale, shift = as_dtype(wide_gamma * r, gamma.dtype), as_dtype(wide_beta + wide_gamma * d, beta.dtype)
    y: Variable = normalize_channels(
        x, scale, shift, axes=axes, eps=eps, statistics=statistics, label=_arguments.label
    )
    if update_statistics:
        move_statistics(statistics, running_mean, running_var, decay)
    return y


def fixed_batch_renormalization(x: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float = 2e-5) -> Variable:
    """Batch renormalization with given statistics. Deprecated: it is :func:`fixed_batch_normalization`.

    Args:
        x: Variable or float array (N, C, ...).
        gamma: scale of each channel.
        beta: shift of each channel.
        mean: mean of each channel.
        var: variance of each channel.
        eps: added to the variance.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``eps`` is negative.

    >>> import warnings, numpy as np, minichainer.functions as F
    >>> one, x = np.ones(1), np.array([[1.], [5.]])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter('ignore', DeprecationWarning)
    ...     F.fixed_batch_renormalization(x, one, one, one, np.full(1, 4.), eps=0).array.tolist()
    [[1.0], [3.0]]
    """
    warnings.warn(
        'fixed_batch_renormalization is deprecated: use fixed_batch_normalization', DeprecationWarning, stacklevel=2
    )
    return fixed_batch_normalization(x, gamma, beta, mean, var, eps)
