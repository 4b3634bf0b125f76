"""Negative logarithms of likelihoods, and a divergence."""

from __future__ import annotations

import math
from typing import Any

from minichainer import ops
from minichainer.functions import _precision
from minichainer.functions._arguments import Arguments, described
from minichainer.functions._define import elementwise
from minichainer.functions.array.conversion import cast
from minichainer.functions.loss._common import like, logistic_slope, reduced
from minichainer.functions.math.exponential import exp
from minichainer.functions.math.small_differences import expm1_excess
from minichainer.kernels.losses import logistic_losses
from minichainer.kernels.precision import in_float32
from minichainer.variable import Variable, as_variable

_bernoulli_nll = Arguments('bernoulli_nll')
_gaussian_kl_divergence = Arguments('gaussian_kl_divergence')
_gaussian_nll = Arguments('gaussian_nll')

_REDUCES = ('sum', 'mean', 'no')


@elementwise(lambda m, gy, y_: -gy * y_, lambda m, gy, x, y_: gy * logistic_slope(m, y_, x), name='BernoulliNLL')
def bernoulli_loss(xp: Any, x: Any, y_: Any) -> Any:
    return logistic_losses(xp, in_float32(y_), in_float32(x))


def bernoulli_nll(x: Any, y: Any, reduce: str = 'sum') -> Variable:
    r"""Negative log-likelihood of a Bernoulli distribution with :math:`p = \sigma(y)`.

    .. math:: -\log B(x; p) = -x \log p - (1 - x) \log(1 - p)

    Args:
        x: outcomes, Variable or float array.
        y: logits, Variable or float array; the shapes are broadcast together.
        reduce: ``'sum'``, ``'mean'`` or ``'no'``.

    Returns:
        Variable: of shape ``()``, or one loss per element.

    Raises:
        InvalidType: dtypes differ, or the shapes cannot be broadcast together.
        ValueError: ``reduce`` is unknown.

    >>> import numpy as np, minichainer.functions as F
    >>> round(float(F.bernoulli_nll(np.array([1., 0.]), np.array([0., 0.]), 'mean').array), 4)
    0.6931
    """
    _bernoulli_nll.choice(reduce, 'reduce', _REDUCES)
    y = as_variable(y)
    return reduced(bernoulli_loss(like(x, y), y), reduce)


def gaussian_kl_divergence(mean: Any, ln_var: Any, reduce: str = 'sum') -> Variable:
    r"""Divergence of a normal distribution from the standard one, elementwise.

    .. math:: D_{KL}(N(\mu, \sigma^2) \| N(0, 1)) = \frac12 (\mu^2 + \sigma^2 - \log \sigma^2 - 1)

    Args:
        mean: :math:`\mu`, Variable or float array.
        ln_var: :math:`\log \sigma^2`, Variable or float array; the shapes are broadcast together.
        reduce: ``'sum'``, ``'mean'`` or ``'no'``.

    Returns:
        Variable: of shape ``()``, or one divergence per element.

    Raises:
        InvalidType: dtypes differ, or the shapes cannot be broadcast together.
        ValueError: ``reduce`` is unknown.

    >>> import numpy as np, minichainer.functions as F
    >>> F.gaussian_kl_divergence(np.array([0., 2.]), np.array([0., 0.]))
    variable(2.)
    """
    _gaussian_kl_divergence.choice(reduce, 'reduce', _REDUCES)
    ln_var = as_variable(ln_var)
    mean = like(mean, ln_var)
    dtype = ln_var.dtype
    if mean.dtype == dtype:
        mean, ln_var = [_precision.in_float32(ops, x) for x in (mean, ln_var)]
    loss = reduced((mean * mean + expm1_excess(ln_var)) * 0.5, reduce)
    return cast(loss, dtype) if loss.dtype != dtype else loss


def gaussian_nll(x: Any, mean: Any, ln_var: Any, reduce: str = 'sum') -> Variable:
    r"""Negative log-likelihood of a normal distribution, elementwise.

    .. math:: -\log N(x; \mu, \sigma^2) = \frac12 \left(\log 2 \pi + \log \sigma^2 + (x - \mu)^2 / \sigma^2\right)

    Args:
        x: outcomes, Variable or float array.
        mean: :math:`\mu`, Variable or float array.
        ln_var: :math:`\log \sigma^2`, Variable or float array; the shapes are broadcast together.
        reduce: ``'sum'``, ``'mean'`` or ``'no'``.

    Returns:
        Variable: of shape ``()``, or one loss per element.

    Raises:
        InvalidType: dtypes differ, or the shapes cannot be broadcast together.
        ValueError: ``reduce`` is unknown.

    >>> import numpy as np, minichainer.functions as F
    >>> round(float(F.gaussian_nll(np.zeros(2), np.zeros(2), np.zeros(2), 'mean').array), 4)
    0.9189
    """
    _gaussian_nll.choice(reduce, 'reduce', _REDUCES)
    ln_var = as_variable(ln_var)
    if ln_var.dtype.kind != 'f':
        raise _gaussian_nll.misfit('float ln_var', described(ln_var))
    dtype, difference = ln_var.dtype, like(x, ln_var) - like(mean, ln_var)
    if difference.dtype == dtype:
        difference, ln_var = [_precision.in_float32(ops, v) for v in (difference, ln_var)]
    z = difference * exp(ln_var * -0.5)  # the square of the difference alone may be out of range
    loss = reduced((ln_var + math.log(2 * math.pi)) / 2 + z * z * 0.5, reduce)
    return cast(loss, dtype) if loss.dtype != dtype else loss
