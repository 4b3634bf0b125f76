"""Activations that multiply their argument by a gate."""

from __future__ import annotations

from typing import Any

from minichainer import _tangents, configuration
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import elementwise, primitive
from minichainer.functions._precision import in_float32
from minichainer.functions.activation.parametric import per_channel
from minichainer.functions.activation.sigmoidal import sigmoid
from minichainer.functions.array.joining import split_axis
from minichainer.kernels import gates as kernels
from minichainer.kernels import precision
from minichainer.variable import Variable, as_variable

_glu = Arguments('GLU', 'glu')
#: In rules, arguments of the logistic function are limited to this, where it is 0 or 1: infinity times 0 is NaN.
_FAR = 1000.0


def _swish_gradient(m: Any, gy: Any, x: Any, beta: Any) -> Any:
    gy, x, beta = in_float32(m, gy), in_float32(m, x), in_float32(m, beta)
    near = m.clip_between(x * beta, -_FAR, _FAR)
    return gy * (m.sigmoid_by_x(near) + near * m.sigmoid_slope(near))


def _swish_slopes_gradient(m: Any, gy: Any, x: Any, beta: Any) -> Any:
    gy, x, beta = in_float32(m, gy), in_float32(m, x), in_float32(m, beta)
    near = m.clip_between(x * beta, -_FAR, _FAR)
    x = m.masked(x, m.inside(near, -_FAR, _FAR))
    return gy * x * m.sigmoid_slope(near) * x


@elementwise(_swish_gradient, _swish_slopes_gradient, name='Swish')
def gate_with_slopes(xp: Any, x: Any, beta: Any) -> Any:
    x = precision.in_float32(x)
    return x * kernels.sigmoid(xp, x * precision.in_float32(beta))


def swish(x: Any, beta: Any) -> Variable:
    r"""Swish, :math:`y = x \, \sigma(\beta x)` with the logistic sigmoid :math:`\sigma`.

    From Ramachandran et al., *Searching for activation functions*, 2017.

    Args:
        x: Variable or float array; its first axis is the batch.
        beta: Variable or array of the same dtype: a factor for each place along the first axes after the batch axis,
            so of shape ``x.shape[1:1 + beta.ndim]``; 0-d for one factor.

    Returns:
        Variable of the shape and dtype of ``x``.

    Raises:
        InvalidType: ``x`` is not a float array, or the dtypes or shapes do not fit.

    >>> import numpy as np, minichainer.functions as F
    >>> F.swish(np.array([[-1., 1.]]), np.array([0., 1.])).array.round(4)
    array([[-0.5   ,  0.7311]])
    """
    x = as_variable(x)
    return gate_with_slopes(x, per_channel(beta, x, 'beta', 'Swish'))


def _silu_rule(m: Any, gy: Any, x: Any) -> Any:
    near = m.clip_between(in_float32(m, x), -_FAR, _FAR)
    return in_float32(m, gy) * (m.sigmoid_by_x(near) + near * m.sigmoid_slope(near))


@elementwise(_silu_rule, fast=(kernels.silu_gradient,), name='SiLU')
def silu(xp: Any, x: Any) -> Any:
    r"""Sigmoid linear unit, :math:`y = x \, \sigma(x)`: :func:`swish` with :math:`\beta = 1`.

    From Elfwing et al., *Sigmoid-weighted linear units for neural network function approximation in reinforcement
    learning*, 2017.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: ``x`` is not a float array.

    >>> import numpy as np, minichainer.functions as F
    >>> F.silu(np.array([-1., 0., 1.])).array.round(4)
    array([-0.2689,  0.    ,  0.7311])
    """
    return kernels.silu(xp, x)


def _mish_rule(m: Any, gy: Any, x: Any) -> Any:
    near = m.clip_between(in_float32(m, x), -_FAR, _FAR)
    softplus = m.softplus(near)
    slope = m.sigmoid_slope(softplus + softplus) * 4
    return in_float32(m, gy) * (m.tanh_by_x(softplus) + near * slope * m.sigmoid_by_x(near))


@elementwise(_mish_rule, fast=(kernels.mish_gradient,))
def mish(xp: Any, x: Any) -> Any:
    r"""Mish, :math:`y = x \tanh(\log(1 + e^x))`.

    From Misra, *Mish: a self regularized non-monotonic activation function*, 2020.

    Args:
        x: Variable or float array of any shape.

    Returns:
        Variable of the same shape and dtype.

    Raises:
        InvalidType: ``x`` is not a float array.

    >>> import numpy as np, minichainer.functions as F
    >>> F.mish(np.array([-1., 0., 1.])).array.round(4)
    array([-0.3034,  0.    ,  0.8651])
    """
    return kernels.mish(xp, x)


def _glu_rule(m: Any, gy: Any, x: Any, axis: int) -> Any:
    a, b = m.parts(x, 2, axis)
    return m.joined(gy * m.sigmoid_by_x(b), gy * a * m.sigmoid_slope(b), axis=axis)


@primitive(rule=(_glu_rule,), fast=(kernels.glu_gradient,), name='Mul', label='_ * _', kinds='f')
def gated_half(xp: Any, x: Any, axis: int) -> Any:
    return kernels.glu(xp, x, axis)


def glu(x: Any, axis: int = 1) -> Variable:
    r"""Gated linear unit, :math:`y = a \, \sigma(b)`, where :math:`a` and :math:`b` are the halves of ``x``.

    From Dauphin et al., *Language modeling with gated convolutional networks*, 2017.

    Args:
        x: Variable or float array.
        axis: the axis along which it is halved; its size must be even.

    Returns:
        Variable of the same dtype, half as long along the axis.

    Raises:
        InvalidType: ``x`` is not a float array, ``axis`` is out of range, or the size is odd.

    >>> import numpy as np, minichainer.functions as F
    >>> F.glu(np.array([[1., 2., 0., 1000.]]))
    variable([[0.5, 2. ]])
    """
    x = as_variable(x)
    _glu.floats(x)
    place = _glu.axis(axis, x.shape)
    if x.shape[place] % 2:
        raise _glu.misfit(f'x.shape[{axis}] % 2 == 0', f'x.shape[{axis}] = {x.shape[place]} (shape {x.shape})')
    if configuration.nondefault and _tangents.current() is not None:
        a, b = split_axis(x, 2, place)  # forward mode has rules for these, and would differentiate the node twice
        return a * sigmoid(b)
    return gated_half(x, place)
