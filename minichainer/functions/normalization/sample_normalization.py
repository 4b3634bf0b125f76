"""Normalizations of each sample for itself."""

from __future__ import annotations

from typing import Any

from minichainer.backend import get_array_module
from minichainer.functions._checks import invalid
from minichainer.functions.array.shape import reshape
from minichainer.functions.normalization._common import (
    check_eps,
    check_float,
    check_one_dtype,
    check_shapes,
    where,
)
from minichainer.functions.normalization._rows import GroupNormalization, RowNormalization
from minichainer.variable import Variable, as_variable


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
    label = 'LayerNormalization'
    x, gamma, beta = as_variable(x), as_variable(gamma), as_variable(beta)
    check_float(label, x=x)
    if x.ndim != 2:
        remedy = 'bring the other axes to the front and take them together by reshape'
        raise invalid('x.ndim == 2', f'x.ndim = {x.ndim} (shape {x.shape}); {remedy}', where(label))
    check_one_dtype(label, x=x, gamma=gamma, beta=beta)
    check_eps(label, eps)
    check_shapes(label, x.shape[1:], f'the length of rows of x.shape = {x.shape}', gamma=gamma, beta=beta)
    return RowNormalization(label, eps).apply((x, gamma, beta))[0]


def rms_norm(x: Any, gamma: Any, eps: float = 1e-5) -> Variable:
    r"""Root mean square normalization along the last axis.

    .. math:: y_{\dots j} = \gamma_j \frac{x_{\dots j}}{\sqrt{\frac{1}{D}\sum_k x_{\dots k}^2 + \epsilon}}

    Chainer has no such function; transformers use it in place of :func:`layer_normalization`, which also subtracts
    the mean and adds a shift.

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
    label = 'RMSNorm'
    x, gamma = as_variable(x), as_variable(gamma)
    check_float(label, x=x, gamma=gamma)
    check_eps(label, eps)
    if x.ndim < 1:
        raise invalid('x.ndim >= 1', 'x.ndim = 0', where(label))
    check_shapes(label, x.shape[-1:], f'the last axis of x.shape = {x.shape}', gamma=gamma)
    rows = reshape(x, (x.size // max(x.shape[-1], 1), x.shape[-1]))
    return reshape(RowNormalization(label, eps).apply((rows, gamma))[0], x.shape)


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
        TypeError: ``groups`` is no int.
        ValueError: ``groups`` is less than 1 or does not divide C, ``x`` has less than two axes, or ``eps`` is
            negative.

    Source: Wu and He, Group Normalization, 2018.

    >>> import numpy as np, minichainer.functions as F
    >>> x = np.array([[1., 3., 5., 9.]])
    >>> F.group_normalization(x, 2, np.ones(4), np.zeros(4)).array.round(3)
    array([[-1.,  1., -1.,  1.]])
    """
    label = 'GroupNormalization'
    x, gamma, beta = as_variable(x), as_variable(gamma), as_variable(beta)
    if not isinstance(groups, int):
        raise TypeError(f'group_normalization: groups must be an int, came {type(groups).__name__}')
    _check_images(label, 'group_normalization', x, gamma, beta, eps)
    if groups < 1 or x.shape[1] % groups:
        raise ValueError(
            f'group_normalization: groups must be a divisor of the number of channels\nExpect: groups >= 1 and '
            f'{x.shape[1]} % groups == 0\nActual: groups = {groups}, x of shape {x.shape}'
        )
    return GroupNormalization(label, int(groups), eps).apply((x, gamma, beta))[0]


def instance_normalization(x: Any, gamma: Any = None, beta: Any = None, eps: float = 1e-5) -> Variable:
    r"""Instance normalization: each channel of each sample by its own mean and variance.

    .. math:: y_{nc\dots} = \gamma_c \frac{x_{nc\dots} - \mu_{nc}}{\sqrt{\sigma_{nc}^2 + \epsilon}} + \beta_c

    It is :func:`group_normalization` with a group for each channel. Chainer has no such function; it does the same in
    training and in testing, and knows no running statistics.

    Args:
        x: Variable or float array :math:`(N, C, \dots)`; float16 is computed in float32.
        gamma: scales :math:`(C,)`, of any float dtype; None for ones.
        beta: shifts :math:`(C,)` of gamma's dtype; None for zeros.
        eps: added to the variance.

    Returns:
        Variable of ``x``'s shape and dtype.

    Raises:
        InvalidType: shapes or dtypes do not fit.
        ValueError: ``x`` has less than two axes, or ``eps`` is negative.

    Source: Ulyanov, Vedaldi and Lempitsky, Instance Normalization: The Missing Ingredient for Fast Stylization, 2016.

    >>> import numpy as np, minichainer.functions as F
    >>> F.instance_normalization(np.array([[[1., 3.], [4., 8.]]])).array.round(3)
    array([[[-1.,  1.],
            [-1.,  1.]]])
    """
    label = 'InstanceNormalization'
    x = as_variable(x)
    gamma, beta = _default(x, gamma, beta, 1), _default(x, beta, gamma, 0)
    _check_images(label, 'instance_normalization', x, gamma, beta, eps)
    return GroupNormalization(label, max(x.shape[1], 1), eps).apply((x, gamma, beta))[0]


def _default(x: Variable, param: Any, other: Any, value: float) -> Variable:
    """A parameter, or a constant for each channel where there is none."""
    if param is not None:
        return as_variable(param)
    dtype = x.dtype if other is None else as_variable(other).dtype
    return as_variable(get_array_module(x.array).full(x.shape[1:2], value, dtype))


def _check_images(label: str, op: str, x: Variable, gamma: Variable, beta: Variable, eps: float) -> None:
    check_float(label, x=x, gamma=gamma, beta=beta)
    if x.ndim < 2:
        raise ValueError(f'{op}: x must have two axes at least, those of batch and channels, came shape {x.shape}')
    check_one_dtype(label, gamma=gamma, beta=beta)
    check_eps(label, eps)
    check_shapes(label, x.shape[1:2], f'the number of channels of x.shape = {x.shape}', gamma=gamma, beta=beta)
