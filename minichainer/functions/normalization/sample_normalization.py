"""Normalizations of each sample by itself."""

from __future__ import annotations

import math
from typing import Any

from minichainer.backend import get_array_module
from minichainer.functions._define import primitive
from minichainer.functions._precision import in_float32
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import reshape, sum_to
from minichainer.functions.normalization._common import NormalizationArguments, affine_gradients
from minichainer.kernels import sample_normalization as kernels
from minichainer.utils.type_check import InvalidType
from minichainer.variable import Variable, as_variable

_layer = NormalizationArguments('LayerNormalization', 'layer_normalization')
_rms = NormalizationArguments('RMSNorm', 'rms_norm')
_group = NormalizationArguments('GroupNormalization', 'group_normalization')
_instance = NormalizationArguments('InstanceNormalization', 'instance_normalization')


class RowLengthError(InvalidType, ValueError):
    """Scales and shifts of another length than the rows: ValueError in Chainer, InvalidType for other misfits."""


def _of_rows(m: Any, gy: Any, x: Any, gamma: Any, eps: float, wanted: Any, centered: bool) -> list[Any]:
    """Gradients of x, gamma and beta for the rows of a matrix."""
    x = in_float32(m, x)
    columns = as_dtype(reshape(gamma, (1, gamma.size)), x.dtype)
    gx, *others = affine_gradients(wanted, x, columns, in_float32(m, gy), (1,), eps, centered)
    return [gx, *[None if g is None else reshape(g, gamma.shape) for g in others]]


@primitive(
    rule=lambda m, gy, x, gamma, eps, wanted: _of_rows(m, gy, x, gamma, eps, wanted, True),
    fast=lambda xp, gy, x, gamma, residual: kernels.rows_gradient(xp, gy, x, gamma, residual),
    name=_layer.label,
)
def normalize_rows(xp: Any, x: Any, gamma: Any, beta: Any, *, eps: float) -> Any:
    """Normalizes the rows of a matrix; scales and shifts the columns."""
    return kernels.normalize_rows(xp, x, gamma, beta, eps)


@primitive(
    rule=lambda m, gy, x, gamma, eps, wanted: _of_rows(m, gy, x, gamma, eps, wanted, False)[:2],
    fast=lambda xp, gy, x, gamma, residual: kernels.rows_gradient(xp, gy, x, gamma, residual)[:2],
    name=_rms.label,
)
def scale_rows(xp: Any, x: Any, gamma: Any, *, eps: float) -> Any:
    """Divides the rows of a matrix by the root of their mean square; scales the columns."""
    return kernels.normalize_rows(xp, x, gamma, None, eps)


