"""Batch renormalization: batch normalization that leans on the running statistics."""

from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.normalization._common import check_running, wide
from minichainer.functions.normalization.batch_normalization import (
    BatchNormalization,
    checked_arguments,
    fixed_batch_normalization,
    move_statistics,
)
from minichainer.kernels import normalization as kernels
from minichainer.variable import Variable, as_array, as_variable

_LABEL = 'BatchRenormalizationFunction'


class BatchRenormalizationFunction(BatchNormalization):
    """Batch normalization with a scale and a shift that have been corrected."""


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

    where :math:`\mu, \sigma` are mean and standard deviation (with ``eps``) of the batch and :math:`\mu_r,
    \sigma_r` those of the running statistics. r and d are constants to the gradient.

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
    axes = checked_arguments(_LABEL, x, gamma, beta, eps, None)
    check_running('batch_renormalization', gamma.shape, running_mean=running_mean, running_var=running_var)
    channels = kernels.channels_of(x.array, axes)
    xp = get_array_module(x.array)
    moments = kernels.moments(xp, kernels.wide(channels.lay(x.array)), channels)
    r, d = _corrections(xp, moments, as_array(running_mean), as_array(running_var), rmax, dmax, eps)
    node = BatchRenormalizationFunction(axes, eps, channels, moments)
    r, d = (v.reshape(gamma.shape).astype(wide(gamma).dtype) for v in (r, d))
    scale, shift = as_dtype(wide(gamma) * r, gamma.dtype), as_dtype(wide(beta) + wide(gamma) * d, beta.dtype)
    (y,) = node.apply((x, scale, shift))
    if update_statistics:
        move_statistics(node, running_mean, running_var, decay)
    return y


def _corrections(
    xp: Any, moments: Any, running_mean: Any, running_var: Any, rmax: float, dmax: float, eps: float
) -> tuple[Any, Any]:
    """r and d of each channel, float64."""
    mean, var = (v.reshape(-1).astype('d') for v in (running_mean, running_var))
    running_std = xp.sqrt(var + eps)
    r = xp.clip(xp.sqrt(moments.var + eps) / running_std, 1.0 / rmax, rmax)
    return r, xp.clip((moments.true_mean - mean) / running_std, -dmax, dmax)


def fixed_batch_renormalization(x: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float = 2e-5) -> Variable:
    """Batch renormalization with given statistics, which is :func:`fixed_batch_normalization`.

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

    >>> import numpy as np, minichainer.functions as F
    >>> one = np.ones(1)
    >>> F.fixed_batch_renormalization(np.array([[1.], [5.]]), one, one, one, np.full(1, 4.), eps=0).array.tolist()
    [[1.0], [3.0]]
    """
    return fixed_batch_normalization(x, gamma, beta, mean, var, eps)
