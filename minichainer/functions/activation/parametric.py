"""Rectifiers with learned or random slopes."""

from __future__ import annotations

from typing import Any

from minichainer import ops
from minichainer.backend import get_array_module, on_device_of_arguments
from minichainer.configuration import config
from minichainer.functions._arguments import Arguments
from minichainer.functions._define import elementwise
from minichainer.kernels import rectifier
from minichainer.utils.argument import parse_kwargs
from minichainer.variable import Variable, as_variable

_rrelu = Arguments('RReLU', 'rrelu')


def _not_negative(xp: Any, x: Any) -> Any:
    return x >= 0


ops.register_constant('not_negative', _not_negative)


def per_channel(weights: Any, x: Variable, argument: str, name: str) -> Variable:
    """Weights for the axes after the first, shaped so that they broadcast against ``x``.

    Args:
        weights: Variable or array of shape ``x.shape[1 : 1 + weights.ndim]``.
        x: the array that they apply to.
        argument: the name of the weights.
        name: the name of the node, for errors.
    """
    given, shape = as_variable(weights), x.shape
    places = given.shape
    if shape and places == shape[1:]:
        return given
    ndim = len(places)
    if ndim >= len(shape) or shape[1 : 1 + ndim] != places:
        raise Arguments(name).misfit(
            f'{argument}.shape == x.shape[1:{1 + ndim}], with x.ndim > {argument}.ndim',
            f'{argument} of shape {places} and x of shape {shape}',
        )
    if not ndim:
        return given
    shaped: Variable = ops.reshape(given, (*places, *[1] * (len(shape) - 1 - ndim)))
    return shaped


@elementwise(
    lambda m, gy, x, W: m.where(m.not_negative(x), gy, gy * W),
    lambda m, gy, x: m.masked(gy * x, ~m.not_negative(x)),
    fast=(rectifier.prelu_gradient, rectifier.slope_gradient),
    name='PReLUFunction',
    on_numpy=rectifier.prelu,
)
def leaky_with_slopes(xp: Any, x: Any, W: Any) -> Any:
    return rectifier.prelu(xp, x, W)


def prelu(x: Any, W: Any) -> Variable:
    r"""Parametric rectified linear unit, :math:`y = x` where :math:`x \ge 0`, else :math:`W x`.

    From He et al., *Delving deep into rectifiers*, 2015.

    Args:
        x: Variable or float array; its first axis is the batch.
        W: Variable or array of the same dtype: a slope for each place along the first axes after the batch axis,
            so of shape ``x.shape[1:1 + W.ndim]``; 0-d for one slope.

    Returns:
        Variable of the shape and dtype of ``x``.

    Raises:
        InvalidType: ``x`` is not a float array, or the dtypes or shapes do not fit.

    >>> import numpy as np, minichainer.functions as F
    >>> F.prelu(np.array([[-2., 2.], [-4., -8.]]), np.array([0.5, 0.25]))
    variable([[-1.,  2.],
              [-2., -2.]])
    """
    x = as_variable(x)
    return leaky_with_slopes(x, per_channel(W, x, 'W', 'PReLUFunction'))


@elementwise(lambda m, gy, factor: gy * factor, name='RReLU')
def scale_by_slopes(xp: Any, x: Any, factor: Any) -> Any:
    return x * factor


@on_device_of_arguments
def rrelu(x: Any, l: float = 1.0 / 8, u: float = 1.0 / 3, **kwargs: Any) -> Any:  # noqa: E741  (Chainer's name)
    r"""Randomized leaky rectified linear unit, :math:`y = x` where :math:`x \ge 0`, else :math:`r x`.

    Each :math:`r` is drawn uniformly from ``[l, u)`` where ``config.train`` is true, else it is ``(l + u) / 2``. From
    Xu et al., *Empirical evaluation of rectified activations in convolutional network*, 2015.

    Args:
        x: Variable or float array of any shape.
        l: lower bound of the slopes, in ``[0, 1)``.
        u: upper bound, in ``[0, 1)`` and above ``l``.
        r: keyword only; an array of ``x``'s shape and dtype with slopes, instead of drawn ones.
        return_r: keyword only; return the pair of result and slopes.

    Returns:
        Variable of the same shape and dtype, or a pair.

    Raises:
        ValueError: a bound is out of range.
        InvalidType: ``x`` is not a float array, or the shape or dtype of ``r`` does not fit.

    >>> import numpy as np, minichainer.functions as F
    >>> F.rrelu(np.array([-1., 2.]), r=np.array([0.25, 0.25]))
    variable([-0.25,  2.  ])
    """
    r, return_r = None, False
    if kwargs:
        r, return_r = parse_kwargs(
            kwargs,
            ('r', None),
            ('return_r', False),
            train='train argument is not supported anymore. Use chainer.using_config',
        )
    if not (type(l) is type(u) is float and 0.0 <= l < u < 1.0):
        _check_bounds(l, u)
    if return_r is not False:
        _rrelu.flag(return_r, 'return_r')
    x = as_variable(x)
    if x.dtype.kind != 'f':
        _rrelu.floats(x)
    data = x._data
    xp = get_array_module(data)
    if r is None and not return_r and config.train:
        return scale_by_slopes(x, rectifier.random_factors(xp, data, l, u))
    r = _slopes(xp, x, l, u, r)
    y = scale_by_slopes(x, rectifier.slope_factors(xp, data, r))
    return (y, r) if return_r else y


def _check_bounds(lower: float, upper: float) -> None:
    for name, bound in (('l', lower), ('u', upper)):
        _rrelu.number(bound, name)
        if not 0.0 <= bound < 1.0:
            raise ValueError(f'rrelu: {name} must be in the range [0, 1), got {bound}')
    if not lower < upper:
        raise ValueError(f'rrelu: l must be less than u, got l={lower}, u={upper}')


def _slopes(xp: Any, x: Variable, lower: float, upper: float, given: Any) -> Any:
    """The mean slope in testing; otherwise the given slopes, or random ones."""
    if not config.train:
        return xp.full(x.shape, (lower + upper) / 2, x.dtype)
    if given is None:
        return xp.asarray(xp.random.uniform(lower, upper, x.shape), x.dtype)
    given = _rrelu.array(given, 'r')
    if given.shape != x.shape or given.dtype != x.dtype:
        raise _rrelu.misfit(f'r of shape {x.shape} and dtype {x.dtype}', f'{given.shape} and {given.dtype}')
    return given