def _of_groups(m: Any, gy: Any, x: Any, gamma: Any, groups: int, eps: float, wanted: Any) -> tuple[Any, ...]:
    """Gradients of x, gamma and beta for groups of channels."""
    n, c = x.shape[:2]
    shape = (n, groups, c // groups, math.prod(x.shape[2:]))
    grouped = reshape(in_float32(m, x), shape)
    scale = reshape(as_dtype(gamma, grouped.dtype), (1, groups, c // groups, 1))
    found = affine_gradients(wanted, grouped, scale, reshape(in_float32(m, gy), shape), (2, 3), eps)
    return tuple([None if g is None else reshape(g, v.shape) for g, v in zip(found, (x, gamma, gamma), strict=True)])


@primitive(
    rule=_of_groups,
    fast=lambda xp, gy, x, gamma, groups, residual: kernels.images_gradient(xp, gy, x, gamma, groups, residual),
    name=_group.label,
    label=lambda groups, eps, label: label,
)
def normalize_groups(xp: Any, x: Any, gamma: Any, beta: Any, *, groups: int, eps: float, label: str) -> Any:
    """Normalizes groups of channels of each sample; scales and shifts the channels."""
    return kernels.normalize_images(xp, x, gamma, beta, groups, eps)


def _reference(x: Any, gamma: Any, beta: Any, groups: int, eps: float, centered: bool = True) -> Variable:
    """The plain composition of both: documentation, and reference for the tests."""
    x = as_variable(x)
    n, c = x.shape[:2]
    s = math.prod(x.shape[2:])
    rows = reshape(x, (n * groups, c // groups * s))
    size = max(rows.shape[1], 1)
    if centered:
        rows = rows - sum_to(rows, (len(rows), 1)) / size
    rows = rows / (sum_to(rows * rows, (len(rows), 1)) / size + eps) ** 0.5
    y = reshape(rows, (n, c, s)) * reshape(gamma, (1, c, 1)) + reshape(beta, (1, c, 1))
    return reshape(y, x.shape)


def layer_normalization(x: Any, gamma: Any, beta: Any, eps: float = 1e-5) -> Variable:
    r"""Layer normalization: each row of a matrix by its own mean and variance.

    .. math:: y_{ij} = \gamma_j \frac{x_{ij} - \mu_i}{\sqrt{\sigma_i^2 + \epsilon}} + \beta_j

    Args:
        x: Variable or float array :math:`(N, D)`; float16 is computed in float32.
        gamma: scales :math:`(D,)` of ``x``'s dtype.
        beta: shifts :math:`(D,)` of ``x``'s dtype.
        eps: added to the variance.

    Returns:
        Variable :math:`(N, D)`.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``eps`` is negative.

    Source: Ba, Kiros and Hinton, Layer Normalization, 2016.

    >>> import numpy as np, minichainer.functions as F
    >>> F.layer_normalization(np.array([[1., 3.]]), np.ones(2), np.array([0., 1.])).array.round(3)
    array([[-1.,  2.]])
    """
    x, gamma, beta = as_variable(x), as_variable(gamma), as_variable(beta)
    _layer.floats(x)
    if x.ndim != 2:
        remedy = 'move the other axes to the front and merge them by reshape'
        raise _layer.misfit('x.ndim == 2', f'x.ndim = {x.ndim} (shape {x.shape}); {remedy}')
    _layer.same_dtype(x=x, gamma=gamma, beta=beta)
    _layer.eps(eps)
    if gamma.ndim == 1 and gamma.shape == beta.shape != x.shape[1:]:
        expected = f'gamma.shape == {x.shape[1:]}, the length of rows of x.shape = {x.shape}'
        raise _layer.misfit(expected, f'gamma.shape = {gamma.shape}', RowLengthError)
    _layer.shapes(x.shape[1:], f'the length of rows of x.shape = {x.shape}', gamma=gamma, beta=beta)
    y: Variable = normalize_rows(x, gamma, beta, eps=eps)
    return y


def rms_norm(x: Any, gamma: Any, eps: float = 1e-5) -> Variable:
    r"""Root mean square normalization along the last axis.

    .. math:: y_{\dots j} = \gamma_j \frac{x_{\dots j}}{\sqrt{\frac{1}{D}\sum_k x_{\dots k}^2 + \epsilon}}

    Not in Chainer. Transformers use it in place of :func:`layer_normalization`, which also subtracts the mean and
    adds a shift.

    Args:
        x: Variable or float array :math:`(\dots, D)`; float16 is computed in float32.
        gamma: scales :math:`(D,)`, of any float dtype.
        eps: added to the mean of squares.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``eps`` is negative.

    Source: Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.

    >>> import numpy as np, minichainer.functions as F
    >>> F.rms_norm(np.array([[1., 7.]]), np.array([1., 2.]), eps=0)
    variable([[0.2, 2.8]])
    """
    x, gamma = as_variable(x), as_variable(gamma)
    _rms.float_arrays(x=x, gamma=gamma)
    _rms.eps(eps)
    if x.ndim < 1:
        raise _rms.misfit('x.ndim >= 1', 'x.ndim = 0')
    _rms.shapes(x.shape[-1:], f'the last axis of x.shape = {x.shape}', gamma=gamma)
    rows = reshape(x, (x.size // max(x.shape[-1], 1), x.shape[-1]))
    return reshape(scale_rows(rows, gamma, eps=eps), x.shape)


def group_normalization(x: Any, groups: int, gamma: Any, beta: Any, eps: float = 1e-5) -> Variable:
    r"""Group normalization: each group of channels of each sample by its own mean and variance.

    .. math:: y_{nc\dots} = \gamma_c \frac{x_{nc\dots} - \mu_{ng}}{\sqrt{\sigma_{ng}^2 + \epsilon}} + \beta_c,
        \qquad g = \lfloor c\, \mathrm{groups} / C \rfloor

    Args:
        x: Variable or float array :math:`(N, C, \dots)`; float16 is computed in float32.
        groups: number of groups of channels, a divisor of C.
        gamma: scales :math:`(C,)`, of any float dtype.
        beta: shifts :math:`(C,)` of gamma's dtype.
        eps: added to the variance.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        TypeError: ``groups`` is not an int.
        ValueError: ``groups`` is less than 1 or does not divide C, ``x`` has fewer than two axes, or ``eps`` is
            negative.

    Source: Wu and He, Group Normalization, 2018.

    >>> import numpy as np, minichainer.functions as F
    >>> x = np.array([[1., 3., 5., 9.]])
    >>> F.group_normalization(x, 2, np.ones(4), np.zeros(4)).array.round(3)
    array([[-1.,  1., -1.,  1.]])
    """
    x, gamma, beta = as_variable(x), as_variable(gamma), as_variable(beta)
    groups = _group.integer(groups, 'groups')
    _check_images(_group, x, gamma, beta, eps)
    if groups < 1 or x.shape[1] % groups:
        raise ValueError(
            f'group_normalization: groups must be a divisor of the number of channels\nExpect: groups >= 1 and '
            f'{x.shape[1]} % groups == 0\nActual: groups = {groups}, x of shape {x.shape}'
        )
    y: Variable = normalize_groups(x, gamma, beta, groups=groups, eps=eps, label=_group.label)
    return y


def instance_normalization(x: Any, gamma: Any = None, beta: Any = None, eps: float = 1e-5) -> Variable:
    r"""Instance normalization: each channel of each sample by its own mean and variance.

    .. math:: y_{nc\dots} = \gamma_c \frac{x_{nc\dots} - \mu_{nc}}{\sqrt{\sigma_{nc}^2 + \epsilon}} + \beta_c

    It is :func:`group_normalization` with one group per channel. Not in Chainer. It has no running statistics and
    does the same in training and testing.

    Args:
        x: Variable or float array :math:`(N, C, \dots)`; float16 is computed in float32.
        gamma: scales :math:`(C,)`, of any float dtype; None for ones.
        beta: shifts :math:`(C,)` of gamma's dtype; None for zeros.
        eps: added to the variance.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``x`` has fewer than two axes, or ``eps`` is negative.

    Source: Ulyanov, Vedaldi and Lempitsky, Instance Normalization: The Missing Ingredient for Fast Stylization, 2016.

    >>> import numpy as np, minichainer.functions as F
    >>> F.instance_normalization(np.array([[[1., 3.], [4., 8.]]])).array.round(3)
    array([[[-1.,  1.],
            [-1.,  1.]]])
    """
    x = as_variable(x)
    gamma, beta = _default(x, gamma, beta, 1), _default(x, beta, gamma, 0)
    _check_images(_instance, x, gamma, beta, eps)
    y: Variable = normalize_groups(x, gamma, beta, groups=max(x.shape[1], 1), eps=eps, label=_instance.label)
    return y


def _default(x: Variable, param: Any, other: Any, value: float) -> Variable:
    """A parameter, or a constant for each channel if it is None."""
    if param is not None:
        return as_variable(param)
    dtype = x.dtype if other is None else as_variable(other).dtype
    return as_variable(get_array_module(x._data).full(x.shape[1:2], value, dtype))


def _check_images(
    arguments: NormalizationArguments, x: Variable, gamma: Variable, beta: Variable, eps: float
) -> None:
    arguments.float_arrays(x=x, gamma=gamma, beta=beta)
    if x.ndim < 2:
        expected = 'x must have at least two axes, batch and channels'
        raise ValueError(f'{arguments.name}: {expected}, got shape {x.shape}')
    arguments.same_dtype(gamma=gamma, beta=beta)
    arguments.eps(eps)
    why = f'the number of channels of x.shape = {x.shape}'
    arguments.shapes(x.shape[1:2], why, gamma=gamma, beta=beta)
