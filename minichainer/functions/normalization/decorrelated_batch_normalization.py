"""Decorrelated batch normalization: channels get mean zero and, within each group, the identity as covariance."""

from __future__ import annotations

from typing import Any

import numpy

from minichainer import ops
from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.functions._define import primitive
from minichainer.functions._precision import in_float32
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import reshape, transpose
from minichainer.functions.math.matmul import matmul
from minichainer.functions.math.reductions import sum as sum_
from minichainer.functions.normalization._common import NormalizationArguments, update_running
from minichainer.utils import argument
from minichainer.variable import Variable, as_variable

_arguments = NormalizationArguments('DecorrelatedBatchNormalization', 'decorrelated_batch_normalization')
_fixed = NormalizationArguments('FixedDecorrelatedBatchNormalization', 'fixed_decorrelated_batch_normalization')


@primitive(
    rule=(lambda m, g, y: m.solve_lyapunov(y, -m.matmul(m.matmul(m.matmul(y, y), g), m.matmul(y, y))),),
    name='InverseSquareRoots',
    kinds='f',
)
def inverse_square_roots(xp: Any, a: Any) -> Any:
    r"""Inverse square roots :math:`P = A^{-1/2}` of symmetric matrices.

    From :math:`P^2 = A^{-1}` follows :math:`P\,dP + dP\,P = -P^2\,dA\,P^2`. The map from dA to dP is self-adjoint, so
    it is also the gradient.
    """
    values, vectors = _eigenvalues(xp, a)
    return (vectors * values[..., None, :] ** -0.5) @ vectors.swapaxes(-1, -2)


def _of_factor(m: Any, g: Any, p: Any, y: Any) -> Any:
    h = m.solve_lyapunov(p, g)
    transposed = m.matrix_transpose(y)
    return -(m.matmul(h, transposed) + m.matmul(transposed, h))


def _eigenvalues(xp: Any, a: Any) -> Any:
    """Eigenvalues and eigenvectors; NaN where ``a`` is not finite, as after a singular covariance with ``eps=0``."""
    try:
        return xp.linalg.eigh(a)
    except numpy.linalg.LinAlgError:
        return xp.full(a.shape[:-1], numpy.nan, a.dtype), xp.full(a.shape, numpy.nan, a.dtype)


@primitive(
    rule=(_of_factor, lambda m, g, p: m.solve_lyapunov(p, g)), kinds='f', name='SolveLyapunov', linear_in=('g',)
)
def solve_lyapunov(xp: Any, p: Any, g: Any) -> Any:
    """The matrices X with P X + X P = G, for symmetric positive P."""
    values, vectors = _eigenvalues(xp, p)
    transposed = vectors.swapaxes(-1, -2)
    x = transposed @ g @ vectors / (values[..., :, None] + values[..., None, :])
    return vectors @ x @ transposed


