"""Activations of one array: limited, exponential and pooled linear units."""

from __future__ import annotations

from typing import Any

from minichainer import ops
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import elementwise, primitive
from minichainer.functions.array.shape import reshape
from minichainer.functions.math.reductions import max as max_
from minichainer.kernels import bounds, gates, rectifier
from minichainer.kernels import units as kernels
from minichainer.kernels.constants import zero
from minichainer.variable import Variable, as_variable

_clipped_relu, _elu, _selu, _softplus = (
    Arguments('ClippedReLU', 'clipped_relu'),
    Arguments('ELU', 'elu'),
    Arguments('SELU', 'selu'),
    Arguments('Softplus'),
)
_crelu, _maxout = Arguments('CReLU', 'crelu'), Arguments('Maxout', 'maxout')


ops.register_constant('inside', bounds.inside)
ops.register_constant('below_zero', bounds.below_zero)


# --- with limits ----------------------------------------------------------------------------------------------------
@elementwise(
    lambda m, gy, x, z: m.masked(gy, m.inside(x, 0, z)), fast=(rectifier.clipped_gradient,), name='ClippedReLU'
)
def relu_below(xp: Any, x: Any, z: float) -> Any:
    return rectifier.clipped_relu(xp, x, z)


def clipped_relu(x: Any, z: float = 20.0) -> Variable:
    r"""Rectified linear unit with an upper limit, :math:`y = \min(\max(0, x), z)`.

    The derivative is 1 where :math:`0 < x < z` or x is NaN, else 0.

    Args:
        x: Variable or float array of any shape.
        z: the limit, a positive float.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        TypeError: ``z`` is not a float.
        AssertionError: ``z`` is not positive.
        InvalidType: ``x`` is not a float array.

    >>> import numpy as np, minichainer.functions as F
    >>> F.clipped_relu(np.array([-1., 2., 30.]))
    variable([ 0.,  2., 20.])
    """
    if not isinstance(z, float):
        raise _clipped_relu.wrong_type('float', 'z', z)
    if not z > 0:
        raise AssertionError(f'clipped_relu: z must be positive, got {z}')
    return relu_below(x, z)


def relu6(x: Any) -> Variable:
    r"""Rectified linear unit limited to 6, :math:`y = \min(\max(0, x), 6)`; see :func:`clipped_relu`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: ``x`` is not a float array.

    >>> import numpy as np, minichainer.functions as F
    >>> F.relu6(np.array([-1., 2., 30.]))
    variable([0., 2., 6.])
    """
    return relu_below(x, 6.0)


@elementwise(
    lambda m, gy, x: m.masked(gy * 0.2, m.inside(x, -2.5, 2.5)),
    fast=(lambda xp, gy, x: gates.scaled_inside(xp, gy, x, 0.2, -2.5, 2.5),),
)
def hard_sigmoid(xp: Any, x: Any) -> Any:
    r"""Piecewise linear approximation of the sigmoid, :math:`y = \min(\max(0, 0.2 x + 0.5), 1)`.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype, between 0 and 1.

    Raises:
        InvalidType: ``x`` is not a float array.

    >>> import numpy as np, minichainer.functions as F
    >>> F.hard_sigmoid(np.array([-3., 0., 1., 3.]))
    variable([0. , 0.5, 0.7, 1. ])
    """
    return kernels.limited_line(xp, x, 0.2, 0.5, 0.0, 1.0)


# --- exponential ----------------------------------------------------------------------------------------------------
@elementwise(lambda m, gy, y: gy * y, name='ELUGrad')
def exp_below_zero(xp: Any, x: Any, alpha: float) -> Any:
    """alpha * exp(x) where x is not positive, else 0: part of elu's derivative, and its own derivative."""
    return rectifier.exp_below_zero(xp, x, alpha)


@elementwise(
    lambda m, gy, x, alpha: gy * (m.exp_below_zero(x, alpha) + m.positive(x)),
    fast=(rectifier.elu_gradient,),
    name='ELU',
)
def elu(xp: Any, x: Any, alpha: float = 1.0) -> Any:
    r"""Exponential linear unit, :math:`y = x` where :math:`x \ge 0`, else :math:`\alpha (e^x - 1)`.

    The derivative at 0 is taken as :math:`\alpha`. From Clevert et al., *Fast and accurate deep network learning by
    exponential linear units*, 2016.

    Args:
        x: Variable or float array of any shape.
        alpha: the limit for large negative ``x`` is ``-alpha``.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: ``x`` is not a float array.

    >>> import numpy as np, minichainer.functions as F
    >>> F.elu(np.array([-1000., 0., 2.]))
    variable([-1.,  0.,  2.])
    """
    _elu.number(alpha, 'alpha')
    return rectifier.elu(xp, x, alpha)


