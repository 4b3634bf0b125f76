"""Batch normalization with the statistics of the batch or with given ones."""

from __future__ import annotations

import warnings
from typing import Any

from minichainer._frames import stacklevel
from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions._define import primitive
from minichainer.functions._precision import in_float32
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import reshape, sum_to
from minichainer.functions.normalization._common import (
    NormalizationArguments,
    affine_gradients,
    key_shape,
    update_running,
)
from minichainer.kernels import normalization as kernels
from minichainer.kernels.normalization import Statistics
from minichainer.utils import argument
from minichainer.variable import Variable, as_variable

_ONE_SAMPLE = (
    'A batch with no more than one sample has been given to batch_normalization, whose output is then beta, whatever '
    'the sample is: use larger batches, or chainer.using_config("train", False) for evaluation'
)
_REMOVED = {
    'train': "train is not supported anymore: use chainer.using_config('train', True or False)",
}
_arguments = NormalizationArguments('BatchNormalization', 'batch_normalization')
_fixed = NormalizationArguments('FixedBatchNormalization', 'fixed_batch_normalization')


def _rule(m: Any, gy: Any, x: Any, gamma: Any, axes: Any, eps: float, wanted: Any) -> tuple[Any, ...]:
    """Computes the statistics again, as functions of x."""
    x = in_float32(m, x)
    scale = as_dtype(reshape(gamma, key_shape(x.shape, axes)), x.dtype)
    gx, *others = affine_gradients(wanted, x, scale, in_float32(m, gy), axes, eps)
    return (gx, *[None if g is None else reshape(g, gamma.shape) for g in others])


def _fast(xp: Any, gy: Any, x: Any, gamma: Any, eps: float, statistics: Statistics, wanted: Any) -> Any:
    return kernels.normalize_gradients(xp, gy, x, gamma, statistics, eps, wanted[0])


@primitive(rule=_rule, fast=_fast, name='BatchNormalization', label=lambda axes, eps, statistics, label: label)
def normalize_channels(
    xp: Any, x: Any, gamma: Any, beta: Any, *, axes: tuple[int, ...], eps: float, statistics: Statistics, label: str
) -> Any:
    """Channels normalized by their own mean and variance, which are ``statistics``."""
    return kernels.normalize(xp, x, gamma, beta, statistics, eps)


def _fixed_rule(m: Any, gy: Any, x: Any, gamma: Any, mean: Any, var: Any, axes: Any, eps: float) -> tuple[Any, ...]:
    """Gradients of x, gamma, beta, mean and variance."""
    shape, x, gy = gamma.shape, in_float32(m, x), in_float32(m, gy)
    key = key_shape(x.shape, axes)
    gamma, mean, var = (reshape(as_dtype(v, x.dtype), key) for v in (gamma, mean, var))
    inv_std = (var + eps) ** -0.5
    gbeta, product = sum_to(gy, key), sum_to(gy * (x - mean), key)
    gvar = -0.5 * gamma * inv_std * inv_std * inv_std * product
    found = product * inv_std, gbeta, -gamma * inv_std * gbeta, gvar
    return (gy * (gamma * inv_std), *[reshape(g, shape) for g in found])


@primitive(
    rule=_fixed_rule,
    fast=lambda xp, gy, x, gamma, mean, var, axes, eps, wanted: kernels.normalize_by_gradients(
        xp, gy, x, gamma, mean, var, axes, eps, wanted
    ),
    name='FixedBatchNormalization',
)
def normalize_by(
    xp: Any, x: Any, gamma: Any, beta: Any, mean: Any, var: Any, *, axes: tuple[int, ...], eps: float
) -> Any:
    """Channels normalized by given means and variances."""
    return kernels.normalize_by(xp, x, gamma, beta, mean, var, axes, eps)