@on_device_of_arguments
def decorrelated_batch_normalization(x: Any, **kwargs: Any) -> Variable:
    r"""Decorrelated batch normalization (ZCA whitening) with the statistics of the batch.

    .. math:: y = P (x - \mu), \qquad P = (\Sigma + \epsilon I)^{-1/2}

    where :math:`\mu` and :math:`\Sigma` are mean and covariance of the channels of one group, over batch and space.
    The square root is computed in float64; the result may be differentiated any number of times.

    Args:
        x: Variable or float array :math:`(N, C, \dots)`.
        groups: number of groups of channels, a divisor of C; 16 by default.
        eps: added to the variances; 2e-5 by default.
        running_mean: array (groups, C / groups), updated in place to
            ``decay * running_mean + (1 - decay) * mean``; None by default.
        running_projection: array (groups, C / groups, C / groups), updated in the same way with
            :math:`P m / (m - 1)` for m elements of a channel, as Chainer does; given together with
            ``running_mean``.
        decay: how much of the running statistics stays; 0.9 by default.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        InvalidType: ``x`` is not a float array, has fewer than two axes, or ``groups`` does not divide C.
        ValueError: ``eps`` is negative, or running statistics have other shapes.
        TypeError: an argument is unknown, or only one of the running statistics is given.

    Source: Huang, Yang, Lang and Deng, Decorrelated Batch Normalization, 2018.

    >>> import numpy as np, minichainer.functions as F
    >>> x = np.array([[1., 1.], [-1., -1.], [2., -2.], [-2., 2.]])
    >>> y = F.decorrelated_batch_normalization(x, groups=1, eps=0).array
    >>> bool(np.allclose(y.T @ y / 4, np.eye(2)))
    True
    """
    groups, eps, running_mean, running_projection, decay = argument.parse_kwargs(
        kwargs, ('groups', 16), ('eps', 2e-5), ('running_mean', None), ('running_projection', None), ('decay', 0.9)
    )
    x = as_variable(x)
    _check(_arguments, x, groups)
    _arguments.eps(eps)
    _arguments.number(decay, 'decay')
    if (running_mean is None) != (running_projection is None):
        raise TypeError(
            'decorrelated_batch_normalization: running_mean and running_projection must be given together'
        )
    size = x.shape[1] // groups
    if running_mean is not None:
        _arguments.running((groups, size), running_mean=running_mean)
        _arguments.running((groups, size, size), running_projection=running_projection)
    grouped = _grouped(in_float32(ops, x), groups)
    count = grouped.shape[2]
    over = 1.0 / max(count, 1)
    near = sum_(grouped._data, 2, True) * over  # a constant, subtracted because a large mean would cost digits
    rest = sum_(grouped - near, 2, True) * over
    centre = grouped - near - rest
    covariance = as_dtype(matmul(centre, centre, transb=True) * over, 'd')
    xp = get_array_module(x._data)
    projection = inverse_square_roots(covariance + eps * xp.eye(size))
    if running_mean is not None and count:
        update_running(running_mean, decay, near._data + rest._data)
        update_running(running_projection, decay, projection._data * (count / max(count - 1, 1)))
    return _ungrouped(matmul(as_dtype(projection, centre.dtype), centre), x)


def fixed_decorrelated_batch_normalization(x: Any, mean: Any, projection: Any, groups: int = 16) -> Variable:
    r"""Decorrelated batch normalization with given statistics, :math:`y = P (x - \mu)` in each group of channels.

    Args:
        x: Variable or float array :math:`(N, C, \dots)`.
        mean: Variable or float array (groups, C / groups).
        projection: Variable or float array (groups, C / groups, C / groups) of mean's dtype.
        groups: number of groups of channels, a divisor of C.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        InvalidType: shapes or dtypes do not fit.

    >>> import numpy as np, minichainer.functions as F
    >>> x = np.array([[1., 2.], [3., 6.]])
    >>> F.fixed_decorrelated_batch_normalization(x, np.ones((1, 2)), 2 * np.eye(2)[None], groups=1)
    variable([[ 0.,  2.],
              [ 4., 10.]])
    """
    x, mean, projection = as_variable(x), as_variable(mean), as_variable(projection)
    _check(_fixed, x, groups)
    _fixed.float_arrays(mean=mean, projection=projection)
    _fixed.same_dtype(mean=mean, projection=projection)
    size = x.shape[1] // groups
    why = f'groups and C / groups of x.shape = {x.shape}'
    _fixed.shapes((groups, size), why, mean=mean)
    _fixed.shapes((groups, size, size), why, projection=projection)
    grouped = _grouped(in_float32(ops, x), groups)
    centre = grouped - reshape(as_dtype(mean, grouped.dtype), (groups, size, 1))
    return _ungrouped(matmul(as_dtype(projection, grouped.dtype), centre), x)


def _check(arguments: NormalizationArguments, x: Variable, groups: Any) -> None:
    arguments.float_arrays(x=x)
    if x.ndim < 2:
        raise arguments.misfit('x.ndim >= 2', f'x.ndim = {x.ndim} (shape {x.shape})')
    if arguments.integer(groups, 'groups') < 1 or x.shape[1] % groups:
        expected = 'groups >= 1 and x.shape[1] % groups == 0'
        raise arguments.misfit(expected, f'x of shape {x.shape}, groups = {groups}')


def _grouped(x: Variable, groups: int) -> Variable:
    """Variable (N, C, ...) as (groups, C / groups, N * ...)."""
    channels = x.shape[1]
    by_channel = transpose(x, (1, 0, *range(2, x.ndim)))
    return reshape(by_channel, (groups, channels // groups, x.size // max(channels, 1)))


def _ungrouped(y: Variable, x: Variable) -> Variable:
    """The inverse of :func:`_grouped`, in x's dtype."""
    by_channel = reshape(y, (x.shape[1], x.shape[0], *x.shape[2:]))
    return as_dtype(transpose(by_channel, (1, 0, *range(2, x.ndim))), x.dtype)
