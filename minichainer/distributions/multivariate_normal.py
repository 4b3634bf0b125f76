"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any

from minichainer.distributions._parametric import Parametric, computed, holds, register_divergence
from minichainer.functions.arithmetic import absolute
from minichainer.functions.array.gathering import diagonal
from minichainer.functions.array.selection import masked, where
from minichainer.functions.array.shape import broadcast_to, expand_dims, squeeze
from minichainer.functions.math.exponential import log, square
from minichainer.functions.math.linear_algebra import inverse
from minichainer.functions.math.matmul import matmul
from minichainer.functions.math.reductions import sum as sum_
from minichainer.utils.argument import parse_kwargs
from minichainer.variable import Variable

_LOG_2_PI = math.log(2 * math.pi)


class MultivariateNormal(Parametric):
    r"""Normal distribution of vectors.

    .. math:: p(x) = \frac{1}{\sqrt{(2 \pi)^d |V|}} e^{-\frac12 (x - \mu)^\top V^{-1} (x - \mu)}, \quad V = L L^\top

    Samples are differentiable with respect to the parameters.

    Args:
        loc: mean :math:`\mu`, Variable or float array :math:`(\dots, d)`.
        scale_tril: keyword only; Cholesky factor :math:`L` of the covariance matrix, Variable or array
            :math:`(\dots, d, d)` of the same dtype. What is above the diagonal is ignored.

    Raises:
        ValueError: ``scale_tril`` is not given.
        InvalidType: dtypes or shapes do not fit.

    >>> import numpy as np
    >>> from minichainer.distributions import MultivariateNormal
    >>> unit = MultivariateNormal(np.zeros((1, 2)), scale_tril=np.eye(2))
    >>> unit.log_prob(np.array([0., 1.])).array.round(4)
    array([-2.3379])
    """

    def __init__(self, loc: Any, **kwargs: Any) -> None:
        (scale_tril,) = parse_kwargs(kwargs, ('scale_tril', None))
        if scale_tril is None:
            raise ValueError('MultivariateNormal: scale_tril must be given')
        super().__init__(loc=loc)
        factor = self._variable('scale_tril', scale_tril)
        self._check_factor(factor)
        self._parameters['scale_tril'] = factor

    _event_ndim = 1

    def _check_factor(self, factor: Variable) -> None:
        d = self._shape[-1]
        if factor.dtype != self._dtype or factor.ndim < 2 or factor.shape[-2:] != (d, d):
            expected = f'scale_tril of shape (..., {d}, {d}) and dtype {self._dtype}'
            raise self._arguments.misfit(expected, f'{factor.shape} of {factor.dtype}')
        self._shape = self._broadcast([self._shape, factor.shape[:-1]])

    def __copy__(self) -> MultivariateNormal:
        return MultivariateNormal(self.loc, scale_tril=self.scale_tril)

    @property
    def loc(self) -> Variable:
        """Mean."""
        return self._parameters['loc']

    @property
    def scale_tril(self) -> Variable:
        """Cholesky factor of the covariance matrix."""
        return self._parameters['scale_tril']

    @property
    def d(self) -> int:
        """Number of elements of a vector."""
        return self._shape[-1]

    @property
    def support(self) -> str:
        return 'real'

    @property
    @computed
    def _factor(self) -> Variable:
        return masked(self.scale_tril, self.xp.tri(self.d, dtype=bool))

    @property
    @computed
    def _inverse(self) -> Variable:
        return inverse(self._factor)

    @property
    @computed
    def _half_log_determinant(self) -> Variable:
        return sum_(log(absolute(diagonal(self._factor, 0, -2, -1))), -1)

    def log_prob(self, x: Any) -> Variable:
        x = self._variables(x)
        if holds(abs(x._data) < math.inf):
            return self._log_density(x)
        far = (abs(x._data) == math.inf).any(axis=-1) & (x._data == x._data).all(axis=-1)
        y = self._log_density(where(far[..., None], 0.0, x))
        return where(self.xp.broadcast_to(far, y.shape), -math.inf, y)

    def _log_density(self, x: Variable) -> Variable:
        z = _times(self._inverse, x - self.loc)
        return sum_(square(z), -1) * -0.5 - (self._half_log_determinant + 0.5 * self.d * _LOG_2_PI)

    def sample_n(self, n: int) -> Variable:
        noise = self._constants(self.xp.random.standard_normal((*self._size(n), 1)))[..., 0]
        return self.loc + _times(self._factor, noise)

    @property
    @computed
    def mean(self) -> Variable:
        """Mean."""
        return self._full(self.loc)

    @property
    def mode(self) -> Variable:
        return self.mean

    @property
    @computed
    def variance(self) -> Variable:
        """Variance of each element."""
        return self._full(sum_(square(self._factor), -1))

    @property
    @computed
    def covariance(self) -> Variable:
        """Covariance matrices."""
        product = matmul(self._factor, self._factor, transb=True)
        shape = (*self._shape, self.d)
        return product if product.shape == shape else broadcast_to(product, shape)

    @property
    @computed
    def entropy(self) -> Variable:
        """Entropy."""
        entropy = self._half_log_determinant + 0.5 * self.d * (1 + _LOG_2_PI)
        return entropy if entropy.shape == self.batch_shape else broadcast_to(entropy, self.batch_shape)


def _times(matrix: Variable, vectors: Any) -> Variable:
    """Products of matrices and vectors; leading axes are broadcast."""
    return squeeze(matmul(matrix, expand_dims(vectors, -1)), -1)


@register_divergence(MultivariateNormal)
def _between_multivariate_normals(p: MultivariateNormal, q: MultivariateNormal) -> Variable:
    ratio = matmul(q._inverse, p._factor)
    distance = _times(q._inverse, p.loc - q.loc)
    squares = sum_(square(ratio), (-2, -1)) + sum_(square(distance), -1)
    return (squares - p.d) * 0.5 + q._half_log_determinant - p._half_log_determinant