def selu(x: Any, alpha: float = 1.6732632423543772, scale: float = 1.0507009873554805) -> Variable:
    r"""Scaled exponential linear unit, :math:`y = \lambda \, \mathrm{elu}(x, \alpha)`.

    With the default constants, activations keep mean 0 and variance 1 from layer to layer. From Klambauer et al.,
    *Self-normalizing neural networks*, 2017.

    Args:
        x: Variable or float array of any shape.
        alpha: see :func:`elu`.
        scale: the factor :math:`\lambda`.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: ``x`` is not a float array.

    >>> import numpy as np, minichainer.functions as F
    >>> F.selu(np.array([-1000., 0., 1.])).array.round(4)
    array([-1.7581,  0.    ,  1.0507])
    """
    x = as_variable(x)
    _elu.floats(x)
    _selu.number(alpha, 'alpha')
    _selu.number(scale, 'scale')
    return scaled_elu(x, alpha, scale)


@elementwise(
    lambda m, gy, x, alpha, value: gy * value * (m.exp_below_zero(x, alpha) + m.positive(x)),
    fast=(lambda xp, gy, x, alpha, value: rectifier.elu_gradient(xp, gy, x, alpha) * value,),
    name='MulConstant',
    label=lambda alpha, value: f'_ * {value}',
)
def scaled_elu(xp: Any, x: Any, alpha: float, value: float) -> Any:
    """An ELU times a number, as one node; it has the name of Chainer's last one."""
    y = rectifier.elu(xp, x, alpha)
    y *= xp.asarray(value, x.dtype)
    return y


@elementwise(lambda m, gy, x, beta: gy * m.sigmoid_by_x(x * beta), fast=(kernels.softplus_gradient,))
def softplus(xp: Any, x: Any, beta: float = 1.0) -> Any:
    r"""Smooth rectifier, :math:`y = \tfrac 1 \beta \log(1 + e^{\beta x})`, without overflow.

    Args:
        x: Variable or float array of any shape.
        beta: sharpness; the limit for large ``beta`` is :func:`relu`.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: ``x`` is not a float array.
        ZeroDivisionError: ``beta`` is 0.

    >>> import numpy as np, minichainer.functions as F
    >>> F.softplus(np.array([-1000., 0., 10.])).array.round(4)
    array([ 0.    ,  0.6931, 10.    ])
    """
    _softplus.number(beta, 'beta')
    if not beta:
        raise ZeroDivisionError('softplus: beta must not be 0')
    return kernels.softplus(xp, x, beta)


# --- along an axis --------------------------------------------------------------------------------------------------
def _half(axis: int, start: int | None, stop: int | None) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, slice(start, stop))


def _crelu_gradient(m: Any, gy: Any, x: Any, axis: int) -> Any:
    size = x.shape[axis]
    plus, minus = m.get_item(gy, _half(axis, None, size)), m.get_item(gy, _half(axis, size, None))
    return m.masked(plus, m.above_zero(x)) - m.masked(minus, m.below_zero(x))


@primitive(rule=(_crelu_gradient,), name='CReLU', kinds='f')
def relu_of_both_signs(xp: Any, x: Any, axis: int) -> Any:
    return bounds.above(xp, xp.concatenate((x, -x), axis), zero(xp, x.dtype))


def crelu(x: Any, axis: int = 1) -> Variable:
    r"""Concatenated rectified linear unit: :math:`\max(0, x)` and :math:`\max(0, -x)` joined along an axis.

    From Shang et al., *Understanding and improving convolutional neural networks via concatenated rectified linear
    units*, 2016.

    Args:
        x: Variable or float array.
        axis: the axis, which becomes twice as long.

    Returns:
        Variable of the same dtype.

    Raises:
        TypeError: ``axis`` is not an int.
        InvalidType: ``x`` is not a float array, or ``axis`` is out of range.

    >>> import numpy as np, minichainer.functions as F
    >>> F.crelu(np.array([[1., -2.]]))
    variable([[1., 0., 0., 2.]])
    """
    x = as_variable(x)
    return relu_of_both_signs(x, _crelu.axis(axis, x.shape))


def maxout(x: Any, pool_size: int, axis: int = 1) -> Variable:
    r"""Maximum over groups of neighbouring elements along an axis.

    Every element that attains the maximum gets the whole gradient. From Goodfellow et al., *Maxout networks*, 2013.

    Args:
        x: Variable or float array.
        pool_size: number of elements in a group, a positive int.
        axis: the axis; its size must be a multiple of ``pool_size``, by which it is divided.

    Returns:
        Variable of the same dtype.

    Raises:
        ValueError: ``pool_size`` is not positive.
        TypeError: ``pool_size`` or ``axis`` is not an int.
        InvalidType: ``x`` is not a float array, ``axis`` is out of range, or the size is not a multiple.

    >>> import numpy as np, minichainer.functions as F
    >>> F.maxout(np.array([[1., 2., 4., 3.]]), 2)
    variable([[2., 4.]])
    """
    x = as_variable(x)
    pool_size = _maxout.integer(pool_size, 'pool_size', 1)
    axis = _maxout.axis(axis, x.shape)
    size = x.shape[axis]
    if size % pool_size:
        raise _maxout.misfit(f'x.shape[{axis}] % {pool_size} == 0', f'x.shape[{axis}] = {size} (shape {x.shape})')
    groups = reshape(x, (*x.shape[:axis], size // pool_size, pool_size, *x.shape[axis + 1 :]))
    return max_(groups, axis + 1)