@on_device_of_arguments
def batch_normalization(x: Any, gamma: Any, beta: Any, **kwargs: Any) -> Variable:
    r"""Batch normalization with the statistics of the batch.

    .. math:: y = \gamma \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta

    where :math:`\mu` and :math:`\sigma^2` are mean and variance (of the elements, not an estimate) of each channel.
    float16 is computed in float32. A batch without elements leaves the running statistics as they are.

    Args:
        x: Variable or float array, such as :math:`(N, C)` or :math:`(N, C, h, w)`; any memory layout, which the
            result keeps.
        gamma: scale of each channel, of the shape that is left of ``x`` without ``axis``; it may have another float
            dtype than ``x``.
        beta: shift of each channel, of gamma's shape and dtype.
        eps: added to the variance; 2e-5 by default.
        running_mean: array of gamma's shape, updated in place to
            ``decay * running_mean + (1 - decay) * mean``; None by default.
        running_var: array of gamma's shape, updated in the same way with the unbiased variance,
            :math:`\sigma^2 m / (m - 1)` for m elements; given together with ``running_mean``.
        decay: how much of the running statistics stays; 0.9 by default.
        axis: None, an int, or a tuple of ints in ascending order: the axes of the statistics. By default the axes
            that come after the first are gamma's, and all others are those of the statistics.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        InvalidType: shapes or dtypes do not fit, or an axis is out of range.
        RuntimeError: ``axis`` is not an int or tuple of ints, or not in ascending order.
        ValueError: ``eps`` is negative, running statistics do not have gamma's shape, or ``train`` is given.
        TypeError: an argument is unknown, or only one of the running statistics is given.

    Source: Ioffe and Szegedy, Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate
    Shift, 2015.

    >>> import numpy as np, minichainer.functions as F
    >>> y = F.batch_normalization(np.array([[1., 5.], [3., 9.]]), np.ones(2), np.array([0., 10.]))
    >>> y.array.round(3)
    array([[-1.,  9.],
           [ 1., 11.]])
    """
    eps, running_mean, running_var, decay, axis = argument.parse_kwargs(
        kwargs,
        ('eps', 2e-5),
        ('running_mean', None),
        ('running_var', None),
        ('decay', 0.9),
        ('axis', None),
        **_REMOVED,
    )
    x, gamma, beta = as_variable(x), as_variable(gamma), as_variable(beta)
    axes = checked_axes(_arguments, x, gamma, beta, eps, axis)
    if (running_mean is None) != (running_var is None):
        raise TypeError('batch_normalization: running_mean and running_var must be given together')
    if running_mean is not None:
        _arguments.number(decay, 'decay')
        _arguments.running(gamma.shape, running_mean=running_mean, running_var=running_var)
    if x.size == gamma.size != 0:
        warnings.warn(_ONE_SAMPLE, UserWarning, stacklevel=stacklevel())
    statistics = kernels.statistics(get_array_module(x._data), x._data, axes)
    y: Variable = normalize_channels(
        x, gamma, beta, axes=axes, eps=eps, statistics=statistics, label=_arguments.label
    )
    if running_mean is not None:
        move_statistics(statistics, running_mean, running_var, decay)
    return y


def checked_axes(
    arguments: NormalizationArguments, x: Any, gamma: Any, beta: Any, eps: float, axis: Any
) -> tuple[int, ...]:
    """The axes of the statistics; checks all arguments."""
    arguments.float_arrays(x=x, gamma=gamma, beta=beta)
    arguments.same_dtype(gamma=gamma, beta=beta)
    arguments.eps(eps)
    axes = arguments.statistics_axes(x, gamma, axis)
    arguments.shapes(gamma.shape, 'the shape of gamma', beta=beta)
    return axes


def move_statistics(statistics: Statistics, running_mean: Any, running_var: Any, decay: float) -> None:
    """Updates running statistics with those of a batch, unless the batch is empty."""
    size, moments = statistics.channels.size, statistics.moments
    if size:
        update_running(running_mean, decay, moments.true_mean)
        update_running(running_var, decay, moments.var * (size / max(size - 1, 1)))


def fixed_batch_normalization(
    x: Any, gamma: Any, beta: Any, mean: Any, var: Any, eps: float = 2e-5, axis: Any = None
) -> Variable:
    r"""Batch normalization with given statistics, such as running ones; all arguments get gradients.

    .. math:: y = \gamma \frac{x - \mathrm{mean}}{\sqrt{\mathrm{var} + \epsilon}} + \beta

    Args:
        x: Variable or float array, as of :func:`batch_normalization`.
        gamma: scale of each channel.
        beta: shift of each channel, of gamma's shape and dtype.
        mean: mean of each channel, of gamma's shape and dtype.
        var: variance of each channel, of gamma's shape and dtype.
        eps: added to the variance.
        axis: as of :func:`batch_normalization`.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        InvalidType: shapes or dtypes do not fit, or an axis is out of range.
        RuntimeError: ``axis`` is not an int or tuple of ints, or not in ascending order.
        ValueError: ``eps`` is negative.

    >>> import numpy as np, minichainer.functions as F
    >>> one, four = np.ones(1), np.full(1, 4.)
    >>> F.fixed_batch_normalization(np.array([[1.], [5.]]), one, one, one, four, eps=0)
    variable([[1.],
              [3.]])
    """
    x, gamma, beta, mean, var = map(as_variable, (x, gamma, beta, mean, var))
    _fixed.float_arrays(mean=mean, var=var)
    axes = checked_axes(_fixed, x, gamma, beta, eps, axis)
    _fixed.same_dtype(gamma=gamma, mean=mean, var=var)
    _fixed.shapes(gamma.shape, 'the shape of gamma', mean=mean, var=var)
    y: Variable = normalize_by(x, gamma, beta, mean, var, axes=axes, eps=eps)
    return y


def _reference(x: Any, gamma: Any, beta: Any, axes: tuple[int, ...], eps: float = 2e-5) -> Variable:
    """The plain composition of :func:`batch_normalization`: documentation, and reference for the tests."""
    x = as_variable(x)
    count = max(x.size // max(as_variable(gamma).size, 1), 1)
    shape = key_shape(x.shape, axes)
    centre = x - sum_to(x, shape) / count
    var = sum_to(centre * centre, shape) / count
    y: Variable = reshape(gamma, shape) * centre / (var + eps) ** 0.5 + reshape(beta, shape)
    return y
